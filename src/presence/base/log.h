#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace presence::log {

enum class Level : std::uint8_t { debug, info, warning, error, off };
enum class Format : std::uint8_t { text, json };

/// Where and how records go. Called once before anything else logs, and again on reload.
/// Records go to standard error, one line each, whatever is in them; foreign text is escaped and
/// cut at 200 bytes. Until it is called nothing below `warning` is written. Any thread.
void configure(Level level, Format format);

[[nodiscard]] bool enabled(Level level) noexcept;

/// What a record is about, so that all records about it can be found. Not secret, and escaped when
/// written: a request's may come from a client.
struct Ids {
    std::string_view request{};  ///< Empty: about none.
    std::string_view session{};
};

/// Of one event so many records are written in a second; how many more there were is said in one
/// line when it is over. Who asks for `debug` asks for much.
inline constexpr std::size_t kMostASecond = 20;
inline constexpr std::size_t kMostASecondOfDebug = 1'000;

/// Writes one record. `event` is a stable word in snake_case; `detail` is for people. Neither
/// tokens nor keys nor texts of custom statuses may be in it.
void write(Level level, const Ids& ids, std::string_view event, std::string_view detail);

/// Says what was left out in seconds that are over. Any thread; about once a second, and at the
/// end. Every record says it too, for the events before it.
void tell_left_out();

/// Foreign text made safe for one line and for JSON: control characters, line ends and quotes
/// escaped, what is no UTF-8 replaced, cut to at most `most` of its bytes between code points.
[[nodiscard]] std::string quoted(std::string_view text, std::size_t most = 200);

template <class... Args>
void debug(const Ids& ids, std::string_view event, fmt::format_string<Args...> detail,
           Args&&... args) {
    if (enabled(Level::debug)) {
        write(Level::debug, ids, event, fmt::format(detail, std::forward<Args>(args)...));
    }
}
template <class... Args>
void debug(std::string_view event, fmt::format_string<Args...> detail, Args&&... args) {
    debug(Ids{}, event, detail, std::forward<Args>(args)...);
}
template <class... Args>
void info(std::string_view event, fmt::format_string<Args...> detail, Args&&... args) {
    if (enabled(Level::info)) {
        write(Level::info, {}, event, fmt::format(detail, std::forward<Args>(args)...));
    }
}
template <class... Args>
void warning(std::string_view event, fmt::format_string<Args...> detail, Args&&... args) {
    if (enabled(Level::warning)) {
        write(Level::warning, {}, event, fmt::format(detail, std::forward<Args>(args)...));
    }
}
template <class... Args>
void error(std::string_view event, fmt::format_string<Args...> detail, Args&&... args) {
    if (enabled(Level::error)) {
        write(Level::error, {}, event, fmt::format(detail, std::forward<Args>(args)...));
    }
}

}  // namespace presence::log
