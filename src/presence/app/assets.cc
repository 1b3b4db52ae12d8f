#include "presence/app/assets.h"

#include "presence/app/embedded_files.h"

#include <fmt/format.h>

#include <string>

namespace presence::app {

namespace {

struct TypeOf {
    std::string_view ending;
    std::string_view content_type;
};

constexpr TypeOf kTypes[]{
    {".html", "text/html; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".svg", "image/svg+xml"},
    {".png", "image/png"},
    {".ico", "image/x-icon"},
    {".woff2", "font/woff2"},
    {".webmanifest", "application/manifest+json"},
};

std::string_view content_type_of(std::string_view path) {
    for (const TypeOf& type : kTypes) {
        if (path.ends_with(type.ending)) {
            return type.content_type;
        }
    }
    return "application/octet-stream";
}

constexpr std::string_view kDemo = "demo/";
constexpr std::string_view kIndex = "index.html";

/// The demo stands at the root, any other page in the folder of its name.
std::string served_at(std::string_view path) {
    return "/" + std::string(path.starts_with(kDemo) ? path.substr(kDemo.size()) : path);
}

}  // namespace

api::Assets load_assets() {
    api::Assets assets;
    for (const EmbeddedFile& file : embedded_files()) {
        if (file.path == "protocol.json") {
            assets.protocol_json = std::string(file.bytes);
        } else if (file.path == "openapi.yaml") {
            assets.openapi_yaml = std::string(file.bytes);
        } else {
            api::Assets::Page page{
                std::string(content_type_of(file.path)),
                std::make_shared<const std::string>(file.bytes),
                fmt::format("\"{:016x}\"", std::hash<std::string_view>{}(file.bytes))};
            const std::string path = served_at(file.path);
            if (path.ends_with(kIndex)) {
                assets.pages.emplace(path.substr(0, path.size() - kIndex.size()), page);
            }
            assets.pages.emplace(path, std::move(page));
        }
    }
    return assets;
}

}  // namespace presence::app
