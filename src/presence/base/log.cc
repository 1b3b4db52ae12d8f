#include "presence/base/log.h"

#include <atomic>
#include <memory>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

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

bool enabled(Level level) noexcept { return level >= least.load(std::memory_order_relaxed); }

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
    for (const char c : text.substr(0, most)) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            safe += '\\';
            safe += c;
        } else if (byte < 0x20 || byte == 0x7F) {
            safe += fmt::format("\\u{:04x}", byte);
        } else {
            safe += c;
        }
    }
    if (text.size() > most) {
        safe += "...";
    }
    return safe;
}

}  // namespace presence::log
