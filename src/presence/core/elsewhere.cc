// Sessions that other nodes hold: what this one ends of them, what they end of this one's, and what
// a dead one left.

#include "presence/core/presence_service.h"
#include "presence/core/records.h"
#include "presence/core/store_errors.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

namespace presence {

Task<Result<bool>> PresenceService::settle_death(std::vector<UserId> users, NodeId node,
                                                 WallTime died_at) {
    auto stays = std::make_shared<bool>(false);
    Change edit = [this, node, died_at, stays](Draft& draft) {
        std::erase_if(draft.sessions, [&](Session& session) {
            if (session.node != node) {
                return false;
            }
            session = left_by(std::move(session), died_at, parts_.config.heartbeat);
            if (*session.grace_until > draft.now) {
                *stays = true;
                return false;
            }
            if (session.counts) {
                draft.last_sign = std::max(draft.last_sign, session.closed_at);
            }
            return true;
        });
    };
    std::vector<UserId> settling = users;
    Result<bool> settled =
        co_await settle_many(std::move(settling), Cause::node_death, std::move(edit));
    if (!settled) {
        co_return settled.error();
    }
    const bool kept_here = std::ranges::any_of(users, [this](const UserId& id) {
        const SlotId slot = users_.find(id);
        return slot && users_.at(slot).ahead;
    });
    co_return !*stays && !kept_here;
}

bool PresenceService::comes_back(const std::vector<Session>& before,
                                 const std::vector<Session>& after) const {
    const WallTime now = parts_.clock.wall_now();
    const auto stands = [&](const Session& session) {
        const std::optional<WallTime> died_at = parts_.nodes.seems_dead_since(session.node);
        return session.counts && !is_left_over(session, died_at, parts_.config, now);
    };
    return std::ranges::any_of(before, &Session::counts) && std::ranges::none_of(before, stands) &&
           std::ranges::any_of(after, stands);
}

void PresenceService::session_taken(const SessionTaken& taken) {
    if (taken.reason == EndReason::erased) {
        forget_events(taken.user);
    }
    const SlotId slot = users_.find(taken.user);
    if (!slot) {
        return;
    }
    const SessionSlots locals = users_.at(slot).sessions;
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
    Change edit = [ended, only, sign_of, cause, until = barred_until()](Draft& draft) {
        ended->clear();
        if (only && cause == Cause::goodbye) {
            draft.allow(*only);  // It has understood, should it have been thrown out.
        }
        std::erase_if(draft.sessions, [&](const Session& session) {
            if (session.node == draft.self || (only && !(session.id == *only))) {
                return false;
            }
            if (session.counts) {
                draft.last_sign = std::max(draft.last_sign, sign_of(session));
            }
            if (cause == Cause::kicked) {
                draft.bar(session, until);
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

Detached PresenceService::read_end_of(UserId user) {
    const SlotId known = users_.find(user);
    if (!known || users_.at(known).sessions.empty() || is_apart()) {
        co_return;
    }
    Entered entered = co_await enter(std::move(user));
    users_.at(entered.slot()).loaded = false;
    // Where it cannot be read, the next check of records finds out.
    Result<bool> read = co_await ensure_record(entered.slot());
    static_cast<void>(read);
}

void PresenceService::tell_of_end(const User& user, const UserRecord& before) {
    const auto next_end = [now = parts_.clock.wall_now()](const UserRecord& record) {
        return rules::next_change(record.presence.declared, record.sessions, now);
    };
    const std::optional<WallTime> end = next_end(*user.record);
    if (!end || end == next_end(before)) {
        return;
    }
    std::set<NodeId> holders;
    for (const Session& session : user.record->sessions) {
        if (session.node && session.node != parts_.nodes.self) {
            holders.insert(session.node);
        }
    }
    for (const NodeId holder : holders) {
        parts_.bus.publish_end_set({holder, user.id});
    }
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
