#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace presence {

/// What a library says in several lines, for a message of ours: control characters are spaces, and
/// the end is cut off behind the last other one.
[[nodiscard]] inline std::string on_one_line(std::string_view message) {
    std::string line(message);
    std::ranges::replace_if(
        line, [](unsigned char c) { return c < 0x20 || c == 0x7F; }, ' ');
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
}

}  // namespace presence
