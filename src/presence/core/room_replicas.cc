// Which rooms a thread follows, and who hears them.

#include "presence/core/room_desk.h"

#include <algorithm>
#include <utility>

namespace presence {

RoomDesk::Replica RoomDesk::find_replica(const RoomId& room) const {
    const auto found = replicas_.find(std::string_view(room.text));
    return found == replicas_.end() ? nullptr : found->second;
}

RoomDesk::Replica RoomDesk::open_replica(const RoomId& room) {
    if (Replica found = find_replica(room)) {
        return found;
    }
    auto made = std::make_shared<RoomReplica>(room, subjects_);
    replicas_.emplace(std::string_view(made->room().text), made);
    return made;
}

bool RoomDesk::hears(std::uint32_t connection, const RoomId& room) const {
    const auto heard = by_connection_.find(connection);
    return heard != by_connection_.end() &&
           std::ranges::find(heard->second, room, &RoomReplica::room) != heard->second.end();
}

void RoomDesk::close_if_unheard(const Replica& replica) {
    if (replica->closed || replica->pins > 0 || !replica->viewers().empty()) {
        return;
    }
    replica->closed = true;
    const Replica dying = replica;  // Holds the key.
    replicas_.erase(std::string_view(dying->room().text));
    for (std::size_t i = 0; i < dying->wants; ++i) {
        subscriptions_.drop(dying->room());
    }
    at_keeper(dying->room(), [room = dying->room(), holds = dying->holds](RoomKeeper& keeper) {
        for (std::size_t i = 0; i < holds; ++i) {
            keeper.let_go(room);
        }
    });
    dying->let_members_go();
    sweep_subjects();
}

Task<Result<bool>> RoomDesk::bring_up(const Replica& replica, const RoomJoin& join,
                                      std::size_t& counted) {
    const bool loaded = replica->loaded;
    if (!loaded) {
        ++replica->wants;
        RoomId wanted = join.room;
        Result<bool> subscribed = co_await subscriptions_.want(std::move(wanted));
        if (!subscribed) {
            co_return subscribed.error();
        }
    }
    std::optional<RoomMember> member;
    if (!join.observe) {
        member = member_of(join.user, join.room);
        if (!stays_.contains(join.user, join.room, join.session)) {
            co_return session_over();
        }
    }
    RoomId room = join.room;
    Result<RoomPicture> picture = co_await ask_keeper(
        std::move(room), std::move(member), loaded ? RoomNeed::changes : RoomNeed::all, !loaded);
    if (!picture) {
        co_return picture.error();
    }
    replica->holds += loaded ? 0U : 1U;
    counted = picture->counted;
    load(*replica, *picture);
    co_return true;
}

void RoomDesk::load(RoomReplica& replica, const RoomPicture& picture) {
    const Replica shared = find_replica(replica.room());
    const bool was_loaded = std::exchange(replica.loaded, true);
    for (const RoomStatementRef& part : picture.parts) {
        handle(shared, replica.apply(*part, was_loaded && !part->full));
    }
    for (const RoomStatementRef& statement : std::exchange(replica.early, {})) {
        handle(shared, replica.apply(*statement));
    }
}

void RoomDesk::on_room(const RoomStatementRef& statement) {
    keeper_.on_room(statement);
    const Replica replica = find_replica(statement->room);
    if (!replica) {
        return;
    }
    if (!replica->loaded) {
        replica->early.push_back(statement);
        return;
    }
    handle(replica, replica->apply(*statement));
}

void RoomDesk::handle(const Replica& replica, const RoomReplica::Applied& applied) {
    if (applied.gap) {
        ++parts_.counters.room_gaps;
        at_keeper(replica->room(), [room = replica->room(), node = *applied.gap](
                                       RoomKeeper& keeper) { keeper.doubt(room, node); });
    }
    if (applied.switched) {
        replica->judging = !applied.added.empty();
    }
    if (applied.switched && replica->lacks_lists()) {
        bring_lists_back(replica);
    } else if (!applied.added.empty()) {
        judge(replica, applied.added);
    }
    sweep_subjects();
    arm(replica);
}

/// Nodes return to lists one after the other, so all lists but the last came too early.
Detached RoomDesk::bring_lists_back(Replica replica) {
    replica->judging = true;
    RoomId room = replica->room();
    Result<RoomPicture> picture =
        co_await ask_keeper(std::move(room), std::nullopt, RoomNeed::all, false);
    if (replica->closed) {
        co_return;
    }
    if (picture) {
        for (const RoomStatementRef& part : picture->parts) {
            replica->apply(*part);
        }
    }
    if (replica->lacks_lists()) {
        // The keeper has not heard yet what was heard here.
        parts_.scheduler.after(RoomKeeper::kWindow, [this, replica] { bring_lists_back(replica); });
        co_return;
    }
    judge(replica, replica->users());
}

void RoomDesk::forget_node(const NodeId& node) {
    keeper_.forget_node(node);
    std::vector<Replica> all;
    for (const auto& [room, replica] : replicas_) {
        all.push_back(replica);
    }
    for (const Replica& replica : all) {
        handle(replica, replica->forget_node(node));
    }
}

void RoomDesk::stop_hearing(std::uint32_t connection, const RoomId& room) {
    const auto found = by_connection_.find(connection);
    if (found == by_connection_.end()) {
        return;
    }
    std::vector<Replica>& heard = found->second;
    const auto at = std::ranges::find_if(
        heard, [&](const Replica& replica) { return replica->room() == room; });
    if (at == heard.end()) {
        return;
    }
    const Replica replica = *at;
    heard.erase(at);
    if (heard.empty()) {
        by_connection_.erase(found);
    }
    replica->remove_viewer(connection);
    close_if_unheard(replica);
}

void RoomDesk::drop_connection(std::uint32_t connection) {
    const auto found = by_connection_.find(connection);
    if (found == by_connection_.end()) {
        return;
    }
    const std::vector<Replica> heard = std::move(found->second);
    by_connection_.erase(found);
    for (const Replica& replica : heard) {
        replica->remove_viewer(connection);
        close_if_unheard(replica);
    }
}

void RoomDesk::sweep_subjects() {
    for (const UserId& user : subjects_.take_unused()) {
        if (!parts_.watches.follows(user)) {
            parts_.bus.unsubscribe(user);
        }
    }
}

}  // namespace presence
