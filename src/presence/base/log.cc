#include "presence/base/log.h"

#include "presence/base/utf8.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <memory>

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

void write(Level level, std::string_view event, std::string_view detail) {
    if (!enabled(level)) {
        return;
    }
    if (format_in_use.load(std::memory_order_relaxed) == Format::text) {
        logger().log(to_spdlog(level), "{} {}", event, detail);
    } else {
        logger().log(to_spdlog(level), R"("event":"{}","detail":"{}")", event,
                     quoted(detail, 2000));
    }
}

std::string quoted(std::string_view text, std::size_t most) {
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
        } else if (*point == '"' || *point == '\\') {
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

}  // namespace presence::log
