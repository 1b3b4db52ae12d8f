// How sessions end: lost connections, goodbyes, silence, kicks. All of them through settle.

#include "presence/core/presence_service.h"
#include "presence/core/store_errors.h"

#include <algorithm>

namespace presence {

namespace {
/// A store that would not take an end is asked again after that long.
constexpr Millis kRetry{1000};
}  // namespace

Task<bool> PresenceService::connection_lost(SlotId session, bool sign_of_life) {
    LocalSession* local = sessions_.find(session);
    if (local == nullptr || local->ending) {
        co_return false;
    }
    const MonoTime now = parts_.clock.now();
    if (sign_of_life) {
        local->last_heartbeat = now;
    }
    local->connection = {};
    local->pinged_or_lost_at = now;
    file(session);
    const SessionId id = local->id;
    const WallTime closed_at = wall_of(local->last_heartbeat);
    const WallTime grace_until = parts_.clock.wall_now() + parts_.config.heartbeat.grace;
    const UserId user = users_.at(local->user).id;
    Entered entered = co_await enter(user);
    if (sessions_.find(session) == nullptr) {
        co_return false;
    }
    Change edit = [=](Draft& draft) {
        if (Session* mine = draft.find(id)) {
            mine->grace_until = grace_until;
            mine->closed_at = closed_at;
        }
    };
    Result<bool> settled = co_await settle(entered.slot(), Cause::close, std::move(edit));
    co_return settled.has_value();
}

void PresenceService::forget_local(SlotId session) {
    User& user = users_.at(sessions_.at(session).user);
    user.sessions.erase(std::ranges::find(user.sessions, session));
    sessions_.destroy(session);
}

void PresenceService::bury(SlotId session) {
    const LocalSession& local = sessions_.at(session);
    const SessionId name = local.id;
    const UserId user = users_.at(local.user).id;
    forget_local(session);
    if (listener_ != nullptr) {
        listener_->on_session_ended(user, name);
    }
}

void PresenceService::hand_over(SlotId session, NodeId taker) {
    const LocalSession& local = sessions_.at(session);
    const SessionId name = local.id;
    const UserId user = users_.at(local.user).id;
    forget_local(session);
    if (listener_ != nullptr) {
        listener_->on_session_moved(user, name, taker);
    }
}

/// Nothing that its client says counts any more.
void PresenceService::cut_off(LocalSession& local, EndReason reason) {
    local.ending = true;
    if (local.connection && owner_ != nullptr) {
        owner_->end_connection(local.connection, reason);
    }
}

/// In grace it is what the record knows: of a life before this one nothing else is left.
WallTime PresenceService::last_sign_of(const LocalSession& local) {
    if (const UserRecordRef& record = users_.at(local.user).record) {
        const auto found = std::ranges::find(record->sessions, local.id, &Session::id);
        if (found != record->sessions.end() && found->grace_until) {
            return found->closed_at;
        }
    }
    return wall_of(local.last_heartbeat);
}

Task<bool> PresenceService::end(SlotId session, Cause cause) {
    LocalSession* local = sessions_.find(session);
    if (local == nullptr || local->ending) {
        co_return false;
    }
    local->ending = true;
    local->last_heartbeat = parts_.clock.now();
    const WallTime sign = parts_.clock.wall_now();
    const UserId user = users_.at(local->user).id;
    Entered entered = co_await enter(user);
    const bool ended = co_await end_locked(entered.slot(), session, cause, sign);
    co_return ended;
}

Detached PresenceService::end_later(SlotId session, Cause cause, WallTime sign) {
    LocalSession* local = sessions_.find(session);
    if (local == nullptr || local->ending) {
        co_return;
    }
    local->ending = true;
    const UserId user = users_.at(local->user).id;
    Entered entered = co_await enter(user);
    co_await end_locked(entered.slot(), session, cause, sign);
}

/// After the store would not take an end, as nobody else will try it again.
void PresenceService::end_at_next_look(SlotId session) {
    LocalSession& local = sessions_.at(session);
    local.ending = false;
    local.connection = {};
    local.by_http = false;  // From now on it waits for its end like any that is in grace.
    local.pinged_or_lost_at = parts_.clock.now() + kRetry - parts_.config.heartbeat.grace;
    file(session);
}

Task<bool> PresenceService::end_locked(SlotId user, SlotId session, Cause cause, WallTime sign) {
    LocalSession* local = sessions_.find(session);
    if (local == nullptr) {
        co_return false;  // Taken over or ended while this waited for its turn.
    }
    const SessionId id = local->id;
    const bool barred = cause == Cause::kicked;
    const bool by_itself =
        cause == Cause::grace_over || cause == Cause::silence || cause == Cause::goodbye;
    Change edit = [this, id, sign, barred, by_itself, until = barred_until()](Draft& draft) {
        if (const Session* mine = draft.find(id)) {
            if (mine->counts) {
                draft.last_sign = std::max(draft.last_sign, sign);
            }
            if (barred) {
                draft.bar(*mine, until);
            }
            std::erase_if(draft.sessions, [&](const Session& other) { return other.id == id; });
        }
        // While the store was away the user may have come back elsewhere, which is to be stated
        // yet: it is looked at again until it is (DESIGN rule 30).
        draft.refused = by_itself && draft.sessions.empty() && !parts_.nodes.all_have_stated() &&
                        parts_.nodes.vouches(parts_.clock.now());
    };
    Result<bool> settled = co_await settle(user, cause, std::move(edit));
    local = sessions_.find(session);
    if (local == nullptr) {
        co_return settled.has_value();
    }
    if (!settled) {
        end_at_next_look(session);
        co_return false;
    }
    bury(session);
    co_return true;
}

Task<Result<bool>> PresenceService::kick(UserId id, SessionId session) {
    Entered entered = co_await enter(id);
    const SessionSlots locals = entered.user().sessions;
    for (const SlotId local_id : locals) {
        LocalSession* local = sessions_.find(local_id);
        if (local == nullptr || !(local->id == session) || local->ending) {
            continue;
        }
        const WallTime sign = last_sign_of(*local);
        cut_off(*local, EndReason::kicked);
        const bool ended = co_await end_locked(entered.slot(), local_id, Cause::kicked, sign);
        if (!ended) {
            co_return store_away();
        }
        co_return true;
    }
    Result<bool> ended =
        co_await end_elsewhere(entered.slot(), session, Cause::kicked, EndReason::kicked);
    co_return ended;
}

void PresenceService::renew_token(SlotId session, std::optional<WallTime> issued_at) {
    if (LocalSession* const local = sessions_.find(session)) {
        local->token_issued_at = issued_at.value_or(WallTime{});
    }
}

Task<bool> PresenceService::end_revoked(UserId id, WallTime before) {
    Entered entered = co_await enter(id);
    drop_deferred(id);
    const SessionSlots locals = entered.user().sessions;
    for (const SlotId local_id : locals) {
        LocalSession* const local = sessions_.find(local_id);
        if (local == nullptr || local->ending || local->token_issued_at >= before) {
            continue;
        }
        // Where there is a connection its close is what was seen last, as with any other.
        const WallTime sign = local->connection ? parts_.clock.wall_now() : last_sign_of(*local);
        cut_off(*local, EndReason::revoked);
        co_await end_locked(entered.slot(), local_id, Cause::revoked, sign);
    }
    co_return true;
}

Result<bool> PresenceService::may_erase() const {
    if (is_apart()) {
        return store_away();
    }
    return true;
}

void PresenceService::forget_events(const UserId& user) {
    if (parts_.webhooks != nullptr) {
        parts_.webhooks->forget(user);
    }
}

Task<Result<bool>> PresenceService::erase(UserId id) {
    Entered entered = co_await enter(id);
    const SlotId slot = entered.slot();
    const Result<bool> may = may_erase();
    if (!may) {
        co_return may.error();
    }
    const SessionSlots locals = entered.user().sessions;
    for (const SlotId local : locals) {
        cut_off(sessions_.at(local), EndReason::erased);
    }
    users_.at(slot).loaded = users_.at(slot).loaded && parts_.nodes.alone();
    auto ended = std::make_shared<std::vector<Session>>();
    // All in one step, so that watchers hear of one end, and nothing in it of what is erased.
    Change edit = [ended, until = barred_until()](Draft& draft) {
        *ended = std::exchange(draft.sessions, {});
        for (const Session& session : *ended) {
            draft.bar(session, until);
        }
        const std::uint64_t revision = draft.declared.revision;
        draft.declared = {};
        draft.declared.revision = revision;
        draft.erased = true;
    };
    Result<bool> settled = co_await settle(slot, Cause::erased, std::move(edit));
    for (const SlotId local : locals) {
        if (sessions_.find(local) == nullptr) {
            continue;
        }
        if (settled) {
            bury(local);
        } else {
            end_at_next_look(local);
        }
    }
    if (!settled) {
        co_return settled.error();
    }
    if (entered.user().ahead) {
        co_return store_away();  // Kept here only: to be asked for again.
    }
    tell_holders(slot, *ended, EndReason::erased);
    entered.user().deferred.reset();
    co_return true;
}

}  // namespace presence
