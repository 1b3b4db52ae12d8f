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

void OriginCheck::replace(const std::vector<std::string>& allowed) {
    auto list = std::make_shared<List>();
    for (const std::string& origin : allowed) {
        if (origin == "*") {
            list->any = true;
        } else {
            list->origins.push_back(in_lower_case(origin));
        }
    }
    std::ranges::sort(list->origins);
    list_.store(std::move(list));
}

bool OriginCheck::allows(std::string_view origin) const {
    const std::shared_ptr<const List> now = list();
    return now->any || (origin.size() <= kLongest &&
                        std::ranges::binary_search(now->origins, in_lower_case(origin)));
}

}  // namespace presence::api
