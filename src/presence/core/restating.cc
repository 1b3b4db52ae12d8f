// What this node holds and the store lacks, stated to it again: sessions and ends that it has lost,
// ends that it has not, and versions under which something was told.

#include "presence/base/slice.h"
#include "presence/core/presence_service.h"
#include "presence/core/records.h"
#include "presence/core/store_errors.h"

#include <algorithm>

namespace presence {

namespace {

/// Records restored with one read and one write.
constexpr std::size_t kBatch = 200;

Version above(Version told) {
    return told == Version{} ? told : Version{told.value + 1};
}

}  // namespace

Task<Result<bool>> PresenceService::assert_again(std::vector<UserId> users) {
    Result<bool> all = true;
    for (std::size_t i = 0; i < users.size() && !parts_.nodes.is_cut_off(); i += kBatch) {
        std::vector<UserId> batch = slice(users, i, kBatch);
        if (!parts_.nodes.all_have_stated()) {
            // Ends of presences wait for the word of all, as their users may have come back
            // elsewhere.
            std::erase_if(batch, [this](const UserId& user) {
                const SlotId slot = users_.find(user);
                return !slot || users_.at(slot).sessions.empty();
            });
        }
        if (batch.empty()) {
            continue;
        }
        Change nothing = [](Draft&) {};
        Result<bool> settled =
            co_await settle_many(std::move(batch), Cause::assertion, std::move(nothing));
        if (!settled) {
            all = settled.error();  // What the others have can still be stated.
        }
    }
    if (parts_.nodes.is_cut_off()) {
        co_return store_away();
    }
    co_return all;
}

Task<Result<bool>> PresenceService::assert_ends(std::vector<LastSeenRow> ends) {
    for (std::size_t i = 0; i < ends.size(); i += kBatch) {
        std::vector<LastSeenRow> batch = slice(ends, i, kBatch);
        std::vector<UserId> users;
        for (const LastSeenRow& end : batch) {
            users.push_back(end.user);
        }
        std::vector<UserId> asked = users;
        Result<std::vector<UserRecordRef>> stored = co_await parts_.sessions.load(std::move(asked));
        if (!stored) {
            ++parts_.counters.store_failures;
            co_return stored.error();
        }
        Task<std::vector<ProfileAnswer>> reading = profiles_in_time(std::move(users));
        const std::vector<ProfileAnswer> profiles = co_await reading;
        std::vector<Commit> commits;
        for (std::size_t k = 0; k < batch.size(); ++k) {
            const LastSeenRow& end = batch[k];
            const SlotId slot = users_.find(end.user);
            if ((*stored)[k] || (slot && !users_.at(slot).sessions.empty())) {
                continue;  // Has come back, and is stated as one who is there.
            }
            auto record = make_ref<UserRecord>(*record_from(profiles[k].profile));
            Presence& presence = record->presence;
            raise(presence.own_version, end.own_version);
            raise(presence.shown_version, end.shown_version);
            presence.last_seen = std::max(presence.last_seen, MaybeTime(end.last_seen));
            record->commit = next_commit(0, parts_.clock.wall_now());
            record->rules_revision = parts_.profiles.revision_of(end.user);
            // Nobody is told: it was, and others may not have stated yet that the user is back.
            commits.push_back({end.user, 0, std::move(record), kKeepRecord, nullptr, end});
        }
        Result<std::vector<CommitOutcome>> done =
            co_await parts_.sessions.commit_many(std::move(commits));
        if (!done || std::ranges::count(*done, CommitOutcome::unknown) > 0) {
            ++parts_.counters.store_failures;
            co_return store_away();
        }
    }
    co_return true;
}

Task<Result<bool>> PresenceService::end_unheld(std::vector<UserId> users) {
    const auto is_ours = [self = parts_.nodes.self](const Session& session) {
        return session.node == self;
    };
    for (const UserId& id : users) {
        Entered entered = co_await enter(id);
        const SlotId slot = entered.slot();
        if (!users_.at(slot).sessions.empty()) {
            continue;  // Came meanwhile.
        }
        users_.at(slot).loaded = false;
        Result<bool> ready = co_await ensure_record(slot);
        if (!ready || is_apart()) {
            co_return store_away();
        }
        if (std::ranges::none_of(users_.at(slot).record->sessions, is_ours)) {
            continue;
        }
        // The end that was lost was told, and the database may know of it.
        parts_.profiles.invalidate(id);
        const ProfileAnswer answer = co_await parts_.profiles.get(id);
        User& user = users_.at(slot);
        auto raised = above_what_was_lost(user, *user.record);
        if (answer.profile) {
            raised->presence.last_seen =
                std::max(raised->presence.last_seen, MaybeTime(answer.profile->last_seen));
        }
        user.record = std::move(raised);
        user.ahead = true;
        ++parts_.counters.records_lost;
        Change edit = [is_ours](Draft& draft) { std::erase_if(draft.sessions, is_ours); };
        Result<bool> settled = co_await settle(slot, Cause::assertion, std::move(edit));
        if (!settled) {
            co_return settled.error();
        }
    }
    co_return true;
}

Detached PresenceService::settle_above(UserId id, ToldVersions told) {
    const auto is_reached = [&](const Presence& presence) {
        const DeclaredState* const saved = parts_.profiles.declared_of(id);
        return presence.own_version >= told.own && presence.shown_version >= told.shown &&
               (saved == nullptr || saved->revision <= presence.declared.revision);
    };
    Entered entered = co_await enter(id);
    const SlotId slot = entered.slot();
    co_await read_declaration(id);
    users_.at(slot).loaded = users_.at(slot).loaded && parts_.nodes.alone();
    Result<bool> ready = co_await ensure_record(slot);
    if (ready && !is_apart() && is_reached(users_.at(slot).record->presence)) {
        co_return;
    }
    Result<bool> settled = false;
    if (ready && !is_apart()) {
        User& user = users_.at(slot);
        auto raised = make_ref<UserRecord>(*user.record);
        // Of what was not told nothing is said: a public version that begins would be seen.
        raise(raised->presence.own_version, above(told.own));
        raise(raised->presence.shown_version, above(told.shown));
        user.record = std::move(raised);
        user.ahead = user.untold = true;
        ++parts_.counters.records_lost;
        Change nothing = [](Draft&) {};
        settled = co_await settle(slot, Cause::assertion, std::move(nothing));
    }
    if (!settled || !*settled) {
        parts_.scheduler.after(kSettleRetry, [this, id, told] { settle_above(id, told); });
    }
}

}  // namespace presence
