// What goes out about rooms: rounds of deliveries, whole rooms, signals.

#include "presence/core/room_desk.h"

#include <algorithm>
#include <utility>

namespace presence {

namespace {

/// Between two windows of the keeper, so that its statement is there whichever way it came.
constexpr Millis kAfterKeeper = RoomKeeper::kWindow / 2;

Verdict verdict_of_self(const UserId& user) {
    return rules::judge({user, nullptr}, {user, nullptr}, {});
}

}  // namespace

/// Viewers who are told the same: one after the other, and encoded once.
struct RoomDesk::Group {
    RoomDelta delta;
    std::size_t count = 0;
    RoomFrames frames;
};

void RoomDesk::arm(const Replica& replica) {
    if (replica->armed || replica->closed) {
        return;
    }
    replica->armed = true;
    const Millis wait =
        RoomKeeper::until_next_window(replica->room(), parts_.clock.now(), kAfterKeeper);
    parts_.scheduler.after(wait, [this, replica] { deliver_round(replica); });
}

RoomNews RoomDesk::frame_of(const RoomReplica& replica) const {
    RoomNews news{replica.room(), false, false, true, 0, {}, {}, {}, {}};
    news.exact = replica.exact();
    return news;
}

RoomLine RoomDesk::line_for(RoomReplica& replica, const RoomViewer& viewer,
                            std::uint32_t slot) const {
    RoomReplica::Member& member = replica.member(slot);
    const RoomSubject& subject = *member.subject;
    if (!replica.is_self(viewer, slot)) {
        return {&subject, viewer.sees.at(slot), &member.meta, &member.encoded};
    }
    // Most people look to themselves as they look to others.
    const bool alike = subject.own_status() == subject.shown_status();
    return {&subject, verdict_of_self(viewer.user), &member.meta,
            alike ? &member.encoded : nullptr};
}

PresenceView RoomDesk::view(const RoomLine& line) const {
    const RoomSubject& subject = *line.subject;
    if (line.verdict.own()) {
        return parts_.reader.view(subject.user, subject.own.get(), line.verdict);
    }
    if (subject.unreachable) {
        Seen seen{subject.user, nullptr, line.verdict};
        seen.unreachable = true;
        return parts_.reader.view(seen);
    }
    return parts_.reader.view(subject.user, subject.shown.get(), line.verdict);
}

void RoomDesk::send_whole(RoomReplica& replica, RoomViewer& viewer,
                          std::optional<std::uint64_t> request,
                          std::optional<std::size_t> counted) {
    RoomNews news = frame_of(replica);
    news.whole = true;
    news.listed = !replica.large();
    news.answers = request;
    if (news.listed) {
        const std::vector<std::uint32_t> slots = replica.list_for(viewer);
        for (const std::uint32_t slot : slots) {
            news.joined.push_back(line_for(replica, viewer, slot));
        }
        replica.tell_list(viewer, slots);
        news.count = slots.size();
    } else {
        replica.tell_list(viewer, {});
        viewer.told_counted = replica.counted();
        news.count = counted.value_or(replica.counted());
    }
    ++parts_.counters.rooms_told;
    RoomFrames frames;
    sink_->deliver_room(viewer.connection, news, frames);
}

void RoomDesk::drop_watched(const RoomReplica& replica, const RoomViewer& viewer,
                            RoomDelta& delta) const {
    std::erase_if(delta.changed, [&](std::uint32_t slot) {
        const RoomReplica::Member& member = replica.member(slot);
        const bool status_alone = member.meta_at <= viewer.told_change &&
                                  std::ranges::find(viewer.repeated, slot) == viewer.repeated.end();
        return status_alone && parts_.watches.tells(viewer.connection, member.subject->user);
    });
}

bool RoomDesk::deliver_delta(RoomReplica& replica, std::uint32_t connection,
                             std::vector<Group>& groups) {
    RoomViewer& viewer = *replica.find_viewer(connection);
    const MonoTime now = parts_.clock.now();
    if (now < viewer.quiet_until) {
        return false;
    }
    RoomDelta delta = replica.delta_for(viewer);
    drop_watched(replica, viewer, delta);
    std::vector<std::uint32_t> withheld;  // By what was judged before people only leave.
    if (replica.judging) {
        withheld = std::exchange(delta.joined, {});
        withheld.insert(withheld.end(), delta.changed.begin(), delta.changed.end());
        delta.changed.clear();
    }
    if (!withheld.empty() && delta.empty()) {
        return true;  // The end of it arms again.
    }
    if (!delta.empty() && !sink_->can_take(connection)) {
        ++parts_.counters.rooms_behind;
        replica.fall_behind(viewer);
        return true;
    }
    RoomNews news = frame_of(replica);
    bool alike = true;
    const auto add = [&](const std::vector<std::uint32_t>& slots, std::vector<RoomLine>& lines) {
        for (const std::uint32_t slot : slots) {
            lines.push_back(line_for(replica, viewer, slot));
            alike = alike && lines.back().encoded != nullptr;
        }
    };
    add(delta.joined, news.joined);
    add(delta.changed, news.changed);
    for (const std::uint32_t slot : delta.left) {
        news.left.push_back(&replica.member(slot).subject->user);
    }
    replica.tell(viewer, delta);
    viewer.repeated = std::move(withheld);
    if (delta.empty()) {
        return true;
    }
    viewer.quiet_until = now + kQuiet;
    news.count = viewer.count;
    parts_.counters.room_deltas += 1;
    RoomFrames own;
    RoomFrames* frames = &own;
    if (alike) {
        auto group = std::ranges::find_if(groups, [&](const Group& one) {
            return one.count == news.count && one.delta == delta;
        });
        if (group == groups.end()) {
            groups.push_back({std::move(delta), news.count, {}});
            group = groups.end() - 1;
        }
        frames = &group->frames;
    }
    sink_->deliver_room(connection, news, *frames);
    return true;
}

bool RoomDesk::deliver_counts(RoomReplica& replica) {
    const MonoTime now = parts_.clock.now();
    RoomNews news = frame_of(replica);
    news.count = replica.counted();
    bool done = true;
    std::vector<std::uint32_t> connections;
    for (RoomViewer& viewer : replica.viewers()) {
        if (viewer.behind || viewer.wants_room || viewer.told_counted == news.count) {
            continue;
        }
        if (now < viewer.quiet_until) {
            done = false;
        } else if (sink_->can_take(viewer.connection)) {
            viewer.quiet_until = now + RoomKeeper::kCountWindow;
            viewer.told_counted = news.count;
            connections.push_back(viewer.connection);
        } else {
            ++parts_.counters.rooms_behind;
            replica.fall_behind(viewer);
        }
    }
    RoomFrames frames;
    for (const std::uint32_t connection : connections) {
        if (replica.find_viewer(connection) != nullptr) {
            ++parts_.counters.room_counts;
            sink_->deliver_room(connection, news, frames);
        }
    }
    return done;
}

void RoomDesk::deliver_round(const Replica& replica) {
    replica->armed = false;
    if (replica->closed || sink_ == nullptr) {
        return;
    }
    bool done = true;
    if (replica->large()) {
        done = deliver_counts(*replica);
    }
    std::vector<std::uint32_t> connections;
    for (const RoomViewer& viewer : replica->viewers()) {
        if (!viewer.behind && replica->may_have_news(viewer)) {
            connections.push_back(viewer.connection);
        }
    }
    std::vector<Group> groups;
    for (const std::uint32_t connection : connections) {
        RoomViewer* const viewer = replica->find_viewer(connection);
        if (viewer == nullptr) {
            continue;
        }
        if (!viewer->wants_room) {
            done = (replica->large() || deliver_delta(*replica, connection, groups)) && done;
        } else if (replica->judging) {
            done = true;  // The end of it arms again.
        } else if (sink_->can_take(connection)) {
            send_whole(*replica, *viewer, std::nullopt, std::nullopt);
        } else {
            replica->fall_behind(*viewer);
        }
    }
    replica->tidy();
    sweep_subjects();
    if (!done) {
        arm(replica);
    }
    close_if_unheard(replica);
}

void RoomDesk::catch_up(std::uint32_t connection) {
    const auto found = by_connection_.find(connection);
    if (found == by_connection_.end()) {
        return;
    }
    const std::vector<Replica> heard = found->second;
    for (const Replica& replica : heard) {
        RoomViewer* const viewer = replica->find_viewer(connection);
        if (viewer == nullptr || !viewer->behind || !sink_->can_take(connection)) {
            continue;
        }
        if (replica->judging && !replica->large()) {
            viewer->behind = false;
            viewer->wants_room = true;  // The end of it tells.
        } else {
            send_whole(*replica, *viewer, std::nullopt, std::nullopt);
        }
    }
}

void RoomDesk::refresh(std::uint32_t connection) {
    const auto found = by_connection_.find(connection);
    if (found == by_connection_.end()) {
        return;
    }
    const std::vector<Replica> heard = found->second;
    for (const Replica& replica : heard) {
        if (RoomViewer* const viewer = replica->find_viewer(connection)) {
            replica->fall_behind(*viewer);
        }
    }
    catch_up(connection);
}

void RoomDesk::on_unwatched(std::uint32_t connection, const UserId& user) {
    // Its status was told by the watch; from now on the lists tell it again, from where it stands.
    const RoomSubject* const subject = subjects_.find(user);
    if (subject == nullptr || !by_connection_.contains(connection)) {
        return;
    }
    for (const RoomSubject::Place& place : subject->places) {
        if (RoomViewer* const viewer = place.room->find_viewer(connection)) {
            if (!viewer->behind && !viewer->wants_room) {
                viewer->repeated.push_back(place.slot);
            }
            if (const Replica replica = find_replica(place.room->room())) {
                arm(replica);
            }
        }
    }
}

// --- Signals -----------------------------------------------------------------------------------

void RoomDesk::on_signal(const SignalRef& signal) {
    const Replica replica = find_replica(*signal->room);
    if (!replica || replica->viewers().empty() || sink_ == nullptr) {
        return;
    }
    const TokenBucket::Rate rate{parts_.limits.room_signals_per_second,
                                 parts_.limits.room_signals_burst};
    TokenBucket& bucket =
        signal->from_counted ? replica->signals_of_counted : replica->signals_of_others;
    const double cost = std::min(static_cast<double>(replica->viewers().size()), rate.burst);
    if (!bucket.take(rate, parts_.clock.now(), cost)) {
        ++parts_.counters.room_signals_shed;
        return;
    }
    std::uint32_t slot = 0;
    if (replica->large() || replica->judging || !replica->find_slot(signal->from, slot) ||
        replica->member(slot).ahead) {
        judge_signal(replica, signal);
        return;
    }
    std::vector<std::uint32_t> connections;
    for (const RoomViewer& viewer : replica->viewers()) {
        if (replica->is_self(viewer, slot) || replica->is_listed_for(viewer, slot)) {
            connections.push_back(viewer.connection);
        }
    }
    deliver_signal(*replica, *signal, connections);
}

Detached RoomDesk::judge_signal(Replica replica, SignalRef signal) {
    std::vector<UserId> viewers;
    std::vector<std::uint32_t> connections;
    for (const RoomViewer& viewer : replica->viewers()) {
        viewers.push_back(viewer.user);
        connections.push_back(viewer.connection);
    }
    std::vector<UserId> sender{signal->from};
    Result<Crowd> crowd =
        co_await parts_.reader.look_for_each(std::move(viewers), std::move(sender));
    if (!crowd || replica->closed) {
        co_return;
    }
    std::vector<std::uint32_t> hearing;
    for (std::size_t i = 0; i < connections.size(); ++i) {
        const RoomViewer* const viewer = replica->find_viewer(connections[i]);
        if (viewer != nullptr && (viewer->user == signal->from || crowd->rows[i].sees(0))) {
            hearing.push_back(connections[i]);
        }
    }
    deliver_signal(*replica, *signal, hearing);
}

void RoomDesk::deliver_signal(RoomReplica& replica, const SignalMessage& signal,
                              std::span<const std::uint32_t> connections) {
    RoomFrames frames;
    for (const std::uint32_t connection : connections) {
        // One that does not read loses signals, as they would be over when it does.
        if (replica.find_viewer(connection) != nullptr && sink_->can_take(connection)) {
            sink_->deliver_room_signal(connection, signal, frames);
        }
    }
}

}  // namespace presence
