// The one door: what a change makes of a user's record, and the commit of it (DESIGN rule 15).

#include "presence/base/log.h"
#include "presence/core/deadline.h"
#include "presence/core/presence_service.h"
#include "presence/core/records.h"
#include "presence/core/store_errors.h"
#include "presence/core/transition_memory.h"
#include "presence/model/canary.h"
#include "presence/rules/version.h"

#include <algorithm>

namespace presence {

namespace {

/// Losing a race that often in a row is no race any more.
constexpr int kSettleAttempts = 16;
/// After losing one, up to that long, twice as long each time, so that two nodes that want the same
/// user at once do not keep step.
constexpr Millis kFirstPause{2};
constexpr int kMostDoublings = 6;

/// Whether `stands` is what was `meant` to be committed, though its answer was lost.
bool is_the_same(const UserRecord& stands, const UserRecord& meant) {
    return stands.commit == meant.commit &&
           stands.presence.own_version == meant.presence.own_version &&
           stands.presence.shown_version == meant.presence.shown_version &&
           std::ranges::equal(stands.sessions, meant.sessions,
                              [](const Session& a, const Session& b) {
                                  return a.id == b.id && a.epoch == b.epoch;
                              });
}

/// A look that finds an end which is not settled yet shows it under the next version.
Version above_what_looks_show(Version version, std::uint64_t floor) {
    return rules::next_version(rules::next_version(version, 0), floor);
}

Error changed_meanwhile() {
    return {ErrorCode::conflict, "the user is being changed from elsewhere", 1000, 0};
}

}  // namespace

Ref<UserRecord> PresenceService::draw_up(const User& user, Draft draft, WallTime now,
                                         rules::Transition& transition) const {
    const UserRecord& before = *user.record;
    if (draft.declared.expires_at && *draft.declared.expires_at <= now) {
        draft.declared.status = DeclaredStatus::automatic;
        draft.declared.expires_at.reset();
    }
    draft.declared.custom = unless_over(draft.declared.custom, now);
    rules::Merged merged =
        rules::merge(draft.declared, draft.sessions, parts_.config.presence.merge, now);
    const bool guess = is_guess(user, draft.sessions);
    if (guess) {
        merged.own = before.presence.own;  // Who was shown is in doubt, and not gone.
        merged.shown = before.presence.shown;
    }
    const rules::VersionFloors floors = floors_after(user, before);
    transition =
        rules::advance(before.presence, merged, draft.declared, {now, floors, draft.last_sign});
    Presence& after = transition.after;
    const bool restored = draft.doubtful && !draft.sessions.empty() &&
                          std::ranges::none_of(draft.sessions, [](const Session& session) {
                              return session.counts && !session.grace_until;
                          });
    after.doubtful = guess || restored;
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
        after.shown_version = rules::next_version(after.shown_version, floors.shown);
        transition.shown_changed = true;
    }
    if (!transition.own_changed && differs(before.presence.own, after.own)) {
        after.own_version = rules::next_version(after.own_version, floors.own);
        transition.own_changed = true;
    }
    if (comes_back(before.sessions, draft.sessions)) {
        // No look has shown the end of one who was not shown to be there: so nothing tells of the
        // return of one who is invisible.
        if (before.presence.shown.status != Status::offline) {
            after.shown_version =
                above_what_looks_show(before.presence.shown_version, floors.shown);
            transition.shown_changed = true;
        }
        after.own_version = above_what_looks_show(before.presence.own_version, floors.own);
        transition.own_changed = true;
    }
    if (!user.ahead && draft.sessions == before.sessions && draft.barred == before.barred &&
        after.declared == before.presence.declared && !transition.shown_changed &&
        !transition.own_changed) {
        return nullptr;
    }
    auto record = make_ref<UserRecord>();
    record->presence = after;
    record->last_sign = after.own.status == Status::offline ? WallTime{} : draft.last_sign;
    record->sessions = std::move(draft.sessions);
    record->commit = next_commit(before.commit, now);
    record->rules_revision = std::max(before.rules_revision, parts_.profiles.revision_of(user.id));
    record->untold_until = before.untold_until;
    record->barred = std::move(draft.barred);
    return record;
}

std::optional<PresenceService::Prepared> PresenceService::prepare(SlotId slot, Change& change,
                                                                  bool& refused) {
    User& user = users_.at(slot);
    const UserRecordRef before = user.record;
    Draft draft{before->sessions,
                before->presence.declared,
                before->last_sign,
                parts_.nodes.self,
                before->commit,
                before->barred,
                parts_.clock.wall_now(),
                before->presence.doubtful,
                false,
                false};
    const DeclaredState* const saved = parts_.profiles.declared_of(user.id);
    if (saved != nullptr && saved->revision > draft.declared.revision) {
        // While the store was away another node may have let its user become invisible, say, and
        // not have stated it yet.
        draft.declared = *saved;
    }
    change(draft);
    refused = draft.refused;
    if (refused) {
        return std::nullopt;
    }
    Prepared next;
    next.before = before;
    next.record = draw_up(user, std::move(draft), parts_.clock.wall_now(), next.transition);
    if (!next.record) {
        return std::nullopt;
    }
    const Presence& after = next.record->presence;
    const bool left =
        before->presence.own.status != Status::offline && after.own.status == Status::offline;
    if ((next.transition.ended || left) && !is_canary(user.id)) {
        next.ended = LastSeenRow{user.id, after.last_seen, after.own_version, after.shown_version,
                                 parts_.clock.wall_now()};
    }
    if (is_guess(user, next.record->sessions) && after.own.status == Status::offline) {
        return next;  // Of whom nobody here knows anything, there is nothing to tell.
    }
    next.plan = plan_announcement(user, next.record, next.transition);
    const bool tells_anyway = user.untold || comes_back(before->sessions, next.record->sessions);
    if (tells_anyway && !next.plan.event) {
        next.plan.event = std::make_shared<const PresenceEvent>(
            PresenceEvent{user.id, next.record->presence, next.record->rules_revision,
                          user.untold || next.transition.shown_changed,
                          user.untold || next.transition.own_changed});
        next.plan.shown_before = next.record->presence.shown;  // Receivers of webhooks know it.
    }
    tell_what_others_hold_back(user, next);
    return next;
}

Commit PresenceService::commit_of(const UserId& user, const Prepared& next) {
    return {user, next.before->commit, next.record, kKeepRecord, next.plan.event, next.ended};
}

void PresenceService::finish(SlotId slot, Cause cause, Prepared& next) {
    User& user = users_.at(slot);
    user.record = next.record;
    parts_.profiles.note_record(user.id);
    if (next.plan.told_both) {
        user.tell_both(*next.plan.told_both);
        ++parts_.counters.announced;
    } else if (next.plan.window) {
        user.flap = std::move(next.plan.window);
        ++(next.plan.event ? parts_.counters.announced : parts_.counters.held_back);
    }
    if (next.plan.event) {
        tell_webhooks(*next.plan.event, next.plan.shown_before);
    }
    after_commit(user, cause, next);
    file_user(slot);
}

void PresenceService::count_settle(SlotId slot, Cause cause) {
    if (!is_canary(users_.at(slot).id)) {
        ++parts_.counters.settles[static_cast<std::size_t>(cause)];
    }
}

Task<Result<bool>> PresenceService::settle(SlotId slot, Cause cause, Change change) {
    const Timed timed(parts_.counters.settle_times);
    count_settle(slot, cause);
    for (int attempt = 0; attempt < kSettleAttempts; ++attempt) {
        Result<bool> ready = co_await ensure_record(slot);
        if (!ready) {
            co_return ready.error();
        }
        bool refused = false;
        std::optional<Prepared> next = prepare(slot, change, refused);
        if (refused) {
            co_return changed_meanwhile();
        }
        if (!next) {
            co_return false;
        }
        if (!parts_.nodes.vouches(parts_.clock.now()) ||
            is_guess(users_.at(slot), next->record->sessions)) {
            keep_here(slot, cause, *next);
            co_return true;
        }
        Commit commit = commit_of(users_.at(slot).id, *next);
        Result<CommitOutcome> outcome = co_await parts_.sessions.commit(std::move(commit));
        const bool stands = outcome && *outcome == CommitOutcome::committed;
        parts_.counters.store_failures += outcome ? 0U : 1U;
        if (!outcome && parts_.nodes.alone()) {
            co_return outcome.error();
        }
        if (stands) {
            note_stored(users_.at(slot));
            finish(slot, cause, *next);
            tell_of_end(users_.at(slot), *next->before);
            co_return true;
        }
        if (!outcome || *outcome == CommitOutcome::fenced) {
            keep_here(slot, cause, *next);
            co_return true;
        }
        ++parts_.counters.conflicts;
        users_.at(slot).loaded = false;
        if (attempt > 0) {
            const auto most = static_cast<std::uint64_t>(kFirstPause.count())
                              << std::min(attempt, kMostDoublings);
            const Millis pause{static_cast<std::int64_t>(parts_.random.below(most))};
            co_await pause_for(parts_.scheduler, pause);
        }
    }
    co_return changed_meanwhile();
}

Task<Result<bool>> PresenceService::settle_many(std::vector<UserId> users, Cause cause,
                                                Change change) {
    std::ranges::sort(users);  // All who lock many do it in one order, and nobody twice.
    users.erase(std::ranges::unique(users).begin(), users.end());
    std::vector<Entered> entered;
    entered.reserve(users.size());
    for (const UserId& user : users) {
        Entered one = co_await enter(user);
        users_.at(one.slot()).loaded = false;
        entered.push_back(std::move(one));
    }
    std::vector<SlotId> slots;
    for (const Entered& one : entered) {
        slots.push_back(one.slot());
    }
    Result<bool> ready = co_await reload(std::move(slots));
    if (!ready) {
        co_return ready.error();
    }
    slots.clear();
    std::vector<Prepared> all;
    std::vector<Commit> commits;
    const Result<bool> readable = *ready ? Result<bool>(true) : database_away();
    for (Entered& one : entered) {
        if (!one.user().loaded) {
            continue;
        }
        count_settle(one.slot(), cause);
        bool refused = false;
        std::optional<Prepared> next = prepare(one.slot(), change, refused);
        if (next && !is_guess(one.user(), next->record->sessions)) {
            commits.push_back(commit_of(one.user().id, *next));
            slots.push_back(one.slot());
            all.push_back(std::move(*next));
        }
    }
    Result<bool> done = co_await commit_all(slots, cause, all, std::move(commits), change);
    co_return done ? readable : done;
}

Task<Result<bool>> PresenceService::commit_all(const std::vector<SlotId>& slots, Cause cause,
                                               std::vector<Prepared>& all,
                                               std::vector<Commit> commits, Change& change) {
    std::vector<CommitOutcome> outcomes(slots.size(), CommitOutcome::unknown);
    Result<std::vector<CommitOutcome>> answer =
        co_await parts_.sessions.commit_many(std::move(commits));
    if (answer) {
        outcomes = std::move(*answer);
    }
    std::vector<std::size_t> unknown;
    std::vector<std::size_t> again;
    for (std::size_t i = 0; i < slots.size(); ++i) {
        if (outcomes[i] == CommitOutcome::committed) {
            note_stored(users_.at(slots[i]));
            finish(slots[i], cause, all[i]);
            continue;
        }
        users_.at(slots[i]).loaded = false;
        (outcomes[i] == CommitOutcome::unknown ? unknown : again).push_back(i);
    }
    if (!unknown.empty()) {
        ++parts_.counters.store_failures;
        Result<std::vector<std::size_t>> left =
            co_await find_out(slots, cause, all, std::move(unknown));
        if (!left) {
            co_return left.error();
        }
        again.insert(again.end(), left->begin(), left->end());
    }
    Result<bool> all_done = true;
    for (const std::size_t i : again) {
        Change own = [&change](Draft& draft) { change(draft); };
        Result<bool> settled = co_await settle(slots[i], cause, std::move(own));
        if (!settled) {
            all_done = settled.error();
        }
    }
    co_return all_done;
}

Task<Result<std::vector<std::size_t>>> PresenceService::find_out(const std::vector<SlotId>& users,
                                                                 Cause cause,
                                                                 std::vector<Prepared>& all,
                                                                 std::vector<std::size_t> places) {
    std::vector<SlotId> asked;
    for (const std::size_t i : places) {
        asked.push_back(users[i]);
    }
    Result<bool> read = co_await reload(std::move(asked));
    if (!read) {
        co_return read.error();
    }
    std::erase_if(places, [&](std::size_t i) {
        User& user = users_.at(users[i]);
        // What is ahead is stated again: that does no harm, and tells the others for certain.
        const bool done = user.loaded && !user.ahead && is_the_same(*user.record, *all[i].record);
        if (done) {
            finish(users[i], cause, all[i]);
        }
        return done;
    });
    co_return places;
}

void PresenceService::after_commit(User& user, Cause cause, Prepared& next) {
    if (is_canary(user.id)) {
        return;
    }
    if (next.transition.shown_changed) {
        ++parts_.counters.transitions[static_cast<std::size_t>(cause)];
    }
    if (parts_.past != nullptr && (next.transition.shown_changed || next.transition.own_changed)) {
        parts_.past->note(user.id, cause, parts_.nodes.self, *next.before, *user.record);
    }
    const Presence& presence = user.record->presence;
    if (parts_.beats != nullptr) {
        show_change(user, next.before->presence.shown);
    }
    std::vector<JournalEntry> ended = journal_difference(user, next.before);
    if (next.ended) {
        // A session stands in the journal until the database has the end of it: a crash between
        // the two would lose when its person was last seen.
        parts_.last_seen.note(std::move(*next.ended), std::move(ended));
    } else {
        for (JournalEntry& entry : ended) {
            parts_.journal->note(std::move(entry));
        }
    }
    if (log::enabled(log::Level::debug)) {
        const SessionId session = session_concerned(*next.before, *user.record);
        log::debug({.session = session.text}, "settled", "user={} cause={} status={} version={}",
                   log::quoted(user.id.text), name(cause), wire_name(presence.own.status),
                   presence.own_version.value);
    }
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

}  // namespace presence
