#include "presence/base/log.h"

#include "presence/base/clock.h"
#include "presence/base/repeat_limit.h"
#include "presence/base/utf8.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace presence::log {

namespace {

std::atomic<Level> least{Level::warning};

spdlog::level::level_enum to_spdlog(Level level) {
    switch (level) {
        case Level::debug:
            return spdlog::level::debug;
        case Level::info:
            return spdlog::level::info;
        case Level::warning:
            return spdlog::level::warn;
        case Level::error:
            return spdlog::level::err;
        case Level::off:
            return spdlog::level::off;
    }
    return spdlog::level::off;
}

std::atomic<Format> format_in_use{Format::text};

/// Control characters, and what some terminals and viewers take for the end of a line.
bool breaks_a_line(char32_t c) {
    return c < 0x20 || (c >= 0x7F && c <= 0x9F) || c == 0x2028 || c == 0x2029;
}

/// @param quotes  Escaped, too, so that it can stand between quotes.
std::string safe(std::string_view text, std::size_t most, bool quotes) {
    std::string safe;
    safe.reserve(std::min(text.size(), most) + 3);
    std::size_t position = 0;
    while (position < text.size()) {
        const std::size_t start = position;
        const auto point = next_code_point(text, position);
        position = point ? position : start + 1;
        if (position > most) {
            safe += "...";
            break;
        }
        if (!point) {
            safe += "\\ufffd";
        } else if (quotes && (*point == '"' || *point == '\\')) {
            safe += '\\';
            safe += static_cast<char>(*point);
        } else if (breaks_a_line(*point)) {
            safe += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(*point));
        } else {
            safe += text.substr(start, position - start);
        }
    }
    return safe;
}

spdlog::logger& logger() {
    static const auto instance = [] {
        auto made = spdlog::stderr_logger_mt("presenced");
        made->set_level(spdlog::level::trace);
        made->flush_on(spdlog::level::trace);
        made->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %v", spdlog::pattern_time_type::utc);
        return made;
    }();
    return *instance;
}

/// A whole record: a few foreign texts and what is said of them.
constexpr std::size_t kMostBytes = 2'000;
constexpr std::size_t kMostIdBytes = 140;

struct Repeats {
    std::mutex mutex;
    RepeatLimit limit;

    /// With the mutex held.
    std::vector<RepeatLimit::LeftOut> take() {
        return limit.holds_any() ? limit.take(SystemClock().now())
                                 : std::vector<RepeatLimit::LeftOut>();
    }
};

Repeats& repeats() {
    static Repeats instance;
    return instance;
}

void put(Level level, const Ids& ids, std::string_view event, std::string_view detail) {
    const bool json = format_in_use.load(std::memory_order_relaxed) == Format::json;
    std::string about;
    const auto add = [&](std::string_view name, std::string_view id) {
        if (!id.empty()) {
            const std::string text = safe(id, kMostIdBytes, json);
            about +=
                json ? fmt::format(R"("{}":"{}",)", name, text) : fmt::format("{}={} ", name, text);
        }
    };
    add("request", ids.request);
    add("session", ids.session);
    const std::string text = safe(detail, kMostBytes, json);
    if (json) {
        logger().log(to_spdlog(level), R"("event":"{}",{}"detail":"{}")", event, about, text);
    } else {
        logger().log(to_spdlog(level), "{} {}{}", event, about, text);
    }
}

/// About nothing that is left out itself.
void tell(const std::vector<RepeatLimit::LeftOut>& over) {
    for (const RepeatLimit::LeftOut& one : over) {
        put(Level::warning, {}, "left_out",
            fmt::format("event={} {} more in a second", one.event, one.count));
    }
}

}  // namespace

void configure(Level level, Format format) {
    least.store(level);
    format_in_use.store(format);
    logger().set_pattern(format == Format::text
                             ? "%Y-%m-%dT%H:%M:%S.%eZ %l %v"
                             : R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})",
                         spdlog::pattern_time_type::utc);
}

bool enabled(Level level) noexcept {
    return level >= least.load(std::memory_order_relaxed);
}

void write(Level level, const Ids& ids, std::string_view event, std::string_view detail) {
    if (!enabled(level)) {
        return;
    }
    const std::size_t most = level == Level::debug ? kMostASecondOfDebug : kMostASecond;
    bool admitted = false;
    std::vector<RepeatLimit::LeftOut> over;
    {
        const std::lock_guard guard(repeats().mutex);
        over = repeats().take();
        admitted = repeats().limit.admit(event, most, SystemClock().now());
    }
    tell(over);
    if (admitted) {
        put(level, ids, event, detail);
    }
}

void tell_left_out() {
    std::vector<RepeatLimit::LeftOut> over;
    {
        const std::lock_guard guard(repeats().mutex);
        over = repeats().take();
    }
    tell(over);
}

std::string quoted(std::string_view text, std::size_t most) {
    return safe(text, most, true);
}

}  // namespace presence::log
