// Who is in which room. What a thread knows of rooms is in room_replicas.cc, its looks at the store
// in room_looks.cc, what goes out in room_delivery.cc.

#include "presence/core/room_desk.h"

#include "presence/base/log.h"
#include "presence/rules/rooms.h"

#include <algorithm>
#include <utility>

namespace presence {

namespace {

/// A stay that goes on at another node stands as so much later than what it goes on from: so both
/// keepers agree which of them had the user first, and has told of it.
constexpr Millis kGoesOn{1};
/// What a session left is remembered for longer than it takes until its last node, which may have
/// slept for as long as its lease stands, says where it was.
constexpr Millis kLateWord{20'000};

Task<Result<RoomPicture>> visit(RoomKeeper& keeper, RoomId room, std::optional<RoomMember> member,
                                RoomNeed need, bool hold) {
    Result<RoomPicture> picture =
        member ? keeper.enter(room, std::move(*member), need) : keeper.look(room, need);
    if (picture && hold) {
        keeper.hold(room);
    }
    co_return picture;
}

}  // namespace

RoomDesk::RoomDesk(const Parts& parts)
    : parts_(parts),
      peers_{this},
      threads_{&parts.scheduler},
      subscriptions_(parts.bus),
      keeper_({parts.scheduler, parts.clock, parts.bus, subscriptions_, parts.nodes, parts.limits,
               parts.counters, parts.webhooks,
               [this](const RoomId& room, const NodeId& node, std::uint64_t sequence) {
                   for (std::size_t i = 0; i < peers_.size(); ++i) {
                       threads_[i]->post([peer = peers_[i], room, node, sequence] {
                           peer->forget_word(room, node, sequence);
                       });
                   }
               }}),
      subjects_(parts.reader.unknown_as()) {
    parts_.watches.set_neighbour(this);
}

RoomDesk::~RoomDesk() {
    parts_.watches.set_neighbour(nullptr);
    for (const auto& [room, replica] : replicas_) {
        replica->let_members_go();  // Timers may hold it for longer than the subjects are.
    }
}

void RoomDesk::connect(std::vector<RoomDesk*> peers, std::vector<Scheduler*> threads) {
    peers_ = std::move(peers);
    threads_ = std::move(threads);
    keeper_.share_limits(threads_.size());
}

// --- Membership --------------------------------------------------------------------------------

void RoomDesk::at_keeper(const RoomId& room, UniqueFunction<void(RoomKeeper&)> work) {
    RoomDesk* const peer = peers_[room_of_thread(room)];
    Scheduler* const there = threads_[room_of_thread(room)];
    if (there == &parts_.scheduler) {
        work(peer->keeper_);  // At once, as run_there does: the order counts.
        return;
    }
    there->post([peer, work = std::move(work)]() mutable { work(peer->keeper_); });
}

Task<Result<RoomPicture>> RoomDesk::ask_keeper(RoomId room, std::optional<RoomMember> member,
                                               RoomNeed need, bool hold) {
    const std::size_t home = room_of_thread(room);
    RoomDesk* const peer = peers_[home];
    Task<Result<RoomPicture>> asking = run_there<Result<RoomPicture>>(
        parts_.scheduler, *threads_[home],
        [peer, room = std::move(room), member = std::move(member), need, hold]() mutable {
            return visit(peer->keeper_, std::move(room), std::move(member), need, hold);
        });
    Result<RoomPicture> picture = co_await asking;
    co_return picture;
}

bool RoomDesk::is_counted(const UserId& user) const {
    const RoomSubject* const subject = subjects_.find(user);
    return subject != nullptr && subject->at_home && subject->open_to_all &&
           subject->shown_status() != Status::offline;
}

std::optional<RoomMember> RoomDesk::member_of(const UserId& user, const RoomId& room) const {
    std::optional<RoomMember> member = stays_.member(user, room);
    if (member) {
        const RoomSubject* const subject = subjects_.find(user);
        member->counts = is_counted(user);
        member->shown =
            subject != nullptr && subject->at_home && subject->shown_status() != Status::offline;
    }
    return member;
}

void RoomDesk::report(const UserId& user, const RoomId& room) {
    if (std::optional<RoomMember> member = member_of(user, room)) {
        at_keeper(room, [room, member = std::move(*member)](RoomKeeper& keeper) {
            // One who is in it already is never refused.
            (void)keeper.enter(room, member, RoomNeed::counts);
        });
    } else {
        at_keeper(room, [room, user](RoomKeeper& keeper) { keeper.leave(room, user); });
    }
}

void RoomDesk::report_all(const UserId& user) {
    for (const RoomId& room : stays_.rooms_of(user)) {
        report(user, room);
    }
}

void RoomDesk::stay_ended(const UserId& user) {
    RoomSubject* const subject = subjects_.find(user);
    if (subject != nullptr && stays_.rooms_of(user).empty()) {
        subject->at_home = false;
        subjects_.note_unused(*subject);
        sweep_subjects();
    }
}

/// No timer for each, as all of a room may leave at once: the oldest go when others come.
void RoomDesk::note_left(const SessionId& session, const RoomId& room) {
    const MonoTime now = parts_.clock.now();
    while (!left_order_.empty() &&
           (left_order_.size() >= kMostLeft || now - left_order_.front().second >= kLateWord)) {
        const auto& [key, at] = left_order_.front();
        const auto found = left_early_.find(key);
        if (found != left_early_.end() && found->second.noted == at) {
            left_early_.erase(found);
        }
        left_order_.pop_front();
    }
    left_early_[{session, room}] = {now, parts_.clock.wall_now()};
    left_order_.push_back({{session, room}, now});
}

bool RoomDesk::has_left(const SessionId& session, const RoomStay& stay) const {
    const auto left = left_early_.find({session, stay.room});
    return left != left_early_.end() && parts_.clock.now() - left->second.noted < kLateWord &&
           stay.joined_at <= left->second.at;
}

void RoomDesk::leave_now(const UserId& user, const RoomId& room, const SessionId& session) {
    if (!parts_.nodes.alone()) {
        note_left(session, room);
    }
    if (stays_.remove(user, room, session)) {
        report(user, room);
        stay_ended(user);
    }
}

void RoomDesk::on_session_moved(const UserId& user, const SessionId& session, NodeId taker) {
    std::vector<RoomStay> stays = stays_.stays_of(user, session);
    if (stays.empty()) {
        return;
    }
    if (!parts_.nodes.vouches(parts_.clock.now())) {
        on_session_ended(user, session);  // What it was before this node slept is long void.
        return;
    }
    parts_.bus.publish_session_stays({taker, user, session, std::move(stays)});
    moved_.insert(session);
    parts_.scheduler.after(kHandover, [this, user, session] {
        if (moved_.erase(session) > 0) {
            on_session_ended(user, session);
        }
    });
}

void RoomDesk::take_over(const SessionStays& said) {
    moved_.erase(said.session);
    for (const RoomStay& stay : said.stays) {
        if (!has_left(said.session, stay) && !stays_.contains(said.user, stay.room, said.session)) {
            (void)stays_.add(said.user, stay.room,
                             {said.session, stay.meta, stay.joined_at + kGoesOn});
        }
    }
    settle_in(said.user);
}

Detached RoomDesk::settle_in(UserId user) {
    Result<bool> followed = co_await follow_self(user);
    if (!followed) {
        parts_.scheduler.after(Millis{1000}, [this, user] {
            if (!stays_.rooms_of(user).empty()) {
                settle_in(user);
            }
        });
    }
    report_all(user);
}

void RoomDesk::on_session_ended(const UserId& user, const SessionId& session) {
    const std::vector<RoomId> left = stays_.remove_session(user, session);
    for (const RoomId& room : left) {
        report(user, room);
    }
    if (!left.empty()) {
        stay_ended(user);
    }
}

Task<Result<bool>> RoomDesk::follow_self(UserId user) {
    RoomSubject& subject = subjects_.open(user);
    if (std::exchange(subject.at_home, true)) {
        co_return true;
    }
    Task<Result<bool>> looking = look_at_self(user);
    Result<bool> looked = co_await looking;
    RoomSubject* const still = subjects_.find(user);
    if (!looked && still != nullptr) {
        still->at_home = false;
        subjects_.note_unused(*still);
    }
    co_return looked;
}

Task<Result<bool>> RoomDesk::look_at_self(UserId user) {
    std::vector<UserId> one{user};
    Result<bool> followed = co_await follow(std::move(one));
    if (!followed) {
        co_return followed.error();
    }
    const std::uint64_t turn = subjects_.turn();
    std::vector<UserId> self{user};
    Result<std::vector<Seen>> seen = co_await parts_.reader.look(user, std::move(self));
    if (!seen) {
        co_return seen.error();
    }
    if (RoomSubject* const still = subjects_.find(user)) {
        take_self(*still, seen->front(), turn);
    }
    if (stays_.rooms_of(user).size() > 1) {
        report_all(user);  // Joined while this was under way, and so uncounted.
    }
    co_return true;
}

Result<bool> RoomDesk::fits(const RoomJoin& join) const {
    std::vector<RoomId> rooms = stays_.rooms_of(join.user, join.session);
    if (const auto heard = by_connection_.find(join.connection.slot);
        heard != by_connection_.end()) {
        for (const Replica& replica : heard->second) {
            rooms.push_back(replica->room());
        }
    }
    rooms.push_back(join.room);
    std::ranges::sort(rooms);
    const auto doubles = std::ranges::unique(rooms);
    rooms.erase(doubles.begin(), doubles.end());
    const std::size_t most = parts_.limits.rooms_per_connection;
    if (rooms.size() > most) {
        ++parts_.counters.rooms_refused;
        return Error{ErrorCode::limit_exceeded,
                     fmt::format("room would be number {}, most is {}", rooms.size(), most), 0,
                     static_cast<std::int64_t>(most)};
    }
    return true;
}

void RoomDesk::undo(const RoomJoin& join, const std::optional<RoomStays::Stay>& before) {
    if (!join.observe && stays_.contains(join.user, join.room, join.session)) {
        if (before) {
            (void)stays_.add(join.user, join.room, *before);
            report(join.user, join.room);
        } else {
            leave_now(join.user, join.room, join.session);
        }
    } else if (join.observe && before && still_there(join)) {
        (void)stays_.add(join.user, join.room, *before);
        report(join.user, join.room);
    }
}

Task<Result<bool>> RoomDesk::join(RoomJoin join) {
    Result<bool> fitting = fits(join);
    if (!fitting) {
        co_return fitting.error();
    }
    std::optional<RoomStays::Stay> before = stays_.find_stay(join.user, join.room, join.session);
    moved_.erase(join.session);
    if (join.observe) {
        leave_now(join.user, join.room, join.session);
    } else {
        (void)stays_.add(join.user, join.room, {join.session, join.meta, parts_.clock.wall_now()});
        Result<bool> followed = co_await follow_self(join.user);
        if (!followed) {
            undo(join, before);
            if (!stays_.rooms_of(join.user).empty()) {
                settle_in(join.user);  // Another join took this one to be settling it.
            }
            co_return followed.error();
        }
    }
    const Pin pin(*this, open_replica(join.room));
    Arrival arrival;
    Task<Result<bool>> bringing = bring_up(pin.replica(), join, arrival.counted);
    Result<bool> up = co_await bringing;
    if (up) {
        arrival.viewer.connection = join.connection.slot;
        arrival.viewer.user = join.user;
        Task<Result<bool>> looking = look_around(pin.replica(), arrival);
        up = co_await looking;
    }
    if (!up) {
        undo(join, before);
        co_return up.error();
    }
    if (!still_there(join)) {
        co_return session_over();
    }
    stop_hearing(join.connection.slot, join.room);
    RoomReplica& replica = *pin;
    RoomViewer& placed = replica.add_viewer(std::move(arrival.viewer), arrival.additions);
    if (join.hears) {
        by_connection_[join.connection.slot].push_back(pin.replica());
        if (arrival.epoch != rules_epoch_ || arrival.additions != replica.additions()) {
            judge_again(pin.replica(), join.connection.slot);
        }
    }
    send_whole(replica, placed, join.request,
               replica.large() ? std::optional(arrival.counted) : std::nullopt);
    if (!join.hears) {
        replica.remove_viewer(join.connection.slot);
    }
    co_return true;
}

Task<bool> RoomDesk::leave(std::uint32_t connection, SessionId session, UserId user, RoomId room) {
    stop_hearing(connection, room);
    leave_now(user, room, session);
    // Whoever has the answer finds it done.
    Result<RoomPicture> left =
        co_await ask_keeper(std::move(room), std::nullopt, RoomNeed::counts, false);
    co_return left.has_value();
}

void RoomDesk::leave_unless(std::uint32_t connection, const SessionId& session, const UserId& user,
                            const std::function<bool(const RoomId&)>& may_stay) {
    for (const RoomId& room : stays_.rooms_of(user, session)) {
        if (!may_stay(room)) {
            leave_now(user, room, session);
        }
    }
    const auto heard = by_connection_.find(connection);
    const std::vector<Replica> replicas =
        heard == by_connection_.end() ? std::vector<Replica>{} : heard->second;
    for (const Replica& replica : replicas) {
        if (!may_stay(replica->room())) {
            stop_hearing(connection, replica->room());
        }
    }
}

}  // namespace presence
