#include "presence/core/presence_service.h"

#include "presence/base/log.h"
#include "presence/core/records.h"
#include "presence/rules/transition.h"
#include "presence/rules/version.h"

#include <algorithm>

namespace presence {

namespace {

/// How long the store keeps a record without sessions: over two hours, after which the floor of
/// versions lies above all that was ever told of it (RULINGS 3).
constexpr Millis kKeepRecord{7'500'000};
/// Losing a race that often in a row is no race any more.
constexpr int kSettleAttempts = 8;

}  // namespace

PresenceService::PresenceService(const ServiceParts& parts)
    : parts_(parts),
      wheel_(kTick, parts.clock.now()),
      stalls_(parts.clock.now()),
      wall_offset_(parts.clock.wall_now().since_epoch - parts.clock.now().since_start) {}

Session* PresenceService::Draft::find(const SessionId& id) {
    const auto found = std::ranges::find(sessions, id, &Session::id);
    return found == sessions.end() ? nullptr : &*found;
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
        user->deferred || user->lock.held()) {
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

Task<Result<bool>> PresenceService::ensure_record(SlotId slot) {
    if (users_.at(slot).loaded) {
        co_return true;
    }
    UserId id = users_.at(slot).id;
    Result<UserRecordRef> record = co_await record_of(std::move(id));
    if (!record) {
        co_return record.error();
    }
    User& user = users_.at(slot);
    user.record = std::move(*record);
    user.loaded = true;
    co_return true;
}

std::uint64_t PresenceService::floor_now() const {
    return std::max(version_floor_, rules::version_floor(parts_.clock.wall_now()));
}

std::shared_ptr<UserRecord> PresenceService::draw_up(const User& user, Draft draft, WallTime now,
                                                     rules::Transition& transition) const {
    const UserRecord& before = *user.record;
    if (draft.declared.expires_at && *draft.declared.expires_at <= now) {
        draft.declared.status = DeclaredStatus::automatic;
        draft.declared.expires_at.reset();
    }
    draft.declared.custom = unless_over(draft.declared.custom, now);
    const rules::Merged merged =
        rules::merge(draft.declared, draft.sessions, parts_.config.presence.merge, now);
    transition = rules::advance(before.presence, merged, draft.declared,
                                {now, floor_now(), draft.last_sign});
    Presence& after = transition.after;
    after.doubtful = draft.doubtful && !draft.sessions.empty() &&
                     std::ranges::none_of(draft.sessions, [](const Session& session) {
                         return session.counts && !session.grace_until;
                     });
    const bool forgets = draft.erased && after.last_seen.has_value();
    if (forgets) {
        after.last_seen.reset();
    }
    // Whoever was shown `unknown`, or what is now erased, must hear, though the faces may be the
    // same as before.
    const auto differs = [&](const Face& old_face, const Face& face) {
        return forgets || before.presence.doubts(old_face) != after.doubts(face);
    };
    if (!transition.shown_changed && differs(before.presence.shown, after.shown)) {
        after.shown_version = rules::next_version(after.shown_version, floor_now());
        transition.shown_changed = true;
    }
    if (!transition.own_changed && differs(before.presence.own, after.own)) {
        after.own_version = rules::next_version(after.own_version, floor_now());
        transition.own_changed = true;
    }
    if (draft.sessions == before.sessions && after.declared == before.presence.declared &&
        !transition.shown_changed && !transition.own_changed) {
        return nullptr;
    }
    auto record = std::make_shared<UserRecord>();
    record->presence = after;
    record->last_sign = after.own.status == Status::offline ? WallTime{} : draft.last_sign;
    record->sessions = std::move(draft.sessions);
    record->commit = before.commit + 1;
    record->rules_revision = before.rules_revision;
    record->untold_until = before.untold_until;
    return record;
}

Task<Result<bool>> PresenceService::settle(SlotId slot, Cause cause, Change change) {
    ++parts_.counters.settles[static_cast<std::size_t>(cause)];
    for (int attempt = 0; attempt < kSettleAttempts; ++attempt) {
        Result<bool> ready = co_await ensure_record(slot);
        if (!ready) {
            co_return ready.error();
        }
        const UserRecordRef before = users_.at(slot).record;
        Draft draft{before->sessions, before->presence.declared, before->last_sign,
                    before->presence.doubtful, false};
        change(draft);
        rules::Transition transition;
        std::shared_ptr<UserRecord> record =
            draw_up(users_.at(slot), std::move(draft), parts_.clock.wall_now(), transition);
        if (!record) {
            co_return false;
        }
        Announcement plan = plan_announcement(users_.at(slot), *record, transition);
        const UserId id = users_.at(slot).id;
        Result<CommitOutcome> outcome =
            co_await parts_.sessions.commit(id, before->commit, record, kKeepRecord, plan.event);
        if (!outcome) {
            ++parts_.counters.store_failures;
            co_return outcome.error();
        }
        if (*outcome == CommitOutcome::committed) {
            users_.at(slot).record = record;
            if (plan.window) {
                users_.at(slot).flap = std::move(plan.window);
                ++(plan.event ? parts_.counters.announced : parts_.counters.held_back);
            }
            after_commit(users_.at(slot), cause, before, transition);
            file_user(slot);
            co_return true;
        }
        ++parts_.counters.conflicts;
        users_.at(slot).loaded = false;
    }
    co_return Error{ErrorCode::conflict, "the user is being changed from elsewhere", 1000, 0};
}

void PresenceService::after_commit(User& user, Cause cause, const UserRecordRef& before,
                                   const rules::Transition& transition) {
    if (transition.shown_changed) {
        ++parts_.counters.transitions[static_cast<std::size_t>(cause)];
    }
    const Presence& presence = user.record->presence;
    const bool left =
        before->presence.own.status != Status::offline && presence.own.status == Status::offline;
    std::vector<JournalEntry> ended = journal_difference(user, before);
    if (transition.ended || left) {
        // A session stands in the journal until the database has the end of it: a crash between
        // the two would lose when its person was last seen.
        parts_.last_seen.note({user.id, presence.last_seen, presence.own_version,
                               presence.shown_version, parts_.clock.wall_now()},
                              std::move(ended));
    } else {
        for (JournalEntry& entry : ended) {
            parts_.journal->note(std::move(entry));
        }
    }
    log::debug("settled", "user={} cause={} status={} version={}", log::quoted(user.id.text),
               name(cause), wire_name(presence.own.status), presence.own_version.value);
}

std::vector<JournalEntry> PresenceService::journal_difference(const User& user,
                                                              const UserRecordRef& before) {
    std::vector<JournalEntry> ended;
    if (parts_.journal == nullptr) {
        return ended;
    }
    for (const Session& session : user.record->sessions) {
        const auto old = std::ranges::find(before->sessions, session.id, &Session::id);
        if (old == before->sessions.end() || !(*old == session)) {
            parts_.journal->note({user.id, session.id, session});
        }
    }
    for (const Session& session : before->sessions) {
        if (std::ranges::find(user.record->sessions, session.id, &Session::id) ==
            user.record->sessions.end()) {
            ended.push_back({user.id, session.id, std::nullopt});
        }
    }
    return ended;
}

Task<Result<UserRecordRef>> PresenceService::record_of(UserId user) {
    std::vector<UserId> one{user};
    Result<std::vector<UserRecordRef>> loaded = co_await parts_.sessions.load(std::move(one));
    if (!loaded) {
        ++parts_.counters.store_failures;
        co_return loaded.error();
    }
    UserRecordRef record = loaded->front();
    if (!record) {
        ProfileAnswer answer = co_await parts_.profiles.get(user);
        if (!answer.known) {
            co_return Error{ErrorCode::unavailable, "the database does not answer", 1000, 0};
        }
        record = record_from(answer.profile);
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

Task<Result<std::vector<SessionFacts>>> PresenceService::sessions_of(UserId id) {
    Result<UserRecordRef> record = co_await record_of(id);
    if (!record) {
        co_return record.error();
    }
    std::vector<SessionFacts> facts;
    const SlotId slot = users_.find(id);
    for (const Session& session : (*record)->sessions) {
        SessionFacts fact{session, std::nullopt, std::nullopt};
        const User* user = slot ? users_.get(slot) : nullptr;
        for (const SlotId local_id : user != nullptr ? user->sessions : std::vector<SlotId>{}) {
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

}  // namespace presence
