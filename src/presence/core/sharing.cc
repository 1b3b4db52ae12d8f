// Users whose sessions several nodes hold: what is read and written when others write too, when
// the store is away, and when others thought this node dead.

#include "presence/base/log.h"
#include "presence/base/slice.h"
#include "presence/core/presence_service.h"
#include "presence/core/records.h"
#include "presence/core/store_errors.h"
#include "presence/rules/version.h"

#include <algorithm>

namespace presence {

namespace {

/// Records restored with one read and one write.
constexpr std::size_t kBatch = 200;

void raise(Version& version, Version other) {
    version = std::max(version, other);
}

/// What was told under versions that the store may have forgotten, under higher ones.
std::shared_ptr<UserRecord> above_what_was_lost(const UserRecord& record) {
    auto raised = std::make_shared<UserRecord>(record);
    raised->presence.own_version.value += rules::kIncarnationStep;
    raised->presence.shown_version.value += rules::kIncarnationStep;
    return raised;
}

/// What stands, of what this node holds (`mine`) and what the store has: the sessions that each
/// vouches for, the newer of what was declared and told, and no version lower than either.
std::shared_ptr<UserRecord> merge_records(const UserRecord& mine, const UserRecord& stored,
                                          NodeId self) {
    const bool mine_is_newer = mine.presence.own_version > stored.presence.own_version;
    auto merged = std::make_shared<UserRecord>(mine_is_newer ? mine : stored);
    const UserRecord& other = mine_is_newer ? stored : mine;
    Presence& presence = merged->presence;
    raise(presence.own_version, other.presence.own_version);
    raise(presence.shown_version, other.presence.shown_version);
    presence.last_seen = std::max(presence.last_seen, other.presence.last_seen);
    if (other.presence.declared.revision > presence.declared.revision) {
        presence.declared = other.presence.declared;
    }
    merged->last_sign = std::max(mine.last_sign, stored.last_sign);
    merged->rules_revision = std::max(mine.rules_revision, stored.rules_revision);
    merged->untold_until = std::max(mine.untold_until, stored.untold_until);
    merged->commit = stored.commit;
    merged->sessions.clear();
    for (const Session& session : stored.sessions) {
        if (session.node != self) {
            merged->sessions.push_back(session);
        }
    }
    for (const Session& session : mine.sessions) {
        const auto taken = std::ranges::find(merged->sessions, session.id, &Session::id);
        if (session.node == self && taken == merged->sessions.end()) {
            merged->sessions.push_back(session);
        } else if (session.node == self && taken->epoch < session.epoch) {
            *taken = session;
        }
    }
    return merged;
}

}  // namespace

Task<Result<bool>> PresenceService::ensure_record(SlotId slot) {
    if (users_.at(slot).loaded) {
        co_return true;
    }
    if (!parts_.nodes.vouches(parts_.clock.now())) {
        Result<bool> alone = co_await go_without_store(slot);
        co_return alone;
    }
    UserId id = users_.at(slot).id;
    Result<UserRecordRef> record = co_await record_of(std::move(id));
    if (!record && (parts_.nodes.alone() || record.error().code != ErrorCode::unavailable)) {
        co_return record.error();
    }
    if (!record) {
        Result<bool> alone = co_await go_without_store(slot);
        co_return alone;
    }
    take_record(slot, std::move(*record));
    co_return true;
}

/// What was read last, or else what the database knows, has to do until the store is back.
Task<Result<bool>> PresenceService::go_without_store(SlotId slot) {
    if (!users_.at(slot).record) {
        UserId id = users_.at(slot).id;
        ProfileAnswer answer = co_await parts_.profiles.get(std::move(id));
        if (!answer.known) {
            co_return Error{ErrorCode::unavailable, "no store answers", 1000, 0};
        }
        auto record = std::make_shared<UserRecord>(*record_from(answer.profile));
        raise(record->presence.own_version, {floor_now() + rules::kIncarnationStep});
        raise(record->presence.shown_version, {floor_now() + rules::kIncarnationStep});
        users_.at(slot).record = std::move(record);
    }
    users_.at(slot).ahead = true;
    users_.at(slot).loaded = true;
    co_return true;
}

/// What other nodes hold can be neither read nor changed.
bool PresenceService::is_apart() const {
    return parts_.nodes.is_cut_off() || !parts_.nodes.vouches(parts_.clock.now());
}

/// Whether a session of the user is this node's, and not in doubt.
bool PresenceService::vouches_for_any(const User& user) {
    return !parts_.nodes.alone() && std::ranges::any_of(user.sessions, [&](SlotId id) {
        const LocalSession& local = sessions_.at(id);
        return !local.orphaned && !local.ending;
    });
}

void PresenceService::take_record(SlotId slot, UserRecordRef stored) {
    User& user = users_.at(slot);
    UserRecordRef before = user.record;
    user.loaded = true;
    if (before && !user.ahead && stored->commit < before->commit && vouches_for_any(user)) {
        before = above_what_was_lost(*before);  // The store lost what it once had (RULINGS 3).
        user.ahead = user.untold = true;
        ++parts_.counters.records_lost;
    }
    if (user.flap && before) {
        note_told_elsewhere(user, *before, *stored);
    }
    if (user.ahead && before) {
        user.record = merge_records(*before, *stored, parts_.nodes.self);
    } else {
        user.record = std::move(stored);
    }
    if (!parts_.nodes.alone()) {
        reconcile(slot, before);
    }
}

void PresenceService::reconcile(SlotId slot, const UserRecordRef& before) {
    const std::vector<SlotId> locals = users_.at(slot).sessions;
    for (const SlotId local_id : locals) {
        LocalSession& local = sessions_.at(local_id);
        if (local.ending || local.orphaned) {
            continue;
        }
        const std::vector<Session>& now = users_.at(slot).record->sessions;
        const auto found = std::ranges::find(now, local.id, &Session::id);
        if (found != now.end() && found->node == parts_.nodes.self) {
            continue;
        }
        if (found != now.end()) {
            // Resumed elsewhere, and word of it was lost.
            const NodeId taker = found->node;
            cut_off(local, EndReason::replaced);
            hand_over(local_id, taker);
        } else if (before) {
            const auto held = std::ranges::find(before->sessions, local.id, &Session::id);
            if (held != before->sessions.end()) {
                orphan(local_id, *held, parts_.clock.now());
            }
        }
    }
}

void PresenceService::orphan(SlotId local_id, const Session& session, MonoTime since) {
    sessions_.at(local_id).orphaned = true;
    orphans_.push_back({local_id, session, since});
    ++parts_.counters.orphaned;
}

void PresenceService::look_for_returns() {
    if (!parts_.nodes.vouches(parts_.clock.now())) {
        return;  // Whether they live elsewhere by now, only the store can tell.
    }
    std::erase_if(orphans_, [&](Orphan& one) {
        LocalSession* const local = sessions_.find(one.local);
        if (local == nullptr || local->ending || !local->orphaned) {
            return true;
        }
        if (local->in_grace()) {
            const SlotId user = local->user;
            bury(one.local);  // Nobody waits for it, and the others have settled it.
            close_if_idle(user);
            return true;
        }
        if (local->last_heartbeat <= one.since) {
            return false;
        }
        rejoin(one.local, one.session);
        return true;
    });
}

Detached PresenceService::rejoin(SlotId local_id, Session session) {
    const UserId id = users_.at(sessions_.at(local_id).user).id;
    Entered entered = co_await enter(id);
    if (sessions_.find(local_id) == nullptr) {
        co_return;
    }
    users_.at(entered.slot()).loaded = parts_.nodes.alone();
    auto elsewhere = std::make_shared<bool>(false);
    const WallTime now = parts_.clock.wall_now();
    session.node = parts_.nodes.self;
    session.grace_until.reset();
    Change edit = [session, elsewhere, now](Draft& draft) {
        const auto found = std::ranges::find(draft.sessions, session.id, &Session::id);
        *elsewhere = found != draft.sessions.end() && found->epoch > session.epoch;
        if (*elsewhere) {
            return;
        }
        Session next = session;
        next.epoch = next_epoch(session.epoch, now);
        if (found != draft.sessions.end()) {
            *found = next;
        } else {
            draft.sessions.push_back(next);
        }
    };
    Result<bool> settled = co_await settle(entered.slot(), Cause::rejoin, std::move(edit));
    LocalSession* const local = sessions_.find(local_id);
    if (local == nullptr) {
        co_return;
    }
    if (!settled) {
        orphans_.push_back({local_id, session, parts_.clock.now()});
        co_return;
    }
    if (*elsewhere) {
        cut_off(*local, EndReason::replaced);
        bury(local_id);
        co_return;
    }
    local->orphaned = false;
    const std::vector<Session>& sessions = entered.user().record->sessions;
    const auto mine = std::ranges::find(sessions, local->id, &Session::id);
    if (mine != sessions.end()) {
        local->epoch = mine->epoch;
    }
}

void PresenceService::renamed(MonoTime last_vouched) {
    users_.for_each([&](SlotId, User& user) {
        for (const SlotId local_id : user.sessions) {
            const LocalSession& local = sessions_.at(local_id);
            if (local.orphaned || local.ending || !user.record) {
                continue;
            }
            const auto held = std::ranges::find(user.record->sessions, local.id, &Session::id);
            if (held != user.record->sessions.end()) {
                orphan(local_id, *held, last_vouched);
            }
        }
        // What was thought while nobody listened is void: the others have settled it.
        user.loaded = user.ahead = user.untold = false;
    });
}

std::vector<HeldUser> PresenceService::users_here() {
    std::vector<HeldUser> users;
    users.reserve(users_.size());
    users_.for_each([&](SlotId, User& user) {
        if (!user.sessions.empty() || user.ahead) {
            const bool unsure = (user.ahead || !user.loaded) && !user.lock.held();
            users.push_back({user.id, commit_here(user.id), unsure});
        }
    });
    return users;
}

std::uint64_t PresenceService::commit_here(const UserId& id) {
    const SlotId slot = users_.find(id);
    User* const user = slot ? users_.get(slot) : nullptr;
    return user != nullptr && user->record && user->loaded && !user->ahead && !user->lock.held()
               ? user->record->commit
               : 0;
}

UserRecordRef PresenceService::record_here(const UserId& id) {
    const SlotId slot = users_.find(id);
    User* const user = slot ? users_.get(slot) : nullptr;
    return user != nullptr && !user->sessions.empty() ? user->record : nullptr;
}

Task<Result<bool>> PresenceService::assert_again(std::vector<UserId> users, bool lost) {
    // All of them before the first wait: who is marked takes no older record for the truth.
    for (const UserId& id : users) {
        const SlotId slot = users_.find(id);
        User* const user = slot ? users_.get(slot) : nullptr;
        if (user != nullptr && user->record && lost && !user->ahead) {
            user->record = above_what_was_lost(*user->record);
            user->ahead = user->untold = true;  // Others may have read less meanwhile.
        }
    }
    Result<bool> all = true;
    for (std::size_t i = 0; i < users.size() && !parts_.nodes.is_cut_off(); i += kBatch) {
        std::vector<UserId> batch = slice(users, i, kBatch);
        Change nothing = [](Draft&) {};
        Result<bool> settled =
            co_await settle_many(std::move(batch), Cause::assertion, std::move(nothing));
        if (!settled) {
            all = settled.error();  // What the others have can still be stated.
        }
    }
    if (parts_.nodes.is_cut_off()) {
        co_return store_away();
    }
    co_return all;
}

Task<Result<bool>> PresenceService::settle_death(std::vector<UserId> users, NodeId node,
                                                 WallTime died_at) {
    Change edit = [this, node, died_at](Draft& draft) {
        const WallTime now = parts_.clock.wall_now();
        std::erase_if(draft.sessions, [&](Session& session) {
            if (session.node != node) {
                return false;
            }
            session = left_by(std::move(session), died_at, parts_.config.heartbeat);
            if (*session.grace_until > now) {
                return false;
            }
            if (session.counts) {
                draft.last_sign = std::max(draft.last_sign, session.closed_at);
            }
            return true;
        });
    };
    Result<bool> settled =
        co_await settle_many(std::move(users), Cause::node_death, std::move(edit));
    co_return settled;
}

Task<Result<bool>> PresenceService::reload(const std::vector<Entered>& entered) {
    std::vector<UserId> ids;
    ids.reserve(entered.size());
    for (const Entered& one : entered) {
        ids.push_back(one.user().id);
    }
    std::vector<UserId> asked = ids;
    Result<std::vector<UserRecordRef>> loaded = co_await parts_.sessions.load(std::move(asked));
    if (!loaded) {
        ++parts_.counters.store_failures;
        co_return loaded.error();
    }
    std::vector<ProfileAnswer> profiles = co_await parts_.profiles.get(std::move(ids));
    for (std::size_t i = 0; i < entered.size(); ++i) {
        UserRecordRef record = (*loaded)[i];
        if (!record && !profiles[i].known) {
            co_return database_away();
        }
        take_record(entered[i].slot(),
                    record ? std::move(record) : record_from(profiles[i].profile));
    }
    co_return true;
}

void PresenceService::session_taken(const SessionTaken& taken) {
    const SlotId slot = users_.find(taken.user);
    if (!slot) {
        return;
    }
    const std::vector<SlotId> locals = users_.at(slot).sessions;
    for (const SlotId local_id : locals) {
        LocalSession& local = sessions_.at(local_id);
        if (local.id == taken.session && local.epoch <= taken.epoch) {
            cut_off(local, taken.reason);
            if (taken.reason == EndReason::replaced && taken.taker) {
                hand_over(local_id, taken.taker);
            } else {
                bury(local_id);
            }
            users_.at(slot).loaded = false;  // What the other node wrote is not known here.
        }
    }
    close_if_idle(slot);
}

Task<Result<bool>> PresenceService::end_elsewhere(SlotId slot, std::optional<SessionId> only,
                                                  Cause cause, EndReason reason) {
    if (parts_.nodes.alone()) {
        co_return false;
    }
    if (is_apart()) {
        co_return store_away();
    }
    users_.at(slot).loaded = false;
    auto ended = std::make_shared<std::vector<Session>>();
    const WallTime now = parts_.clock.wall_now();
    // Of one that lives by HTTP nothing but its heartbeats was seen, unless it signs out itself.
    const auto sign_of = [now, cause, ttl = parts_.config.heartbeat.ttl](const Session& session) {
        if (session.grace_until) {
            return session.closed_at;
        }
        const bool by_beats = session.beats_until && cause != Cause::goodbye;
        return by_beats ? std::min(now, *session.beats_until - ttl) : now;
    };
    Change edit = [ended, only, sign_of](Draft& draft) {
        ended->clear();
        std::erase_if(draft.sessions, [&](const Session& session) {
            if (session.node == draft.self || (only && !(session.id == *only))) {
                return false;
            }
            if (session.counts) {
                draft.last_sign = std::max(draft.last_sign, sign_of(session));
            }
            ended->push_back(session);
            return true;
        });
    };
    Result<bool> settled = co_await settle(slot, cause, std::move(edit));
    if (!settled) {
        co_return settled.error();
    }
    if (users_.at(slot).ahead) {
        co_return store_away();
    }
    tell_holders(slot, *ended, reason);
    co_return !ended->empty();
}

void PresenceService::tell_holders(SlotId slot, const std::vector<Session>& ended,
                                   EndReason reason) {
    for (const Session& session : ended) {
        if (session.node && session.node != parts_.nodes.self) {
            parts_.bus.publish_session_taken({session.node, users_.at(slot).id, session.id,
                                              session.epoch, reason, parts_.nodes.self});
        }
    }
}

}  // namespace presence
