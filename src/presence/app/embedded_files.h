#pragma once

#include <span>
#include <string_view>

namespace presence::app {

/// One file that the build put into the binary (cmake/Embed.cmake).
struct EmbeddedFile {
    std::string_view path;  ///< "protocol.json", "openapi.yaml", "demo/index.html", ...
    std::string_view bytes;
};

[[nodiscard]] std::span<const EmbeddedFile> embedded_files();

}  // namespace presence::app
