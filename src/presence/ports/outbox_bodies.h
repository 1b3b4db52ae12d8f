#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace presence {

// Bodies of a dead letter in one text: JSON objects parted by line ends, which none of them holds.

[[nodiscard]] inline std::string joined_bodies(const std::vector<std::string>& bodies) {
    std::string text;
    for (const std::string& body : bodies) {
        text += (text.empty() ? "" : "\n") + body;
    }
    return text;
}

[[nodiscard]] inline std::vector<std::string> split_bodies(std::string_view text) {
    std::vector<std::string> bodies;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        bodies.emplace_back(text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    return bodies;
}

}  // namespace presence
