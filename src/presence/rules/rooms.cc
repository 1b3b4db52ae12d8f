#include "presence/rules/rooms.h"

#include <algorithm>

namespace presence::rules {

bool matches_room(std::string_view pattern, std::string_view room) noexcept {
    constexpr std::size_t kNone = std::string_view::npos;
    std::size_t in_pattern = 0;
    std::size_t in_room = 0;
    std::size_t star = kNone;  // The last `*`, and how much of the room it has taken so far.
    std::size_t taken = 0;
    while (in_room < room.size()) {
        if (in_pattern < pattern.size() && pattern[in_pattern] == '*') {
            star = in_pattern++;
            taken = in_room;
        } else if (in_pattern < pattern.size() && pattern[in_pattern] == room[in_room]) {
            ++in_pattern;
            ++in_room;
        } else if (star != kNone) {
            in_pattern = star + 1;
            in_room = ++taken;
        } else {
            return false;
        }
    }
    return pattern.find_first_not_of('*', in_pattern) == kNone;
}

bool may_enter(const std::optional<std::vector<std::string>>& patterns, const RoomId& room) {
    return !patterns || std::ranges::any_of(*patterns, [&](const std::string& pattern) {
        return matches_room(pattern, room.text);
    });
}

bool is_open_to_all(const Profile* profile, const PrivacyDefaults& defaults) {
    const bool own = profile != nullptr && profile->privacy.online.has_value();
    const PrivacyRule& rule = own ? *profile->privacy.online : defaults.online;
    return rule.audience == Audience::everyone;
}

}  // namespace presence::rules
