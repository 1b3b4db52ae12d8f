// What people declare: PresenceService::change_status and its rate.

#include "presence/core/presence_service.h"
#include "presence/core/store_errors.h"

namespace presence {

namespace {

/// Below it an expiry cannot be meant for the future any more.
bool is_over(const std::optional<WallTime>& end, WallTime now) {
    return end && *end <= now;
}

Result<bool> check(const StatusChange& change, WallTime now) {
    if (is_over(change.status_until, now)) {
        return Error{ErrorCode::bad_request, "expiresAt is in the past", 0, 0};
    }
    if (change.custom && is_over(change.custom->expires_at, now)) {
        return Error{ErrorCode::bad_request, "customStatus.expiresAt is in the past", 0, 0};
    }
    return true;
}

void merge_into(StatusChange& older, StatusChange newer) {
    if (newer.status) {
        older.status = newer.status;
        older.status_until = newer.status_until;
    }
    if (newer.sets_custom) {
        older.sets_custom = true;
        older.custom = std::move(newer.custom);
    }
}

/// Of `change`, which waited, what somebody else has declared since `over` stood.
void leave_out_what_changed(StatusChange& change, const DeclaredState& over,
                            const DeclaredState& stands) {
    if (stands.status != over.status || stands.expires_at != over.expires_at) {
        change.status.reset();
    }
    if (stands.custom != over.custom &&
        (!stands.custom || !over.custom || !(*stands.custom == *over.custom))) {
        change.sets_custom = false;
    }
}

/// An end that has come meanwhile makes of a change what it would be by now.
StatusChange what_is_left(StatusChange change, WallTime now) {
    if (is_over(change.status_until, now)) {
        change.status = DeclaredStatus::automatic;
        change.status_until.reset();
    }
    return change;
}

}  // namespace

Task<Result<StatusOutcome>> PresenceService::change_status(UserId id, StatusChange change,
                                                           bool limited, OverRate over) {
    Result<bool> sound = check(change, parts_.clock.wall_now());
    if (!sound) {
        co_return sound.error();
    }
    Entered entered = co_await enter(id);
    const SlotId slot = entered.slot();
    const TokenBucket::Rate rate = status_rate();
    const MonoTime now = parts_.clock.now();
    User& user = entered.user();
    if (limited && (user.deferred || !user.status_bucket.take(rate, now))) {
        const Millis wait = user.status_bucket.wait(rate, now);
        if (over == OverRate::refuse) {
            co_return Error{ErrorCode::rate_limited, "the status was changed too often",
                            std::max(wait, Millis{1}).count(), 0};
        }
        ++parts_.counters.status_deferred;
        if (user.deferred) {
            merge_into(user.deferred->change, std::move(change));
        } else {
            user.deferred =
                std::make_unique<DeferredChange>(DeferredChange{std::move(change), now + wait});
            file_user(slot);
            std::optional<DeclaredState> stands = co_await stored_declaration(id);
            if (user.deferred) {
                user.deferred->over = std::move(stands);
            }
        }
        co_return StatusOutcome{std::max(wait, Millis{1})};
    }
    if (!limited) {
        user.deferred.reset();
    }
    Result<bool> declared = co_await declare(slot, std::move(change));
    if (!declared) {
        co_return declared.error();
    }
    co_return StatusOutcome{};
}

Task<std::optional<DeclaredState>> PresenceService::stored_declaration(UserId user) {
    std::vector<UserId> one{std::move(user)};
    Result<std::vector<ProfileRef>> loaded = co_await parts_.profile_store.load(std::move(one));
    if (!loaded) {
        co_return std::nullopt;
    }
    const ProfileRef& profile = loaded->front();
    co_return profile ? profile->declared : DeclaredState{};
}

void PresenceService::drop_deferred(const UserId& user) {
    const SlotId slot = users_.find(user);
    if (!slot) {
        return;
    }
    users_.at(slot).deferred.reset();
    for (const SlotId session : users_.at(slot).sessions) {
        sessions_.at(session).deferred.reset();
    }
}

Detached PresenceService::apply_deferred(SlotId slot) {
    const UserId id = users_.at(slot).id;
    Entered entered = co_await enter(id);
    User& user = entered.user();
    if (!user.deferred) {
        co_return;
    }
    const MonoTime now = parts_.clock.now();
    if (!user.status_bucket.take(status_rate(), now)) {
        user.deferred->due = now + user.status_bucket.wait(status_rate(), now);
        file_user(slot);
        co_return;
    }
    StatusChange change = what_is_left(user.deferred->change, parts_.clock.wall_now());
    if (const std::optional<DeclaredState> over = user.deferred->over) {
        const std::optional<DeclaredState> stands = co_await stored_declaration(id);
        if (!user.deferred) {
            co_return;
        }
        if (stands) {
            leave_out_what_changed(change, *over, *stands);
        }
    }
    if (!change.status && !change.sets_custom) {
        user.deferred.reset();
        co_return;
    }
    Result<bool> declared = co_await declare(slot, std::move(change));
    // On this node nobody can have changed it meanwhile: that takes the user's lock. Kept for
    // another try only while a store is away.
    if (declared || declared.error().code != ErrorCode::unavailable) {
        entered.user().deferred.reset();
    }
}

Task<Result<bool>> PresenceService::declare(SlotId slot, StatusChange change) {
    constexpr int kAttempts = 4;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
        Result<bool> ready = co_await ensure_record(slot);
        if (!ready) {
            co_return ready.error();
        }
        const UserId id = users_.at(slot).id;
        ProfileAnswer answer = co_await parts_.profiles.get(id);
        if (!answer.known) {
            co_return database_away();
        }
        // Another node may have changed it, and its commit of the record may be under way.
        const DeclaredState& held = users_.at(slot).record->presence.declared;
        const bool row_is_newer =
            answer.profile && answer.profile->declared.revision > held.revision;
        DeclaredState declared = row_is_newer ? answer.profile->declared : held;
        ++declared.revision;
        if (change.status) {
            declared.status = *change.status;
            declared.expires_at =
                change.status == DeclaredStatus::automatic ? std::nullopt : change.status_until;
        }
        if (change.sets_custom) {
            declared.custom = change.custom;
        }
        Result<bool> saved = co_await parts_.profile_store.save_declared(id, declared);
        if (!saved) {
            co_return saved.error();
        }
        parts_.profiles.invalidate(id);
        if (!*saved) {
            continue;
        }
        // Going invisible is an end of the public presence, at this moment. Else a change of status
        // is no sign of life: a back end may have made it.
        const bool hides = change.status == DeclaredStatus::invisible;
        const WallTime acted_at = hides ? parts_.clock.wall_now() : WallTime{};
        Change edit = [declared, acted_at](Draft& draft) {
            if (declared.revision > draft.declared.revision) {
                draft.declared = declared;  // RULINGS 31
            }
            if (!draft.sessions.empty()) {
                draft.last_sign = std::max(draft.last_sign, acted_at);
            }
        };
        Result<bool> settled = co_await settle(slot, Cause::status, std::move(edit));
        co_return settled;
    }
    co_return Error{ErrorCode::conflict, "the status is being changed from elsewhere", 1000, 0};
}

Task<Result<StatusOutcome>> PresenceService::change_session_status(SlotId session,
                                                                   StatusChange change,
                                                                   bool limited) {
    Result<bool> sound = check(change, parts_.clock.wall_now());
    if (!sound) {
        co_return sound.error();
    }
    if (change.status == DeclaredStatus::invisible) {
        co_return Error{ErrorCode::bad_request, "status invisible exists only with scope user", 0,
                        0};
    }
    LocalSession* local = sessions_.find(session);
    if (local == nullptr) {
        co_return Error{ErrorCode::not_found, "the session is over", 0, 0};
    }
    const SessionId id = local->id;
    const UserId user = users_.at(local->user).id;
    Entered entered = co_await enter(user);
    const SlotId slot = entered.slot();
    local = sessions_.find(session);
    if (local == nullptr) {
        co_return Error{ErrorCode::not_found, "the session is over", 0, 0};
    }
    const TokenBucket::Rate rate = status_rate();
    const MonoTime now = parts_.clock.now();
    TokenBucket& bucket = entered.user().status_bucket;
    if (limited && (local->deferred || !bucket.take(rate, now))) {
        const Millis wait = bucket.wait(rate, now);
        ++parts_.counters.status_deferred;
        if (local->deferred) {
            merge_into(local->deferred->change, std::move(change));
        } else {
            local->deferred =
                std::make_unique<DeferredChange>(DeferredChange{std::move(change), now + wait});
            file(session);
        }
        co_return StatusOutcome{std::max(wait, Millis{1})};
    }
    if (!limited) {
        local->deferred.reset();
    }
    Result<bool> declared = co_await declare_on(slot, id, std::move(change));
    if (!declared) {
        co_return declared.error();
    }
    co_return StatusOutcome{};
}

Task<Result<bool>> PresenceService::declare_on(SlotId slot, SessionId id, StatusChange change) {
    Change edit = [=](Draft& draft) {
        Session* mine = draft.find(id);
        if (mine == nullptr) {
            return;
        }
        if (change.status) {
            mine->declared = *change.status;
            mine->declared_until =
                change.status == DeclaredStatus::automatic ? std::nullopt : change.status_until;
        }
        if (change.sets_custom) {
            mine->custom = change.custom;
        }
    };
    Result<bool> settled = co_await settle(slot, Cause::status, std::move(edit));
    co_return settled;
}

Detached PresenceService::apply_deferred_on(SlotId session) {
    const UserId user = users_.at(sessions_.at(session).user).id;
    Entered entered = co_await enter(user);
    LocalSession* local = sessions_.find(session);
    if (local == nullptr || !local->deferred) {
        co_return;
    }
    const MonoTime now = parts_.clock.now();
    TokenBucket& bucket = entered.user().status_bucket;
    if (!bucket.take(status_rate(), now)) {
        local->deferred->due = now + bucket.wait(status_rate(), now);
        file(session);
        co_return;
    }
    SessionId id = local->id;
    StatusChange change = what_is_left(local->deferred->change, parts_.clock.wall_now());
    Result<bool> declared = co_await declare_on(entered.slot(), std::move(id), std::move(change));
    local = sessions_.find(session);
    if (local != nullptr && (declared || declared.error().code != ErrorCode::unavailable)) {
        local->deferred.reset();
    }
}

}  // namespace presence
