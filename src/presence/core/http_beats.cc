// Sessions that live by heartbeats over HTTP: no connection, and so no grace. A device names its
// session; any other end than its sign-out is found by silence, like that of a dead connection.

#include "presence/core/presence_service.h"
#include "presence/core/store_errors.h"

#include <algorithm>

namespace presence {

SlotId PresenceService::find_beating(const UserId& id, const SessionId& session) {
    const SlotId slot = users_.find(id);
    if (!slot) {
        return {};
    }
    const User& user = users_.at(slot);
    for (const SlotId local_id : user.sessions) {
        const LocalSession& local = sessions_.at(local_id);
        if (local.by_http && !local.ending && local.id == session && user.record) {
            const auto found = std::ranges::find(user.record->sessions, session, &Session::id);
            // One of the life before this one must be taken over, which ends the doubt about it.
            const bool stands = found != user.record->sessions.end() && !found->grace_until;
            return stands ? local_id : SlotId{};
        }
    }
    return {};
}

AttachRequest PresenceService::to_attach(BeatRequest request) const {
    AttachRequest attach;
    attach.user = std::move(request.user);
    attach.token_issued_at = request.token_issued_at;
    attach.device = std::move(request.device);
    attach.active = request.active;
    attach.beating = std::move(request.session);
    return attach;
}

Task<Result<Attachment>> PresenceService::beat(BeatRequest request) {
    ++parts_.counters.http_beats;
    if (const SlotId local_id = find_beating(request.user, request.session)) {
        LocalSession& local = sessions_.at(local_id);
        heartbeat(local_id, parts_.clock.now());
        local.token_issued_at = request.token_issued_at.value_or(WallTime{});
        BeatRequest said = request;
        Result<bool> taken = co_await take_beat(local_id, std::move(said));
        if (!taken) {
            co_return taken.error();
        }
        if (sessions_.find(local_id) != nullptr) {
            co_return Attachment{local_id, request.session, true};
        }
    }
    Task<Result<Attachment>> attaching = attach(to_attach(std::move(request)));
    Result<Attachment> attached = co_await attaching;
    co_return attached;
}

/// What a heartbeat says beyond that the device lives, and at most so often even that.
Task<Result<bool>> PresenceService::take_beat(SlotId local_id, BeatRequest request) {
    if (request.active) {
        const std::optional<Millis> ago = *request.active ? std::optional(Millis{0}) : std::nullopt;
        Result<bool> reported = co_await report_activity(local_id, ago);
        if (!reported) {
            co_return reported.error();
        }
    }
    const WallTime until = parts_.clock.wall_now() + parts_.config.heartbeat.ttl;
    const LocalSession* const local = sessions_.find(local_id);
    if (local == nullptr) {
        co_return false;
    }
    const auto& sessions = users_.at(local->user).record->sessions;
    const auto found = std::ranges::find(sessions, request.session, &Session::id);
    if (found == sessions.end()) {
        co_return false;
    }
    const bool renamed = request.device && !(found->device == *request.device);
    const bool lags = !found->beats_until || until - *found->beats_until >= kBeatsNoted;
    if (!renamed && !lags) {
        co_return true;
    }
    UserId user = request.user;
    Entered entered = co_await enter(std::move(user));
    Change edit = [id = request.session, device = request.device, until](Draft& draft) {
        if (Session* mine = draft.find(id)) {
            mine->beats_until = until;
            mine->device = device.value_or(mine->device);
        }
    };
    Result<bool> settled = co_await settle(entered.slot(), Cause::beat, std::move(edit));
    if (!settled && renamed) {
        co_return settled.error();
    }
    co_return true;  // To be alive needs no store: the time is noted with the next heartbeat.
}

Task<Result<bool>> PresenceService::sign_out(UserId user, SessionId session) {
    const SlotId slot = users_.find(user);
    const SessionSlots locals = slot ? users_.at(slot).sessions : SessionSlots{};
    bool was_here = false;
    for (const SlotId local_id : locals) {
        const LocalSession* const local = sessions_.find(local_id);
        if (local == nullptr || !local->by_http || !(local->id == session) || local->ending) {
            continue;
        }
        was_here = co_await end(local_id, Cause::goodbye);
        if (!was_here && sessions_.find(local_id) != nullptr) {
            co_return store_away();
        }
        break;
    }
    Entered entered = co_await enter(user);
    if (parts_.nodes.alone()) {
        // It has understood, should it have been thrown out.
        Change allow = [session](Draft& draft) { draft.allow(session); };
        Result<bool> allowed = co_await settle(entered.slot(), Cause::goodbye, std::move(allow));
        if (!allowed) {
            co_return allowed.error();
        }
        co_return was_here;
    }
    // Its last heartbeat may have reached another node, and word of that not this one.
    Result<bool> elsewhere =
        co_await end_elsewhere(entered.slot(), session, Cause::goodbye, EndReason::displaced);
    if (!elsewhere) {
        co_return elsewhere.error();
    }
    co_return was_here || *elsewhere;
}

}  // namespace presence
