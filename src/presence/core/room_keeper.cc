// Who is in which room by this node, and what other nodes say of theirs. What this one says is in
// room_statements.cc, what is asked for those who join in room_asking.cc, what is asked again in
// room_healing.cc, webhooks in room_keeper_webhooks.cc, back ends' questions in room_facts.cc.

#include "presence/core/room_keeper.h"

#include "presence/base/assert.h"
#include "presence/base/log.h"
#include "presence/rules/rooms.h"

#include <algorithm>
#include <utility>

namespace presence {

namespace {

Error too_many(const char* what, std::size_t most) {
    return {ErrorCode::limit_exceeded, fmt::format("{}, most is {}", what, most), 0,
            static_cast<std::int64_t>(most)};
}

}  // namespace

Millis RoomKeeper::until_next_window(const RoomId& room, MonoTime now, Millis after,
                                     Millis window) {
    constexpr std::int64_t kSpread = 1'000'003;
    const auto phase = static_cast<std::int64_t>(IdHash{}(room) % kSpread);
    const auto since = (now.since_start.count() + phase + window.count() - after.count());
    return window - Millis{since % window.count()};
}

RoomKeeper::Kept* RoomKeeper::find(const RoomId& room) {
    const auto found = rooms_.find(room);
    return found == rooms_.end() ? nullptr : found->second.get();
}

Result<RoomKeeper::Kept*> RoomKeeper::open(const RoomId& room) {
    if (Kept* const kept = find(room)) {
        return kept;
    }
    const std::size_t most = std::max<std::size_t>(1, parts_.limits.rooms / parts_.threads);
    if (rooms_.size() >= most) {
        ++parts_.counters.rooms_refused;
        return too_many("there are too many rooms", parts_.limits.rooms);
    }
    std::unique_ptr<Kept>& made = rooms_[room];
    made = std::make_unique<Kept>();
    made->room = room;
    if (!parts_.nodes.alone()) {
        made->listens_until = parts_.clock.now() + kListen;
        parts_.scheduler.after(kListen, [this, room] { begin_telling(room); });
    }
    made->sequence = std::max(floor_, static_cast<std::uint64_t>(parts_.clock.wall_now().ms()));
    begin(room);
    return made.get();
}

Detached RoomKeeper::begin(RoomId room) {
    RoomId wanted = room;
    Result<bool> subscribed = co_await parts_.subscriptions.want(std::move(wanted));
    if (!subscribed) {
        log::warning("room_not_subscribed", "{}", subscribed.error().message);
        co_return;
    }
    // What other nodes have said before is not told again unasked.
    parts_.bus.ask_room(room);
}

void RoomKeeper::close_if_idle(Kept& kept) {
    if (kept.own.empty() && kept.holders == 0 && !owes(kept)) {
        const RoomId room = kept.room;
        floor_ = std::max(floor_, kept.sequence);
        ask_no_more(kept);
        rooms_.erase(room);
        parts_.subscriptions.drop(room);
    }
}

void RoomKeeper::set_counted(Kept& kept, std::size_t counted) const {
    if (kept.counted == 0 && counted > 0) {
        kept.counted_since = parts_.clock.now();
    }
    kept.counted = counted;
}

std::size_t RoomKeeper::counted_everywhere(const Kept& kept) {
    std::size_t counted = kept.counted;
    for (const auto& [node, foreign] : kept.others) {
        counted += foreign.counted;
    }
    return counted;
}

std::size_t RoomKeeper::members_everywhere(const Kept& kept) {
    std::size_t members = kept.own.size();
    for (const auto& [node, foreign] : kept.others) {
        members += foreign.members;
    }
    return members;
}

bool RoomKeeper::owes(const Kept& kept) {
    return kept.owes_full || !kept.untold.empty() || kept.own.size() != kept.told_members ||
           kept.counted != kept.told_counted;
}

// --- Comings and goings ------------------------------------------------------------------------

Result<RoomPicture> RoomKeeper::enter(const RoomId& room, RoomMember member, RoomNeed need) {
    Result<Kept*> opened = open(room);
    if (!opened) {
        return opened.error();
    }
    Kept& kept = **opened;
    const auto found = kept.own.find(member.user);
    if (found == kept.own.end() && kept.own.size() >= parts_.limits.room_total) {
        ++parts_.counters.rooms_refused;
        return too_many("the room is full", parts_.limits.room_total);
    }
    const bool is_new = found == kept.own.end();
    if (is_new || !(found->second == member)) {
        parts_.counters.room_joins += is_new ? 1U : 0U;
        const MonoTime since = is_new ? parts_.clock.now() : found->second.since;
        set_counted(kept, kept.counted - (!is_new && found->second.counts ? 1U : 0U) +
                              (member.counts ? 1U : 0U));
        kept.untold.insert(member.user);
        if (tells() && !listens(kept)) {
            using enum RoomHerald::Standing;
            kept.herald.present(*parts_.webhooks, parts_.clock, parts_.nodes.self, room,
                                member.user,
                                !member.shown ? hidden
                                : is_new      ? came
                                              : appeared,
                                others_of(kept, member.user));
        }
        UserId user = member.user;
        kept.own.insert_or_assign(std::move(user), Own{std::move(member), since});
        changed(kept);
    }
    return picture(kept, need);
}

void RoomKeeper::leave(const RoomId& room, const UserId& user) {
    Kept* const kept = find(room);
    if (kept == nullptr) {
        return;
    }
    const auto found = kept->own.find(user);
    if (found == kept->own.end()) {
        return;
    }
    ++parts_.counters.room_leaves;
    set_counted(*kept, kept->counted - (found->second.counts ? 1U : 0U));
    kept->own.erase(found);
    kept->untold.insert(user);
    if (tells()) {
        kept->herald.gone(*parts_.webhooks, parts_.clock, room, user, others_of(*kept, user));
        if (kept->herald.is_silent(user)) {
            // The room stays open for what a node says that loses the user at the same time.
            ++kept->holders;
            parts_.scheduler.after(kCountWindow, [this, room] { let_go(room); });
        }
    }
    changed(*kept);
}

void RoomKeeper::changed(Kept& kept) {
    weigh(kept);
    if (kept.large) {
        kept.untold.clear();
    }
    arm(kept);
}

void RoomKeeper::weigh(Kept& kept) {
    const bool large =
        rules::is_large(kept.large, counted_everywhere(kept), parts_.limits.room_members) ||
        rules::is_large(kept.large, members_everywhere(kept), parts_.limits.most_looked_at());
    if (large != kept.large) {
        kept.large = large;
        kept.owes_full = true;
        kept.untold.clear();
        arm(kept);
    }
}

void RoomKeeper::hold(const RoomId& room) {
    if (Kept* const kept = find(room)) {
        ++kept->holders;
    }
}

void RoomKeeper::let_go(const RoomId& room) {
    if (Kept* const kept = find(room); kept != nullptr && kept->holders > 0) {
        --kept->holders;
        close_if_idle(*kept);
    }
}

Result<RoomPicture> RoomKeeper::look(const RoomId& room, RoomNeed need) {
    if (need == RoomNeed::counts && find(room) == nullptr) {
        return RoomPicture{};  // A question makes no room.
    }
    Result<Kept*> opened = open(room);
    if (!opened) {
        return opened.error();
    }
    return picture(**opened, need);
}

// --- Other nodes -------------------------------------------------------------------------------

void RoomKeeper::on_room(const RoomStatementRef& statement) {
    Kept* const kept = find(statement->room);
    if (kept == nullptr || statement->node == parts_.nodes.self) {
        return;
    }
    if (statement->full && statement->members == 0) {
        const std::vector<UserId> waits = silent_by(*kept, statement->node);
        kept->others.erase(statement->node);
        tell_gone_elsewhere(*kept, *statement, waits);
        note_answer(*kept);
        weigh(*kept);
        return;
    }
    Foreign& foreign = kept->others[statement->node];
    if (!statement->full && statement->sequence != foreign.sequence + 1) {
        ++parts_.counters.room_gaps;
        doubt(statement->room, statement->node);
        return;
    }
    const std::vector<UserId> waits = silent_by(*kept, statement->node);
    if (statement->full) {
        foreign = {};
        note_answer(*kept);
    }
    foreign.take(*statement);
    tell_gone_elsewhere(*kept, *statement, waits);
    weigh(*kept);
}

void RoomKeeper::on_room_asked(const RoomId& room) {
    if (Kept* const kept = find(room); kept != nullptr && (!kept->own.empty() || kept->last)) {
        kept->owes_full = true;
        arm(*kept);
    }
}

void RoomKeeper::forget_node(const NodeId& node) {
    for (const auto& [room, kept] : rooms_) {
        const auto found = kept->others.find(node);
        if (found != kept->others.end()) {
            const Foreign dead = std::move(found->second);
            kept->others.erase(found);
            note_answer(*kept);
            if (tells()) {
                tell_dead(*kept, dead);
            }
            weigh(*kept);
        }
    }
}

}  // namespace presence
