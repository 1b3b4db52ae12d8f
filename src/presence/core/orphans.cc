// Sessions here that others took over, ended or settled: found out late, and taken up again at
// their first sign of life where they live nowhere else (DESIGN rule 32, RULINGS 32).

#include "presence/core/barred_devices.h"
#include "presence/core/presence_service.h"
#include "presence/core/records.h"

#include <algorithm>
#include <memory>
#include <vector>

namespace presence {

void PresenceService::reconcile(SlotId slot, const UserRecordRef& before) {
    const SessionSlots locals = users_.at(slot).sessions;
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
    co_await read_declaration(id);
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
        *elsewhere = (found != draft.sessions.end() && found->epoch > session.epoch) ||
                     is_barred(draft.barred, session.id, draft.now);
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
        // It has shown life, and need not do so again.
        orphans_.push_back({local_id, session, local->last_heartbeat - Millis{1}});
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
    std::vector<SlotId> without_sessions;
    users_.for_each([&](SlotId slot, User& user) {
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
        // What was thought while nobody listened is void: the others have settled it. But it was
        // told here.
        if (user.ahead && user.record) {
            const Presence& told = user.record->presence;
            parts_.scheduler.after(
                kSettleRetry,
                [this, id = user.id, told = ToldVersions{told.own_version, told.shown_version}] {
                    settle_above(id, told);
                });
        }
        if (user.untold) {  // Only here was it told.
            user.both_told = false;
            if (user.flap) {
                user.flap->shown.known = user.flap->own.known = false;
            }
        }
        user.loaded = user.ahead = user.untold = false;
        if (user.sessions.empty()) {
            without_sessions.push_back(slot);
        }
    });
    // Who was held for what the store did not know is held for nothing now.
    for (const SlotId slot : without_sessions) {
        close_if_idle(slot);
    }
}

}  // namespace presence
