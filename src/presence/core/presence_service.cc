#include "presence/core/presence_service.h"

#include "presence/base/log.h"
#include "presence/core/barred_devices.h"
#include "presence/core/records.h"
#include "presence/core/store_errors.h"
#include "presence/model/canary.h"
#include "presence/rules/merge.h"
#include "presence/rules/transition.h"
#include "presence/rules/version.h"

#include <algorithm>

namespace presence {

PresenceService::PresenceService(const ServiceParts& parts)
    : parts_(parts),
      wheel_(kTick, parts.clock.now()),
      stalls_(parts.clock.now()),
      wall_offset_(parts.clock.wall_now().since_epoch - parts.clock.now().since_start) {}

Session* PresenceService::Draft::find(const SessionId& id) {
    const auto found = std::ranges::find(sessions, id, &Session::id);
    return found == sessions.end() || found->node != self ? nullptr : &*found;
}

void PresenceService::Draft::bar(const Session& session, WallTime until) {
    if (session.beats_until) {
        barred = barring(barred, {session.id, until}, now);
    }
}

void PresenceService::Draft::allow(const SessionId& session) {
    if (is_barred(barred, session, now)) {
        barred = allowing(barred, session, now);
    }
}

PresenceService::Entered::~Entered() {
    if (service_ == nullptr) {
        return;
    }
    PresenceService* const service = service_;
    const SlotId user = user_;
    --service->users_.at(user).pins;
    guard_.release();
    service->close_if_idle(user);
}

Task<PresenceService::Entered> PresenceService::enter(UserId user) {
    const SlotId slot = users_.open(user);
    ++users_.at(slot).pins;
    AsyncLock& lock = users_.at(slot).lock;
    AsyncLock::Guard guard = co_await lock.acquire();
    co_return Entered(*this, slot, std::move(guard));
}

void PresenceService::close_if_idle(SlotId slot) {
    User* const user = users_.get(slot);
    if (user == nullptr || user->pins > 0 || !user->sessions.empty() || user->flap ||
        user->deferred || user->ahead || user->lock.held()) {
        return;  // Who is ahead is forgotten once the store has it.
    }
    if (ends_before_others_look(*user)) {
        return;
    }
    // Kept until the bucket is full again: to leave and come back must not fill it.
    const MonoTime now = parts_.clock.now();
    const Millis spent = user->status_bucket.wait(status_rate(), now, status_rate().burst);
    if (spent > Millis{0}) {
        file_user_at(slot, now + spent);
    } else {
        users_.close(slot);
    }
}

/// Each node with a session of the user sees to the end of what was declared (RULINGS 31), once its
/// check of records has told it. An end that may come before that is this node's business.
bool PresenceService::ends_before_others_look(const User& user) const {
    if (parts_.nodes.alone() || !user.record || user.record->sessions.empty()) {
        return false;
    }
    const WallTime now = parts_.clock.wall_now();
    const auto end = rules::next_change(user.record->presence.declared, user.record->sessions, now);
    return end && *end <= now + parts_.config.heartbeat.interval * 2;
}

std::uint64_t PresenceService::floor_now() const {
    return std::max({version_floor_, parts_.nodes.version_floor,
                     rules::version_floor(parts_.clock.wall_now())});
}

rules::VersionFloors PresenceService::floors_after(const User& user,
                                                   const UserRecord& before) const {
    const std::uint64_t floor = floor_now();
    if (parts_.nodes.alone() || before.commit > 0) {
        return {floor, floor};
    }
    const WallTime now = parts_.clock.wall_now();
    if (user.guessed) {
        // Not more: what is told now may die with this node, and the others go on with what they
        // have.
        const std::uint64_t guess =
            std::max(floor, rules::version_floor(now) + rules::kIncarnationStep);
        return {guess, guess};
    }
    if (is_apart()) {
        return {floor, floor};
    }
    return {std::max(floor, rules::version_floor_of_moment(now)), floor};
}

Task<Result<UserRecordRef>> PresenceService::record_of(UserId user) {
    std::vector<UserId> one{user};
    Result<std::vector<UserRecordRef>> loaded = co_await parts_.sessions.load(std::move(one));
    if (!loaded) {
        ++parts_.counters.store_failures;
        co_return loaded.error();
    }
    UserRecordRef record = loaded->front();
    if (record == unreadable_record()) {
        ++parts_.counters.records_unreadable;
        co_return Error{ErrorCode::internal, "the record of the user cannot be read", 0, 0};
    }
    if (!record) {
        note_no_record(user);
        // Null where the database does not answer either.
        ProfileAnswer answer = co_await parts_.profiles.get(user);
        if (answer.known) {
            record = record_from(answer.profile);
        }
    }
    co_return record;
}

std::vector<SlotId> PresenceService::connections_of(const UserId& id,
                                                    const std::optional<SessionId>& session) {
    std::vector<SlotId> connections;
    if (const SlotId slot = users_.find(id)) {
        for (const SlotId local_id : users_.at(slot).sessions) {
            const LocalSession& local = sessions_.at(local_id);
            if (local.connection && (!session || local.id == *session)) {
                connections.push_back(local.connection);
            }
        }
    }
    return connections;
}

bool PresenceService::holds(const UserId& id, const SessionId& session) {
    const SlotId slot = users_.find(id);
    return slot && std::ranges::any_of(users_.at(slot).sessions, [&](SlotId local) {
               return sessions_.at(local).id == session;
           });
}

Task<Result<std::vector<SessionFacts>>> PresenceService::sessions_of(UserId id) {
    Result<UserRecordRef> record = co_await record_of(id);
    if (!record || !*record) {
        co_return record ? database_away() : record.error();
    }
    std::vector<SessionFacts> facts;
    const SlotId slot = users_.find(id);
    for (const Session& session : (*record)->sessions) {
        SessionFacts fact{session, std::nullopt, std::nullopt};
        const User* user = slot ? users_.get(slot) : nullptr;
        for (const SlotId local_id : user != nullptr ? user->sessions : SessionSlots{}) {
            const LocalSession& local = sessions_.at(local_id);
            if (local.id == session.id) {
                fact.last_heartbeat = last_sign_of(local);
                if (local.reported_activity) {
                    fact.last_activity = wall_of(local.last_activity);
                }
            }
        }
        facts.push_back(std::move(fact));
    }
    co_return facts;
}

Census PresenceService::census() {
    Census census;
    const NodeView& nodes = parts_.nodes;
    const auto is_own = [&](const Session& session) {
        return nodes.alone() || session.node == nodes.self;
    };
    users_.for_each([&](SlotId, const User& user) {
        if (!user.record || user.sessions.empty() || is_canary(user.id)) {
            return;
        }
        const std::vector<Session>& sessions = user.record->sessions;
        // One of the nodes that hold sessions of a user counts the user: that of the first session
        // that stands.
        const auto first = std::ranges::find_if(
            sessions, [&](const Session& session) { return !nodes.died_at(session.node); });
        if (first != sessions.end() && is_own(*first)) {
            census.count(user.record->presence);
        }
        for (const Session& session : sessions) {
            if (is_own(session)) {
                census.count(session);
            }
        }
    });
    return census;
}

}  // namespace presence
