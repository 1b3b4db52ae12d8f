// What a keeper tells receivers of webhooks, where other nodes have members, too.

#include "presence/core/room_keeper.h"

#include <algorithm>
#include <optional>

namespace presence {

RoomHerald::Others RoomKeeper::others_of(const Kept& kept, const UserId& user) const {
    RoomHerald::Others others;
    for (const auto& [node, foreign] : kept.others) {
        const auto found = foreign.list.find(user);
        const bool lists = found != foreign.list.end();
        others.shows = others.shows || (lists && found->second.shown);
        if (lists && !others.lowest) {
            others.lowest = node;  // They stand by name.
        }
        others.occupied =
            others.occupied || (!foreign.listed && foreign.members > 0) ||
            std::ranges::any_of(foreign.list, [](const auto& one) { return one.second.shown; });
    }
    return others;
}

/// Of members who came to several nodes while none knew of the others, the node of the earliest
/// tells.
void RoomKeeper::begin_telling(const RoomId& room) {
    Kept* const kept = find(room);
    if (kept == nullptr || listens(*kept) || !tells()) {
        return;
    }
    const auto came_before = [&](NodeId node, const RoomMember& theirs, WallTime ours) {
        return theirs.shown &&
               (theirs.joined_at < ours || (theirs.joined_at == ours && node < parts_.nodes.self));
    };
    std::optional<WallTime> first;
    for (const auto& [user, member] : kept->own) {
        if (member.shown) {
            first = std::min(first.value_or(member.joined_at), member.joined_at);
        }
    }
    RoomHerald::Others others;
    for (const auto& [node, foreign] : kept->others) {
        others.occupied = others.occupied || (!foreign.listed && foreign.members > 0) ||
                          std::ranges::any_of(foreign.list, [&, of = node](const auto& one) {
                              return first && came_before(of, one.second, *first);
                          });
    }
    for (const auto& [user, member] : kept->own) {
        others.shows = false;
        for (const auto& [node, foreign] : kept->others) {
            const auto found = foreign.list.find(user);
            others.shows = others.shows || (found != foreign.list.end() &&
                                            came_before(node, found->second, member.joined_at));
        }
        using enum RoomHerald::Standing;
        kept->herald.present(*parts_.webhooks, parts_.clock, parts_.nodes.self, room, user,
                             member.shown ? came : hidden, others);
    }
}

/// Users of whose leaving nothing was told, as `node` had them, and has them still.
std::vector<UserId> RoomKeeper::silent_by(const Kept& kept, NodeId node) {
    std::vector<UserId> users = kept.herald.silent();
    const auto found = kept.others.find(node);
    std::erase_if(users, [&](const UserId& user) {
        return found == kept.others.end() || !found->second.list.contains(user);
    });
    return users;
}

void RoomKeeper::tell_gone_elsewhere(Kept& kept, const RoomStatement& statement,
                                     const std::vector<UserId>& waits) {
    if (!tells()) {
        return;
    }
    const auto tell = [&](const UserId& user, bool told) {
        kept.herald.gone_elsewhere(*parts_.webhooks, parts_.clock, parts_.nodes.self, kept.room,
                                   statement.node, user, told, others_of(kept, user));
    };
    for (const UserId& user : statement.left_told) {
        tell(user, true);
    }
    const std::vector<UserId> still = silent_by(kept, statement.node);
    for (const UserId& user : waits) {
        if (std::ranges::find(still, user) == still.end()) {
            tell(user, false);
        }
    }
}

/// One of those that still have members tells; where none has, whoever knows of it.
void RoomKeeper::tell_dead(Kept& kept, const Foreign& dead) {
    const bool is_another = !kept.others.empty() &&
                            (kept.own.empty() || kept.others.begin()->first < parts_.nodes.self);
    for (const auto& [user, member] : dead.list) {
        const RoomHerald::Others others = others_of(kept, user);
        if (member.shown && !is_another && !others.lowest && !kept.own.contains(user)) {
            kept.herald.died(*parts_.webhooks, parts_.clock, kept.room, user, others);
        }
    }
}

}  // namespace presence
