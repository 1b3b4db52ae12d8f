#include "presence/app/config_values.h"

#include <fmt/format.h>

#include <charconv>
#include <fstream>
#include <limits>

namespace presence::app {

namespace {

Error wrong(std::string message) {
    return {ErrorCode::bad_request, std::move(message), 0, 0};
}

struct Unit {
    std::string_view name;
    std::int64_t ms;
};
constexpr Unit kUnits[]{
    {"ms", 1}, {"s", 1'000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}};

}  // namespace

Result<Millis> parse_duration(std::string_view text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    if (error == std::errc{}) {
        for (const Unit& known : kUnits) {
            if (known.name == unit && number >= 0 &&
                number <= std::numeric_limits<std::int32_t>::max() * 1000LL / known.ms * 10) {
                return Millis{number * known.ms};
            }
        }
    }
    return wrong("is no duration like 30s, 1500ms, 10m or 1h");
}

std::string show_duration(Millis duration) {
    const std::int64_t ms = duration.count();
    std::string shown = fmt::format("{}ms", ms);
    for (const Unit& unit : kUnits) {
        if (ms != 0 && ms % unit.ms == 0 && unit.ms <= 3'600'000) {
            shown = fmt::format("{}{}", ms / unit.ms, unit.name);
        }
    }
    return shown;
}

Result<std::uint64_t> parse_number(std::string_view text) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size() || number > INT64_MAX) {
        return wrong("is no whole number from 0 on");
    }
    return number;
}

Result<double> parse_real(std::string_view text) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size() || !(number > 0) || number > 1e9) {
        return wrong("is no number above 0");
    }
    return number;
}

Result<bool> parse_flag(std::string_view text) {
    if (text == "true" || text == "on" || text == "1") {
        return true;
    }
    if (text == "false" || text == "off" || text == "0") {
        return false;
    }
    return wrong("is neither true nor false");
}

Result<std::string> read_secret(std::string_view text) {
    constexpr std::string_view kFile = "file:";
    if (!text.starts_with(kFile)) {
        return std::string(text);
    }
    const std::string path(text.substr(kFile.size()));
    std::ifstream file(path);
    std::string line;
    if (!file || !std::getline(file, line)) {
        return wrong(fmt::format("names the file {}, which cannot be read", path));
    }
    if (!line.empty() && line.back() == '\r') {
        line.pop_back();
    }
    return line;
}

}  // namespace presence::app
