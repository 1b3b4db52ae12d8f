// A keeper's rooms as back ends look at them.

#include "presence/core/room_keeper.h"

#include <algorithm>
#include <set>

namespace presence {

void RoomKeeper::count_up(const Kept& kept, RoomFacts& facts) {
    facts.large = kept.large;
    facts.exact = is_exact(kept);
    facts.members = kept.own.size();
    facts.counted = counted_everywhere(kept);
    std::set<std::string_view> others;  // Each once, however many nodes they are in by.
    for (const auto& [node, foreign] : kept.others) {
        if (!foreign.listed) {
            facts.members += foreign.members;
        }
        for (const auto& [user, member] : foreign.list) {
            if (!kept.own.contains(user)) {
                others.insert(user.text);
            }
        }
    }
    facts.members += others.size();
}

RoomFacts RoomKeeper::facts(const RoomId& room, const std::optional<UserId>& after,
                            std::size_t most) const {
    RoomFacts facts;
    facts.room = room;
    const auto found = rooms_.find(room);
    if (found == rooms_.end()) {
        return facts;
    }
    const Kept& kept = *found->second;
    count_up(kept, facts);
    const auto take = [&](const Members& members) {
        auto next = after ? members.upper_bound(*after) : members.begin();
        for (std::size_t taken = 0; next != members.end() && taken <= most; ++taken, ++next) {
            facts.page.push_back(next->second);
        }
    };
    take(kept.own);
    for (const auto& [node, foreign] : kept.others) {
        take(foreign.list);
    }
    // Of one who is in by several nodes the latest join comes first, and stays.
    std::ranges::sort(facts.page, [](const RoomMember& a, const RoomMember& b) {
        return a.user != b.user ? a.user < b.user : a.joined_at > b.joined_at;
    });
    const auto doubles = std::ranges::unique(facts.page, {}, &RoomMember::user);
    facts.page.erase(doubles.begin(), doubles.end());
    facts.more = facts.page.size() > most;
    facts.page.resize(std::min(facts.page.size(), most));
    return facts;
}

std::vector<RoomFacts> RoomKeeper::rooms(std::string_view prefix,
                                         const std::optional<RoomId>& after,
                                         std::size_t most) const {
    std::vector<RoomFacts> found;
    const RoomId first{std::string(prefix)};
    auto next = after && *after >= first ? rooms_.upper_bound(*after) : rooms_.lower_bound(first);
    for (; next != rooms_.end() && found.size() < most; ++next) {
        if (!next->first.text.starts_with(prefix)) {
            break;
        }
        RoomFacts facts;
        facts.room = next->first;
        count_up(*next->second, facts);
        if (facts.members > 0) {
            found.push_back(std::move(facts));
        }
    }
    return found;
}

}  // namespace presence
