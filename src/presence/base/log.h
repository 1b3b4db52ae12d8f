#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace presence::log {

enum class Level : std::uint8_t { debug, info, warning, error, off };
enum class Format : std::uint8_t { text, json };

/// Where and how records go. Called once before anything else logs, and again on reload.
/// Records go to standard error, one line each; foreign text is escaped and cut at 200 bytes.
/// Until it is called nothing below `warning` is written. Any thread.
void configure(Level level, Format format);

[[nodiscard]] bool enabled(Level level) noexcept;

/// Writes one record. `event` is a stable word in snake_case; `detail` is for people.
void write(Level level, std::string_view event, std::string_view detail);

/// Foreign text made safe for one line and for JSON: control characters, line ends and quotes
/// escaped, what is no UTF-8 replaced, cut to at most `most` of its bytes between code points.
[[nodiscard]] std::string quoted(std::string_view text, std::size_t most = 200);

template <class... Args>
void info(std::string_view event, fmt::format_string<Args...> detail, Args&&... args) {
    if (enabled(Level::info)) {
        write(Level::info, event, fmt::format(detail, std::forward<Args>(args)...));
    }
}
template <class... Args>
void warning(std::string_view event, fmt::format_string<Args...> detail, Args&&... args) {
    if (enabled(Level::warning)) {
        write(Level::warning, event, fmt::format(detail, std::forward<Args>(args)...));
    }
}
template <class... Args>
void error(std::string_view event, fmt::format_string<Args...> detail, Args&&... args) {
    if (enabled(Level::error)) {
        write(Level::error, event, fmt::format(detail, std::forward<Args>(args)...));
    }
}
template <class... Args>
void debug(std::string_view event, fmt::format_string<Args...> detail, Args&&... args) {
    if (enabled(Level::debug)) {
        write(Level::debug, event, fmt::format(detail, std::forward<Args>(args)...));
    }
}

}  // namespace presence::log
