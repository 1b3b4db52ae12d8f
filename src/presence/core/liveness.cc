// Who is alive: the timing wheel of PresenceService, and what is found when a deadline comes.

#include "presence/base/log.h"
#include "presence/core/presence_service.h"
#include "presence/core/status_change.h"
#include "presence/model/canary.h"
#include "presence/rules/merge.h"

#include <algorithm>
#include <cstdlib>

namespace presence {

namespace {
/// A wall clock that moved that much against the monotonic one was stepped.
constexpr Millis kClockStep{500};
/// A store that would not take an end is asked again after that long.
constexpr Millis kRetry{1000};

/// Moves `mine` up to `rank`, and those that stand there or above out of its way.
void put_in_order(std::vector<Session>& sessions, Session& mine, std::uint32_t rank) {
    if (mine.active_rank >= rank) {
        return;
    }
    for (Session& other : sessions) {
        other.active_rank += other.active_rank >= rank ? 1U : 0U;
    }
    mine.active_rank = rank;
}
}  // namespace

WallTime PresenceService::wall_of(MonoTime moment) const {
    return parts_.clock.wall_now() - (parts_.clock.now() - moment);
}

MonoTime PresenceService::next_deadline(const LocalSession& local) const {
    const HeartbeatConfig& heartbeat = parts_.config.heartbeat;
    if (local.in_grace()) {
        // Who wanted to return while we were stopped is still at the door.
        return stalls_.deadline(local.pinged_or_lost_at, heartbeat.grace);
    }
    const bool pinged = local.by_http || local.pinged_or_lost_at > local.last_heartbeat;
    // 60 % of the ttl: time for a Ping to be answered, twice over.
    const Millis look_after = pinged ? heartbeat.ttl : heartbeat.ttl * 6 / 10;
    MonoTime deadline = stalls_.deadline(local.last_heartbeat, look_after);
    if (local.reported_activity && !local.idle) {
        deadline = std::min(deadline, local.last_activity + parts_.config.presence.idle_after);
    }
    return deadline;
}

void PresenceService::file(SlotId session) {
    LocalSession& local = sessions_.at(session);
    MonoTime deadline = next_deadline(local);
    if (local.deferred) {
        deadline = std::min(deadline, local.deferred->due);
    }
    if (local.filed_tick == 0 || wheel_.tick_of(deadline) < local.filed_tick) {
        local.filed_tick = wheel_.file({session, false}, deadline);
    }
}

void PresenceService::file_user_at(SlotId slot, MonoTime deadline) {
    User& user = users_.at(slot);
    if (user.filed_tick == 0 || wheel_.tick_of(deadline) < user.filed_tick) {
        user.filed_tick = wheel_.file({slot, true}, deadline);
    }
}

void PresenceService::file_user(SlotId slot) {
    const User& user = users_.at(slot);
    if (user.flap) {
        const ToldFace& shown = user.flap->shown;
        const ToldFace& own = user.flap->own;
        if (shown.pending) {
            file_user_at(slot, shown.quiet_from());
        }
        if (own.pending) {
            file_user_at(slot, own.quiet_from());
        }
        if (!shown.pending && !own.pending) {
            file_user_at(slot, std::max(shown.quiet_from(), own.quiet_from()));
        }
    }
    if (user.deferred) {
        file_user_at(slot, user.deferred->due);
    }
    if (user.record) {
        const WallTime wall = parts_.clock.wall_now();
        if (const auto change =
                rules::next_change(user.record->presence.declared, user.record->sessions, wall)) {
            file_user_at(slot, parts_.clock.now() + (*change - wall));
        }
    }
}

void PresenceService::tick() {
    const MonoTime now = parts_.clock.now();
    if (stalls_.tick(now)) {
        ++parts_.counters.stalls;
        log::warning("stalled", "this thread was not running for a while; deadlines are moved");
    }
    const Millis offset = parts_.clock.wall_now().since_epoch - now.since_start;
    if (std::chrono::abs(offset - wall_offset_) > kClockStep) {
        // What people set by the clock on the wall may be due at another moment now.
        ++parts_.counters.clock_steps;
        wall_offset_ = offset;
        users_.for_each([&](SlotId slot, User&) { file_user_at(slot, now); });
    }
    if (!orphans_.empty() && now >= orphans_due_) {
        orphans_due_ = now + kRetry;
        look_for_returns();
    }
    wheel_.advance(now, [&](const WheelItem& item, std::uint32_t at) {
        if (item.is_user) {
            visit_user(item.id, at, now);
        } else {
            visit_session(item.id, at, now);
        }
    });
}

void PresenceService::visit_session(SlotId session, std::uint32_t at, MonoTime now) {
    LocalSession* local = sessions_.find(session);
    if (local == nullptr || local->filed_tick != at) {
        return;
    }
    local->filed_tick = 0;
    if (local->ending) {
        return;
    }
    if (local->in_grace()) {
        if (now >= next_deadline(*local)) {
            ++parts_.counters.grace_ends;
            end_later(session, Cause::grace_over, last_sign_of(*local));
            return;
        }
    } else {
        const Millis silent = stalls_.silence(local->last_heartbeat, now);
        if (silent >= parts_.config.heartbeat.ttl) {
            parts_.counters.silent_deaths += is_canary(users_.at(local->user).id) ? 0U : 1U;
            const SlotId connection = local->connection;
            end_later(session, Cause::silence, last_sign_of(*local));
            if (connection && owner_ != nullptr) {
                owner_->end_connection(connection, EndReason::silence);
            }
            return;
        }
        if (local->connection && silent >= parts_.config.heartbeat.ttl * 6 / 10 &&
            local->pinged_or_lost_at <= local->last_heartbeat) {
            ++parts_.counters.pings;
            local->pinged_or_lost_at = now;
            if (owner_ != nullptr) {
                owner_->ping_connection(local->connection);
            }
        }
        if (local->reported_activity && !local->idle &&
            now - local->last_activity >= parts_.config.presence.idle_after) {
            local->idle = true;
            go_idle(session);
        }
    }
    if (sessions_.find(session) == nullptr) {
        return;
    }
    const bool applies = local->deferred && now >= local->deferred->due;
    if (applies) {
        local->deferred->due = now + kRetry;
    }
    file(session);
    if (applies) {
        apply_deferred_on(session);
    }
}

Detached PresenceService::go_idle(SlotId session) {
    LocalSession* local = sessions_.find(session);
    const SessionId id = local->id;
    const UserId user = users_.at(local->user).id;
    Entered entered = co_await enter(user);
    local = sessions_.find(session);
    if (local == nullptr || !local->idle) {
        co_return;  // Activity was reported while this waited for its turn.
    }
    Change edit = [id](Draft& draft) {
        if (Session* mine = draft.find(id)) {
            mine->idle = true;
        }
    };
    co_await settle(entered.slot(), Cause::idle, std::move(edit));
}

bool PresenceService::was_active_after(SlotId user, const Session& other, const Session& mine,
                                       MonoTime active_at) {
    if (other.active_rank == 0) {
        return false;  // It never reported any.
    }
    for (const SlotId local_id : users_.at(user).sessions) {
        const LocalSession& local = sessions_.at(local_id);
        if (local.id == other.id) {
            return local.last_activity > active_at;
        }
    }
    // When those of other nodes were is not known here (RULINGS 18). What this one did since its
    // last heartbeat is taken to be the newest; of anything older the order has had its chance.
    return other.active_rank > mine.active_rank &&
           parts_.clock.now() - active_at > parts_.config.heartbeat.interval;
}

std::uint32_t PresenceService::rank_by_activity(SlotId user, const std::vector<Session>& sessions,
                                                const Session& mine, MonoTime active_at) {
    std::uint32_t below = 0;
    for (const Session& other : sessions) {
        if (!(other.id == mine.id) && !was_active_after(user, other, mine, active_at)) {
            below = std::max(below, other.active_rank);
        }
    }
    return below + 1;
}

Task<Result<bool>> PresenceService::report_activity(SlotId session, std::optional<Millis> ago) {
    LocalSession* local = sessions_.find(session);
    if (local == nullptr || local->ending) {
        co_return false;
    }
    const MonoTime now = parts_.clock.now();
    const Millis idle_after = parts_.config.presence.idle_after;
    const MonoTime active_at = now - std::min(ago.value_or(idle_after), idle_after);
    if (ago) {
        // What was before its client said `idle` takes nothing back.
        local->said_idle = local->said_idle && *ago > now - local->idle_at;
        local->last_activity =
            local->reported_activity ? std::max(local->last_activity, active_at) : active_at;
        local->reported_activity = true;
    } else {
        local->said_idle = true;
        local->idle_at = now;
    }
    // The newest activity decides: an older report than the last takes nothing back.
    bool idle = local->said_idle || now - local->last_activity >= idle_after;
    const User& user = users_.at(local->user);
    const SessionId id = local->id;
    const std::vector<Session>& sessions = user.record->sessions;
    const auto found = std::ranges::find(sessions, id, &Session::id);
    const bool known = found != sessions.end();
    const bool in_place =
        known && found->active_rank >= rank_by_activity(local->user, sessions, *found, active_at);
    local->idle = idle;
    file(session);
    if (known && !user.lock.held() && found->idle == idle &&
        (idle || (found->counts && in_place))) {
        co_return false;  // It says what was said before: nothing is written, nobody is told.
    }
    const UserId user_id = user.id;
    Entered entered = co_await enter(user_id);
    local = sessions_.find(session);
    if (local == nullptr) {
        co_return false;
    }
    idle = local->idle;  // The newest report, whichever of several waited.
    Change edit = [this, slot = entered.slot(), id, idle, active_at](Draft& draft) {
        Session* mine = draft.find(id);
        if (mine == nullptr) {
            return;
        }
        mine->idle = idle;
        if (!idle) {
            mine->counts = true;
            const std::uint32_t rank = rank_by_activity(slot, draft.sessions, *mine, active_at);
            put_in_order(draft.sessions, *mine, rank);
        }
    };
    Result<bool> settled = co_await settle(entered.slot(), Cause::activity, std::move(edit));
    co_return settled;
}

void PresenceService::visit_user(SlotId slot, std::uint32_t at, MonoTime now) {
    User* user = users_.get(slot);
    if (user == nullptr || user->filed_tick != at) {
        return;
    }
    user->filed_tick = 0;
    if (user->flap && user->record && !user->lock.held()) {  // Else after what is under way.
        announce_pending(*user, now);
    }
    const bool applies = user->deferred && now >= user->deferred->due;
    if (applies) {
        user->deferred->due = now + kRetry;
    }
    file_user(slot);
    if (user->record && rules::has_lapsed(user->record->presence.declared, user->record->sessions,
                                          parts_.clock.wall_now())) {
        settle_expiry(user->id);
    }
    if (applies && users_.get(slot) != nullptr) {
        apply_deferred(slot);
    }
    close_if_idle(slot);
}

void PresenceService::settle_lapsed(const UserId& user) {
    const SlotId slot = users_.find(user);
    if (slot && users_.at(slot).lock.held()) {
        return;  // Somebody is at it, or the next who reads will say so again.
    }
    if (slot) {
        users_.at(slot).loaded = users_.at(slot).loaded && parts_.nodes.alone();
    }
    settle_expiry(user);
}

Detached PresenceService::settle_expiry(UserId user) {
    Entered entered = co_await enter(std::move(user));
    Change edit = [now = parts_.clock.wall_now()](Draft& draft) {
        for (Session& session : draft.sessions) {
            if (session.declared_until && *session.declared_until <= now) {
                session.declared = DeclaredStatus::automatic;
                session.declared_until.reset();
            }
            session.custom = unless_over(session.custom, now);
        }
    };
    Result<bool> settled = co_await settle(entered.slot(), Cause::status_expiry, std::move(edit));
    if (!settled) {
        file_user_at(entered.slot(), parts_.clock.now() + kRetry);
    }
}

}  // namespace presence
