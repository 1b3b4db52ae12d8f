// A keeper's rooms as back ends look at them.

#include "presence/core/room_keeper.h"

#include <algorithm>

namespace presence {

bool RoomKeeper::is_anothers(const Kept& kept, const UserId& user) const {
    return std::ranges::any_of(kept.others, [&](const auto& other) {
        return other.first < parts_.nodes.self && other.second.list.contains(user);
    });
}

void RoomKeeper::count_up(const Kept& kept, RoomFacts& facts) const {
    facts.large = kept.large;
    facts.exact = kept.own.empty() || std::ranges::none_of(kept.others, [](const auto& other) {
                      return other.second.broken;
                  });
    facts.members = kept.own.size();
    facts.counted = kept.counted;
    if (kept.large || kept.others.empty() || parts_.nodes.is_cut_off()) {
        // No other node is heard that would answer for anybody. To some a large room may be small,
        // and no count may show which of them say whom they have.
        return;
    }
    for (const auto& [user, member] : kept.own) {
        if (is_anothers(kept, user)) {
            --facts.members;
            facts.counted -= member.counts ? 1U : 0U;
        }
    }
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
    auto next = after ? kept.own.upper_bound(*after) : kept.own.begin();
    for (; next != kept.own.end() && facts.page.size() < most; ++next) {
        facts.page.push_back(next->second);
    }
    facts.more = next != kept.own.end();
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
        if (!next->second->own.empty()) {
            RoomFacts facts;
            facts.room = next->first;
            count_up(*next->second, facts);
            found.push_back(std::move(facts));
        }
    }
    return found;
}

}  // namespace presence
