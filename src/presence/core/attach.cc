// How sessions begin: PresenceService::attach, resume, and what happens at the limit.

#include "presence/base/log.h"
#include "presence/core/barred_devices.h"
#include "presence/core/deadline.h"
#include "presence/core/presence_service.h"
#include "presence/core/records.h"
#include "presence/core/store_errors.h"

#include <algorithm>

namespace presence {

namespace {

/// 90 bits name a session among all there ever were; and a text this short needs no memory of its
/// own. It is no secret: that is the resume token's other half.
constexpr std::size_t kSessionIdLength = 15;
/// Losing a race that often in a row is no race any more.
constexpr int kAttachAttempts = 8;

bool equal_in_constant_time(const ResumeHash& a, const ResumeHash& b) {
    unsigned difference = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        difference |= static_cast<unsigned>(a[i] ^ b[i]);
    }
    return difference == 0;
}

Error too_slow() {
    return {ErrorCode::unavailable, "the store was too slow", 1000, 0};
}

/// A hello may be read long after it was sent, as by a server that slept: its client may have
/// resumed elsewhere since, and what it has there is not taken from it for nobody.
bool has_gone(const AttachRequest& request) {
    return request.is_over && request.is_over();
}

std::uint32_t next_rank(const std::vector<Session>& sessions) {
    std::uint32_t highest = 0;
    for (const Session& session : sessions) {
        highest = std::max(highest, session.active_rank);
    }
    return highest + 1;
}

}  // namespace

Task<Result<Attachment>> PresenceService::attach(AttachRequest request) {
    std::string what = "the store";
    Task<Result<Attachment>> attaching = attach_locked(std::move(request));
    Result<Attachment> attached = co_await within(parts_.scheduler, parts_.limits.attach_timeout,
                                                  std::move(attaching), std::move(what));
    if (!attached && attached.error().code == ErrorCode::unavailable) {
        ++parts_.counters.attach_timeouts;
    }
    co_return attached;
}

Task<Result<bool>> PresenceService::admit(SlotId slot, UserId user,
                                          std::optional<WallTime> token_issued_at) {
    ProfileAnswer answer = co_await parts_.profiles.get(std::move(user));
    if (!answer.known) {
        co_return database_away();
    }
    if (is_revoked(answer.profile, token_issued_at)) {
        co_return Error{ErrorCode::unauthorized, "the token was revoked", 0, 0};
    }
    // Others may hold sessions of the user that are not known here.
    users_.at(slot).loaded = users_.at(slot).loaded && parts_.nodes.alone();
    Result<bool> ready = co_await ensure_record(slot);
    co_return ready;
}

Task<Result<Attachment>> PresenceService::attach_locked(AttachRequest request) {
    if (parts_.journal != nullptr && parts_.journal->full()) {
        co_return Error{ErrorCode::unavailable, "the journal of sessions is full", 2000, 0};
    }
    const MonoTime asked_at = parts_.clock.now();
    Entered entered = co_await enter(request.user);
    const auto too_late = [&] {
        return parts_.clock.now() - asked_at >= parts_.limits.attach_timeout;
    };
    if (too_late()) {
        // Others before it took that long: nobody waits for this one any more.
        co_return too_slow();
    }
    const SlotId slot = entered.slot();
    UserId user = request.user;
    Result<bool> admitted = co_await admit(slot, std::move(user), request.token_issued_at);
    if (!admitted) {
        co_return admitted.error();
    }
    if (too_late()) {
        co_return too_slow();
    }

    for (int attempt = 0; attempt < kAttachAttempts; ++attempt) {
        if (has_gone(request)) {
            co_return Error{ErrorCode::not_found, "the connection is over", 0, 0};
        }
        Result<Attachment> attached = co_await take_place(slot, request, asked_at);
        if (attached || attached.error().code != ErrorCode::conflict) {
            co_return attached;
        }
        Result<bool> ready = co_await ensure_record(slot);
        if (!ready) {
            co_return ready.error();
        }
    }
    co_return Error{ErrorCode::unavailable, "the user is being changed from elsewhere", 1000, 0};
}

Task<Result<Attachment>> PresenceService::take_place(SlotId slot, const AttachRequest& request,
                                                     MonoTime asked_at) {
    const UserRecordRef seen = users_.at(slot).record;
    if (request.beating && is_barred(seen->barred, *request.beating, parts_.clock.wall_now())) {
        ++parts_.counters.http_beats_refused;
        co_return Error{ErrorCode::forbidden, "this device was signed out by the service", 0, 0};
    }
    const auto found = std::ranges::find_if(seen->sessions, [&](const Session& session) {
        if (request.beating) {
            return session.id == *request.beating;
        }
        return request.resume_id && session.id == *request.resume_id && !session.beats_until &&
               equal_in_constant_time(session.resume_hash, request.resume_hash);
    });
    const bool resumed = found != seen->sessions.end();
    const Session session = begin_session(request, resumed ? &*found : nullptr, seen->sessions);
    // One that goes on, but only observes from now on, was there until now.
    const WallTime there_until = session.counts ? WallTime{} : parts_.clock.wall_now();
    Result<Displaced> place =
        resumed ? Result<Displaced>(Displaced{*found, there_until}) : make_room(users_.at(slot));
    if (!place) {
        ++parts_.counters.sessions_refused;
        co_return place.error();
    }
    const std::optional<Session> held = place->session;
    Change edit = [=, &request, held_sign = place->last_sign, commit = seen->commit](Draft& draft) {
        draft.refused = draft.commit != commit || has_gone(request);
        if (held) {
            std::erase_if(draft.sessions, [&](const Session& one) { return one.id == held->id; });
            draft.last_sign = std::max(draft.last_sign, held->counts ? held_sign : WallTime{});
        }
        draft.sessions.push_back(session);
    };
    Result<bool> settled =
        co_await settle(slot, resumed ? Cause::resume : Cause::connect, std::move(edit));
    if (!settled) {
        co_return settled.error();
    }
    if (parts_.clock.now() - asked_at >= parts_.limits.attach_timeout) {
        // The caller was told that it failed: what was just made must not outlive that answer, and
        // what it took the place of is as it was.
        Change undo = [id = session.id, epoch = session.epoch, held](Draft& draft) {
            const auto is_ours = [&](const Session& one) {
                return one.id == id && one.epoch == epoch;
            };
            // Unless it has gone on elsewhere meanwhile.
            const bool stands = std::erase_if(draft.sessions, is_ours) > 0;
            if (held && stands) {
                draft.sessions.push_back(*held);
            }
        };
        co_await settle(slot, Cause::goodbye, std::move(undo));
        co_return too_slow();
    }
    parts_.counters.sessions_displaced += !resumed && held ? 1U : 0U;
    const SlotId local = open_local(slot, session, request);
    if (request.beating) {
        succeed(slot, session.id, local, request.active);  // Also one that the others had ended.
    }
    if (held) {
        succeed(slot, held->id, local, request.active);
        tell_holders(slot, {*held}, resumed ? EndReason::replaced : EndReason::displaced);
    }
    co_return Attachment{local, session.id, resumed};
}

Session PresenceService::begin_session(const AttachRequest& request, const Session* held,
                                       const std::vector<Session>& all) const {
    const WallTime now = parts_.clock.wall_now();
    Session session;
    if (held != nullptr) {
        session = *held;
    } else {
        session.id = request.beating.value_or(SessionId(parts_.random.token(kSessionIdLength)));
        session.resume_hash = request.new_resume_hash;
        session.connected_at = now;
    }
    session.counts = request.observe ? !*request.observe : session.counts;
    session.epoch = next_epoch(session.epoch, now);
    session.node = parts_.nodes.self;
    session.grace_until.reset();
    if (request.beating) {
        session.beats_until = now + parts_.config.heartbeat.ttl;
    }
    if (request.device) {
        session.device = *request.device;
    }
    if (request.active) {
        session.idle = !*request.active;
        session.counts = session.counts || *request.active;
        if (*request.active) {
            session.active_rank = next_rank(all);
        }
    }
    return session;
}

void PresenceService::succeed(SlotId user, const SessionId& held, SlotId heir,
                              std::optional<bool> active) {
    for (const SlotId other : SessionSlots(users_.at(user).sessions)) {
        LocalSession& old = sessions_.at(other);
        if (other == heir || !(old.id == held)) {
            continue;
        }
        LocalSession& local = sessions_.at(heir);
        const bool replaced = local.id == held;
        if (old.connection && owner_ != nullptr) {
            owner_->end_connection(old.connection,
                                   replaced ? EndReason::replaced : EndReason::displaced);
        }
        parts_.counters.grace_returns += replaced && old.in_grace() ? 1U : 0U;
        if (replaced && old.reported_activity && !active.value_or(false)) {
            local.last_activity = old.last_activity;
        }
        if (replaced && !active) {
            local.said_idle = old.said_idle;
            local.idle_at = old.idle_at;
        }
        if (replaced) {
            local.deferred = std::move(old.deferred);
        }
        file(heir);
        if (replaced) {
            forget_local(other);
        } else {
            bury(other);
        }
    }
}

Result<PresenceService::Displaced> PresenceService::make_room(User& user) {
    if (user.record->sessions.size() < parts_.limits.sessions_per_user) {
        return Displaced{};
    }
    const std::vector<Session>& sessions = user.record->sessions;
    const Session* oldest_in_grace = nullptr;
    for (const Session& session : sessions) {
        if (session.grace_until &&
            (oldest_in_grace == nullptr || session.grace_until < oldest_in_grace->grace_until)) {
            oldest_in_grace = &session;
        }
    }
    if (oldest_in_grace != nullptr) {
        return Displaced{*oldest_in_grace, oldest_in_grace->closed_at};
    }
    // How fresh those of other nodes are is not known here, so they stay (RULINGS 18).
    std::optional<SlotId> longest_silent;
    for (const SlotId id : user.sessions) {
        const LocalSession& local = sessions_.at(id);
        if (!local.ending && !local.in_grace() &&
            (!longest_silent ||
             local.last_heartbeat < sessions_.at(*longest_silent).last_heartbeat)) {
            longest_silent = id;
        }
    }
    const Millis overdue = parts_.config.heartbeat.interval * 3 / 2;
    if (longest_silent && stalls_.silence(sessions_.at(*longest_silent).last_heartbeat,
                                          parts_.clock.now()) > overdue) {
        const LocalSession& local = sessions_.at(*longest_silent);
        const auto found = std::ranges::find(sessions, local.id, &Session::id);
        if (found != sessions.end()) {
            return Displaced{*found, last_sign_of(local)};
        }
    }
    return Error{ErrorCode::limit_exceeded,
                 fmt::format("the user has {} live sessions, most is {}",
                             user.record->sessions.size(), parts_.limits.sessions_per_user),
                 0, static_cast<std::int64_t>(parts_.limits.sessions_per_user)};
}

SlotId PresenceService::open_local(SlotId user, const Session& session,
                                   const AttachRequest& request) {
    const MonoTime now = parts_.clock.now();
    const SlotId id = sessions_.create();
    LocalSession& local = sessions_.at(id);
    local.user = user;
    local.connection = request.connection;
    local.by_http = request.beating.has_value();
    local.token_issued_at = request.token_issued_at.value_or(WallTime{});
    local.id = session.id;
    local.epoch = session.epoch;
    local.last_heartbeat = now;
    local.last_activity = now;
    local.reported_activity = session.active_rank > 0;
    local.idle = session.idle;
    local.said_idle = session.idle;  // Only activity from now on ends it.
    local.idle_at = now;
    users_.at(user).sessions.push_back(id);
    file(id);
    if (parts_.beats != nullptr) {
        show_beat(local);
    }
    return id;
}

/// A session in grace has all of it from now on, as its client could not return before. One that
/// lives by HTTP keeps what was left of its ttl.
Millis PresenceService::left_after_restart(const Session& session, WallTime last_alive) const {
    const HeartbeatConfig& heartbeat = parts_.config.heartbeat;
    if (!session.beats_until) {
        return heartbeat.grace;
    }
    return std::clamp(*session.beats_until - last_alive, std::min(heartbeat.grace, heartbeat.ttl),
                      heartbeat.ttl);
}

Task<bool> PresenceService::restore(UserId id, std::vector<Session> sessions, WallTime last_alive) {
    Entered entered = co_await enter(id);
    const SlotId slot = entered.slot();
    const WallTime now = parts_.clock.wall_now();
    for (Session& session : sessions) {
        const Millis left = left_after_restart(session, last_alive);
        if (!session.grace_until) {
            const WallTime sign = session.beats_until
                                      ? *session.beats_until - parts_.config.heartbeat.ttl
                                      : last_alive;
            session.closed_at = std::min({sign, last_alive, now});
        }
        session.grace_until = now + left;
    }
    Change edit = [sessions](Draft& draft) {
        for (const Session& session : sessions) {
            if (draft.find(session.id) == nullptr) {
                draft.sessions.push_back(session);
            }
        }
        draft.doubtful = true;
    };
    Result<bool> settled = co_await settle(slot, Cause::restart, std::move(edit));
    if (!settled) {
        co_return false;
    }
    for (const Session& session : sessions) {
        const SlotId local_id = sessions_.create();
        LocalSession& local = sessions_.at(local_id);
        local.user = slot;
        local.id = session.id;
        local.epoch = session.epoch;
        local.token_issued_at = session.connected_at;  // It cannot be later than that.
        local.by_http = session.beats_until.has_value();
        const Millis left = *session.grace_until - now;
        local.last_heartbeat =
            parts_.clock.now() - (local.by_http ? parts_.config.heartbeat.ttl - left : Millis{0});
        local.last_activity = parts_.clock.now();
        local.reported_activity = session.active_rank > 0;
        local.idle = session.idle;
        local.said_idle = session.idle;
        local.idle_at = parts_.clock.now();
        local.pinged_or_lost_at = parts_.clock.now();
        users_.at(slot).sessions.push_back(local_id);
        file(local_id);
    }
    co_return true;
}

}  // namespace presence
