// Looks at the store for rooms: whose presence a thread follows, and who may see whom in a list.

#include "presence/base/log.h"
#include "presence/core/room_desk.h"

#include <algorithm>
#include <utility>

namespace presence {

namespace {
/// A look that could not tell is made again after that long.
constexpr Millis kRetry{1000};
/// After that much the announcement that a record still owed has been made.
constexpr Millis kAfterUntold{100};
/// No window is longer, whatever a clock that was set back makes of its end.
constexpr Millis kMostUntold{1000};
}  // namespace

Task<Result<bool>> RoomDesk::follow(std::vector<UserId> users) {
    std::erase_if(users, [this](const UserId& user) {
        const RoomSubject* const subject = subjects_.find(user);
        return subject == nullptr || subject->subscribed;
    });
    if (users.empty()) {
        co_return true;
    }
    std::vector<UserId> wanted = users;
    Result<bool> subscribed = co_await parts_.bus.subscribe(std::move(wanted));
    if (!subscribed) {
        co_return subscribed.error();
    }
    for (const UserId& user : users) {
        if (RoomSubject* const subject = subjects_.find(user)) {
            subject->subscribed = true;
        } else if (!parts_.watches.follows(user)) {
            parts_.bus.unsubscribe(user);
        }
    }
    co_return true;
}

Task<Result<bool>> RoomDesk::look_anew(const Replica& replica, Arrival& arrival) {
    arrival.viewer.sees = {};
    arrival.epoch = rules_epoch_;
    arrival.additions = replica->additions();
    Task<Result<bool>> looking = look_as(replica, arrival.viewer);
    Result<bool> looked = co_await looking;
    co_return looked;
}

Task<Result<bool>> RoomDesk::look_around(const Replica& replica, Arrival& arrival) {
    if (parts_.nodes.alone() && replica->large()) {
        co_return true;
    }
    Task<Result<bool>> looking = look_anew(replica, arrival);
    Result<bool> looked = co_await looking;
    if (!looked || parts_.nodes.alone()) {
        co_return looked;
    }
    RoomId room = replica->room();
    RoomSight sees{replica->large(), replica->first_of_node(parts_.nodes.self, arrival.viewer)};
    const std::size_t home = room_of_thread(room);
    RoomDesk* const peer = peers_[home];
    Task<std::optional<RoomPicture>> asking = run_there<std::optional<RoomPicture>>(
        parts_.scheduler, *threads_[home],
        [peer, room = std::move(room), sees = std::move(sees)]() mutable {
            return peer->keeper_.hear_others(std::move(room), std::move(sees));
        });
    std::optional<RoomPicture> heard = co_await asking;
    if (!heard) {
        co_return true;
    }
    arrival.counted = heard->counted;
    load(*replica, *heard);
    Task<Result<bool>> again = look_anew(replica, arrival);
    looked = co_await again;
    co_return looked;
}

Task<Result<bool>> RoomDesk::look_as(const Replica& replica, RoomViewer& viewer) {
    // Of a large room the viewer alone: a look that found the room listed takes no less.
    const std::vector<UserId> users =
        replica->large() ? std::vector<UserId>{viewer.user} : replica->users();
    std::vector<UserId> followed = users;
    Result<bool> following = co_await follow(std::move(followed));
    if (!following) {
        co_return following.error();
    }
    std::vector<UserId> looked_at = users;
    std::vector<UserId> one{viewer.user};
    Result<Crowd> crowd =
        co_await parts_.reader.look_for_each(std::move(one), std::move(looked_at));
    if (!crowd) {
        co_return crowd.error();
    }
    for (std::size_t i = 0; i < users.size(); ++i) {
        std::uint32_t slot = 0;
        if (!replica->find_slot(users[i], slot)) {
            continue;
        }
        viewer.sees.set(slot, crowd->rows.front().at(i));
        take_found(*replica, slot, *crowd, i);
    }
    if (crowd->unread) {
        unsettle(replica, viewer.connection);
    }
    co_return true;
}

Detached RoomDesk::judge(Replica replica, std::vector<UserId> users) {
    const bool whole = users.size() >= replica->member_count();
    std::vector<UserId> followed = users;
    Result<bool> following = co_await follow(std::move(followed));
    const std::uint64_t turn = subjects_.turn();
    std::vector<UserId> viewers;
    boost::unordered_flat_map<UserId, std::size_t, IdHash, IdEqual> rows;
    for (const RoomViewer& viewer : replica->viewers()) {
        if (rows.emplace(viewer.user, viewers.size()).second) {
            viewers.push_back(viewer.user);
        }
    }
    std::vector<UserId> looked_at = users;
    Result<Crowd> crowd =
        co_await parts_.reader.look_for_each(std::move(viewers), std::move(looked_at));
    if (replica->closed) {
        co_return;
    }
    if (!following || !crowd || crowd->unread) {
        unsettle(replica, users);
    }
    if (!crowd) {
        co_return;
    }
    for (std::size_t i = 0; i < users.size(); ++i) {
        std::uint32_t slot = 0;
        if (!replica->find_slot(users[i], slot)) {
            continue;
        }
        if (following) {
            take_found(*replica, slot, *crowd, i);
        }
        for (RoomViewer& viewer : replica->viewers()) {
            const auto row = rows.find(viewer.user);
            if (row != rows.end() && replica->may_judge(viewer, slot, turn)) {
                parts_.counters.verdicts_changed +=
                    replica->judge(viewer, slot, crowd->rows[row->second].at(i)) ? 1U : 0U;
            }
        }
    }
    if (whole && replica->void_before <= turn && !replica->lacks_lists()) {
        replica->judging = false;
    }
    arm(replica);
}

Detached RoomDesk::judge_again(Replica replica, std::uint32_t connection) {
    const RoomViewer* const asking = replica->find_viewer(connection);
    if (replica->closed || asking == nullptr) {
        co_return;
    }
    RoomViewer look;
    look.connection = connection;
    look.user = asking->user;
    const std::uint64_t turn = subjects_.turn();
    const std::vector<UserId> users = replica->users();
    Task<Result<bool>> looking = look_as(replica, look);
    Result<bool> looked = co_await looking;
    RoomViewer* const viewer = replica->find_viewer(connection);
    if (replica->closed || viewer == nullptr || !(viewer->user == look.user)) {
        co_return;
    }
    if (!looked) {
        unsettle(replica, connection);
        co_return;
    }
    for (const UserId& user : users) {
        std::uint32_t slot = 0;
        if (replica->find_slot(user, slot) && replica->may_judge(*viewer, slot, turn) &&
            replica->judge(*viewer, slot, look.sees.at(slot))) {
            ++parts_.counters.verdicts_changed;
        }
    }
    arm(replica);
}

void RoomDesk::unsettle(const Replica& replica, const std::vector<UserId>& users) {
    file_unsettled(replica);
    replica->unsettled.insert(users.begin(), users.end());
}

void RoomDesk::unsettle(const Replica& replica, std::uint32_t viewer) {
    file_unsettled(replica);
    replica->unsettled_viewers.insert(viewer);
}

void RoomDesk::file_unsettled(const Replica& replica) {
    if (!replica->unsettled.empty() || !replica->unsettled_viewers.empty()) {
        return;
    }
    parts_.scheduler.after(kRetry, [this, replica] {
        const std::set<UserId> users = std::exchange(replica->unsettled, {});
        const std::set<std::uint32_t> viewers = std::exchange(replica->unsettled_viewers, {});
        if (!users.empty() && !replica->closed) {
            judge(replica, replica->judging ? replica->users()
                                            : std::vector<UserId>{users.begin(), users.end()});
        }
        for (const std::uint32_t viewer : viewers) {
            judge_again(replica, viewer);
        }
    });
}

void RoomDesk::reconsider(const UserId& user, std::span<const std::uint32_t> viewing) {
    rules_epoch_ += subjects_.find(user) != nullptr || !viewing.empty() ? 1U : 0U;
    for (const std::uint32_t connection : viewing) {
        const auto heard = by_connection_.find(connection);
        if (heard == by_connection_.end()) {
            continue;
        }
        const std::vector<Replica> replicas = heard->second;
        for (const Replica& replica : replicas) {
            if (!replica->large()) {
                replica->find_viewer(connection)->turned_at = subjects_.next_turn();
                judge_again(replica, connection);
            }
        }
    }
    RoomSubject* const subject = subjects_.find(user);
    if (subject == nullptr) {
        return;
    }
    subject->turned_at = subjects_.next_turn();
    std::vector<Replica> replicas;
    for (const RoomSubject::Place& place : subject->places) {
        replicas.push_back(find_replica(place.room->room()));
    }
    if (subject->at_home) {
        refresh_self(user);
    }
    for (const Replica& replica : replicas) {
        if (replica) {
            judge(replica, {user});
        }
    }
}

// --- Presences ---------------------------------------------------------------------------------

void RoomDesk::changed(RoomSubject& subject, bool shown, bool own) {
    if (!shown && !own) {
        return;
    }
    for (const RoomSubject::Place& place : subject.places) {
        place.room->touch(place.slot, shown, own);
        if (const Replica replica = find_replica(place.room->room())) {
            arm(replica);
        }
    }
    if (subject.at_home && shown) {
        report_all(subject.user);
    }
}

void RoomDesk::on_presence(const PresenceEventRef& event) {
    RoomSubject* const subject = subjects_.find(event->user);
    if (subject == nullptr) {
        return;
    }
    const RoomSubject::PresenceRef presence(event, &event->presence);
    const bool shown = event->tells_shown && subject->take_shown(presence);
    const bool own = event->tells_own && subject->take_own(presence);
    changed(*subject, shown, own);
}

void RoomDesk::take_found(const RoomReplica& replica, std::uint32_t slot, const Crowd& crowd,
                          std::size_t place) {
    RoomSubject& subject = *replica.member(slot).subject;
    if (crowd.is_unreachable(place)) {
        take_unreachable(subject, replica.counts(slot));
    } else {
        take_record(subject, crowd.records[place]);
    }
}

void RoomDesk::take_unreachable(RoomSubject& subject, bool counts) {
    if (parts_.nodes.spares_watchers && subject.shown) {
        return;  // All are looked at again when it can be told, or has long not been.
    }
    changed(subject, subject.take_unreachable(counts), false);
    if (parts_.nodes.health == StoreHealth::ok) {
        look_again_later(subject,
                         kRetry);  // It has come back meanwhile, or is not known to be away.
    }
}

void RoomDesk::take_record(RoomSubject& subject, const UserRecordRef& record) {
    if (!record) {
        const bool was_unreachable = std::exchange(subject.unreachable, false);
        changed(subject, was_unreachable && subject.shown_status() != Status::unknown, false);
        return;
    }
    const Millis untold = record->untold_until - parts_.clock.wall_now();
    const bool known = subject.shown != nullptr && subject.own != nullptr;
    // Holds the record for as long as any part of it is held.
    const RoomSubject::PresenceRef presence(&record->presence, [record](const Presence*) {});
    if (untold > Millis{0}) {
        look_again_later(subject, untold);
        if (known && !subject.unreachable) {
            // The announcement will tell others, or nothing, if it is taken back. Who declared it
            // finds it in every answer from then on.
            changed(subject, false, subject.take_own(presence));
            return;
        }
    }
    const bool shown = subject.take_shown(presence);
    const bool own = subject.take_own(presence);
    changed(subject, shown, own);
}

void RoomDesk::look_again_later(RoomSubject& subject, Millis untold) {
    if (std::exchange(subject.looks_again, true)) {
        return;
    }
    parts_.scheduler.after(std::min(untold, kMostUntold) + kAfterUntold,
                           [this, user = subject.user] { look_again(user); });
}

Detached RoomDesk::look_again(UserId user) {
    std::vector<UserId> one{user};
    Result<std::vector<Seen>> seen = co_await parts_.reader.look(user, std::move(one));
    RoomSubject* const subject = subjects_.find(user);
    if (subject == nullptr) {
        co_return;
    }
    subject->looks_again = false;
    if (seen && seen->front().unreachable) {
        take_unreachable(*subject, subject->unreachable);
    } else if (seen) {
        take_record(*subject, seen->front().record);
    } else {
        look_again_later(*subject, kMostUntold);
    }
}

}  // namespace presence
