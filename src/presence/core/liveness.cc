// Who is alive: the timing wheel of PresenceService, and what is found when a deadline comes.

#include "presence/base/log.h"
#include "presence/core/presence_service.h"
#include "presence/rules/merge.h"

#include <algorithm>
#include <cstdlib>

namespace presence {

namespace {
/// A wall clock that moved that much against the monotonic one was stepped.
constexpr Millis kClockStep{500};
}  // namespace

WallTime PresenceService::wall_of(MonoTime moment) const {
    return parts_.clock.wall_now() - (parts_.clock.now() - moment);
}

MonoTime PresenceService::next_deadline(const LocalSession& local) const {
    if (!local.connection) {
        return local.grace_deadline;
    }
    const HeartbeatConfig& heartbeat = parts_.config.heartbeat;
    const bool pinged = local.pinged_at > local.last_heartbeat;
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
    local.filed_tick = wheel_.file({session, false}, next_deadline(local));
}

void PresenceService::file_user(SlotId slot) {
    User& user = users_.at(slot);
    const MonoTime now = parts_.clock.now();
    if (user.flap) {
        wheel_.file({slot, true}, std::max(user.flap->shown.quiet_from, user.flap->own.quiet_from));
        if (user.flap->shown.pending) {
            wheel_.file({slot, true}, user.flap->shown.quiet_from);
        }
        if (user.flap->own.pending) {
            wheel_.file({slot, true}, user.flap->own.quiet_from);
        }
    }
    if (user.record) {
        const WallTime wall = parts_.clock.wall_now();
        if (const auto change =
                rules::next_change(user.record->presence.declared, user.record->sessions, wall)) {
            wheel_.file({slot, true}, now + (*change - wall));
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
        users_.for_each([&](SlotId slot, User&) { wheel_.file({slot, true}, now); });
    }
    wheel_.advance(now, [&](const WheelItem& item, std::uint32_t at) {
        if (item.is_user) {
            visit_user(item.id, now);
        } else {
            visit_session(item.id, at, now);
        }
    });
}

void PresenceService::visit_session(SlotId session, std::uint32_t at, MonoTime now) {
    LocalSession* local = sessions_.find(session);
    if (local == nullptr || local->filed_tick != at || local->ending) {
        return;
    }
    if (!local->connection) {
        if (now >= local->grace_deadline) {
            ++parts_.counters.grace_ends;
            // Sign of life: the record knows the close; wall_of the last heartbeat is the same.
            const User& user = users_.at(local->user);
            WallTime sign = wall_of(local->last_heartbeat);
            if (user.record) {
                const auto found =
                    std::ranges::find(user.record->sessions, local->id, &Session::id);
                if (found != user.record->sessions.end()) {
                    sign = found->closed_at;
                }
            }
            end_later(session, Cause::grace_over, sign);
            return;
        }
    } else {
        const Millis silent = stalls_.silence(local->last_heartbeat, now);
        if (silent >= parts_.config.heartbeat.ttl) {
            ++parts_.counters.silent_deaths;
            const SlotId connection = local->connection;
            const WallTime sign = wall_of(local->last_heartbeat);
            end_later(session, Cause::silence, sign);
            if (owner_ != nullptr) {
                owner_->end_connection(connection, EndReason::silence);
            }
            return;
        }
        if (silent >= parts_.config.heartbeat.ttl * 6 / 10 &&
            local->pinged_at <= local->last_heartbeat) {
            ++parts_.counters.pings;
            local->pinged_at = now;
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
    if (sessions_.find(session) != nullptr) {
        file(session);
    }
}

Detached PresenceService::go_idle(SlotId session) {
    LocalSession* local = sessions_.find(session);
    const SessionId id = local->id;
    const UserId user = users_.at(local->user).id;
    Entered entered = co_await enter(user);
    Change edit = [id](Draft& draft) {
        if (Session* mine = draft.find(id)) {
            mine->idle = true;
        }
    };
    co_await settle(entered.slot(), Cause::idle, std::move(edit));
}

Task<Result<bool>> PresenceService::report_activity(SlotId session, std::optional<Millis> ago) {
    LocalSession* local = sessions_.find(session);
    if (local == nullptr || local->ending) {
        co_return false;
    }
    const MonoTime now = parts_.clock.now();
    const Millis idle_after = parts_.config.presence.idle_after;
    const bool idle = !ago || *ago >= idle_after;
    if (ago) {
        const MonoTime active_at = now - std::min(*ago, idle_after);
        local->last_activity = std::max(local->last_activity, active_at);
        local->reported_activity = true;
    }
    const User& user = users_.at(local->user);
    const SessionId id = local->id;
    const auto found = std::ranges::find(user.record->sessions, id, &Session::id);
    std::uint32_t highest = 0;
    for (const Session& other : user.record->sessions) {
        highest = std::max(highest, other.active_rank);
    }
    const bool known = found != user.record->sessions.end();
    const bool latest = known && found->active_rank == highest && highest > 0;
    local->idle = idle;
    file(session);
    if (known && found->idle == idle && (idle || (found->counts && latest))) {
        co_return false;  // It says what was said before: nothing is written, nobody is told.
    }
    const UserId user_id = user.id;
    Entered entered = co_await enter(user_id);
    Change edit = [id, idle](Draft& draft) {
        Session* mine = draft.find(id);
        if (mine == nullptr) {
            return;
        }
        mine->idle = idle;
        if (!idle) {
            mine->counts = true;
            std::uint32_t rank = 0;
            for (const Session& other : draft.sessions) {
                rank = std::max(rank, other.active_rank);
            }
            if (mine->active_rank < rank || rank == 0) {
                mine->active_rank = rank + 1;
            }
        }
    };
    Result<bool> settled = co_await settle(entered.slot(), Cause::activity, std::move(edit));
    co_return settled;
}

void PresenceService::visit_user(SlotId slot, MonoTime now) {
    User* user = users_.get(slot);
    if (user == nullptr) {
        return;
    }
    if (user->flap && user->record && user->loaded) {
        announce_pending(*user, now);
        if (user->flap && (user->flap->shown.pending || user->flap->own.pending)) {
            file_user(slot);
        }
    }
    if (user->record && user->loaded) {
        const Presence& presence = user->record->presence;
        const WallTime wall = parts_.clock.wall_now();
        const auto over = [&](const std::optional<WallTime>& end) { return end && *end <= wall; };
        bool lapsed = over(presence.declared.expires_at) ||
                      (presence.declared.custom && over(presence.declared.custom->expires_at));
        for (const Session& session : user->record->sessions) {
            lapsed = lapsed || over(session.declared_until) ||
                     (session.custom && over(session.custom->expires_at));
        }
        if (lapsed) {
            settle_expiry(slot);
        } else if (rules::next_change(presence.declared, user->record->sessions, wall)) {
            file_user(slot);
        }
    }
    user = users_.get(slot);
    if (user != nullptr && user->deferred) {
        apply_deferred(slot);
    }
    close_if_idle(slot);
}

Detached PresenceService::settle_expiry(SlotId slot) {
    const UserId id = users_.at(slot).id;
    Entered entered = co_await enter(id);
    Change edit = [now = parts_.clock.wall_now()](Draft& draft) {
        for (Session& session : draft.sessions) {
            if (session.declared_until && *session.declared_until <= now) {
                session.declared = DeclaredStatus::automatic;
                session.declared_until.reset();
            }
            session.custom = unless_over(session.custom, now);
        }
    };
    co_await settle(entered.slot(), Cause::status_expiry, std::move(edit));
}

}  // namespace presence
