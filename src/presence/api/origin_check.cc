#include "presence/api/origin_check.h"

#include <algorithm>

namespace presence::api {

namespace {

/// Longer ones are no origins.
constexpr std::size_t kLongest = 512;

std::string in_lower_case(std::string_view text) {
    std::string lower(text);
    std::ranges::transform(lower, lower.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return lower;
}

}  // namespace

OriginCheck::OriginCheck(std::vector<std::string> allowed) {
    for (const std::string& origin : allowed) {
        if (origin == "*") {
            any_ = true;
        } else {
            allowed_.push_back(in_lower_case(origin));
        }
    }
    std::ranges::sort(allowed_);
}

bool OriginCheck::allows(std::string_view origin) const {
    if (any_) {
        return true;
    }
    return origin.size() <= kLongest && std::ranges::binary_search(allowed_, in_lower_case(origin));
}

}  // namespace presence::api
