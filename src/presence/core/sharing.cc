// Records that several nodes write: what is read and kept when others write too, when the store is
// away, and when it has lost something. What is stated again is in restating.cc.

#include "presence/core/deadline.h"
#include "presence/core/presence_service.h"
#include "presence/core/records.h"
#include "presence/core/store_errors.h"
#include "presence/rules/version.h"

#include <algorithm>
#include <limits>

namespace presence {

namespace {

/// Nobody waits longer for the database before what happened during an outage is stated, and once
/// that was in vain nobody at all for a while: all are to agree 10 s after the store is back.
constexpr Millis kDatabasePatience{1'000};
constexpr Millis kDatabaseRest{5'000};
/// In the place of User::losses: the store never had what is held here, so it lost none of it.
constexpr std::uint32_t kNeverStored = std::numeric_limits<std::uint32_t>::max();

/// What is in memory takes no time.
Millis patience_with_database(MonoTime now, MonoTime rests_until) {
    return now < rests_until ? Millis{0} : kDatabasePatience;
}

/// A guess knows nothing of what was told before, nor of the store's new life in which it is stated
/// (docs/adr/0009). True: it lay lower.
bool raise_to(std::uint64_t floor, Presence& guess) {
    const bool own = guess.own_version < Version{floor};
    const bool shown =
        guess.shown.status != Status::offline && guess.shown_version < Version{floor};
    guess.own_version = own ? Version{floor} : guess.own_version;
    guess.shown_version = shown ? Version{floor} : guess.shown_version;
    return own || shown;
}

/// What was declared while the store was away stood in the database before it does in the record,
/// and looks showed it meanwhile, under the version that follows the `stored` one, as having begun
/// when they were made. True: `merged` had that version, and another content.
bool raise_above_looks(Presence& merged, const Presence& stored) {
    if (merged.declared.revision <= stored.declared.revision) {
        return false;
    }
    const auto rise = [&](Version Presence::*version) {
        const Version shown_by_looks = rules::next_version(stored.*version, 0);
        const bool same = merged.*version == shown_by_looks;
        merged.*version = same ? rules::next_version(shown_by_looks, 0) : merged.*version;
        return same;
    };
    const bool own = rise(&Presence::own_version);
    const bool shown = rise(&Presence::shown_version);
    return own || shown;
}

/// What stands, of what this node holds (`mine`) and what the store has: the sessions that each
/// vouches for, the newer of what was declared and told, and no version lower than either.
/// @param mine_is_newer  The face of `mine` is the one that goes on.
/// @param is_here  Whether this node holds a session: one that has moved on since `mine` was read
///                 is not its to vouch for.
template <class IsHere>
Ref<UserRecord> merge_records(const UserRecord& mine, const UserRecord& stored, bool mine_is_newer,
                              NodeId self, const IsHere& is_here) {
    auto merged = make_ref<UserRecord>(mine_is_newer ? mine : stored);
    const UserRecord& other = mine_is_newer ? stored : mine;
    Presence& presence = merged->presence;
    raise(presence.own_version, other.presence.own_version);
    raise(presence.shown_version, other.presence.shown_version);
    presence.last_seen = std::max(presence.last_seen, other.presence.last_seen);
    if (other.presence.declared.revision > presence.declared.revision) {
        presence.declared = other.presence.declared;
    }
    merged->last_sign = std::max(mine.last_sign, stored.last_sign);
    merged->rules_revision = std::max(mine.rules_revision, stored.rules_revision);
    merged->untold_until = std::max(mine.untold_until, stored.untold_until);
    if (!merged->barred) {
        merged->barred = other.barred;
    }
    merged->commit = stored.commit;
    merged->sessions.clear();
    for (const Session& session : stored.sessions) {
        if (session.node != self) {
            merged->sessions.push_back(session);
        }
    }
    for (const Session& session : mine.sessions) {
        if (!is_here(session.id)) {
            continue;
        }
        const auto taken = std::ranges::find(merged->sessions, session.id, &Session::id);
        if (session.node == self && taken == merged->sessions.end()) {
            merged->sessions.push_back(session);
        } else if (session.node == self && taken->epoch < session.epoch) {
            *taken = session;
        }
    }
    return merged;
}

}  // namespace

Ref<UserRecord> PresenceService::above_what_was_lost(const User& user,
                                                     const UserRecord& record) const {
    const rules::VersionFloors floors = floors_after(user, record);
    auto raised = make_ref<UserRecord>(record);
    Presence& presence = raised->presence;
    presence.own_version.value += rules::kIncarnationStep;
    raise(presence.own_version, {floors.own});
    if (presence.shown.status != Status::offline) {
        // Who is shown as offline is as others who are: of those nothing is held, and told.
        presence.shown_version.value += rules::kIncarnationStep;
        raise(presence.shown_version, {floors.shown});
    }
    return raised;
}

Task<Result<bool>> PresenceService::ensure_record(SlotId slot) {
    if (users_.at(slot).loaded) {
        co_return true;
    }
    if (!parts_.nodes.vouches(parts_.clock.now())) {
        Result<bool> alone = co_await go_without_store(slot);
        co_return alone;
    }
    UserId id = users_.at(slot).id;
    Result<UserRecordRef> record = co_await record_of(std::move(id));
    if (record && !*record) {
        User& user = users_.at(slot);
        if (user.record && !user.sessions.empty() && !parts_.nodes.alone()) {
            // What stands here is all there is, also where its sessions are in doubt.
            user.ahead = true;
            take_record(slot, record_from(nullptr));
            co_return true;
        }
        record = database_away();
    }
    if (!record && (parts_.nodes.alone() || record.error().code != ErrorCode::unavailable)) {
        co_return record.error();
    }
    if (!record) {
        Result<bool> alone = co_await go_without_store(slot);
        co_return alone;
    }
    take_record(slot, std::move(*record));
    co_return true;
}

void PresenceService::keep_here(SlotId slot, Cause cause, Prepared& next) {
    users_.at(slot).ahead = true;
    users_.at(slot).untold = true;
    ++parts_.counters.kept_here;
    // What this node has told already is for the others to hear, once the store has it.
    const bool tells_what_was_held =
        next.before->untold_until != WallTime{} && next.record->untold_until == WallTime{};
    const bool is_news =
        next.transition.shown_changed || next.transition.own_changed || tells_what_was_held;
    const PresenceEventRef event = is_news ? next.plan.event : nullptr;
    finish(slot, cause, next);
    if (event) {
        parts_.bus.publish_here(event);
    }
}

void PresenceService::note_stored(User& user) {
    user.ahead = user.untold = false;
    user.partial = !parts_.nodes.knows_all();
    user.guessed = user.guessed && user.partial;
}

/// What was read last, or else what the database knows, has to do until the store is back.
Task<Result<bool>> PresenceService::go_without_store(SlotId slot) {
    if (!users_.at(slot).record) {
        UserId id = users_.at(slot).id;
        ProfileAnswer answer = co_await parts_.profiles.get(std::move(id));
        if (!answer.known) {
            co_return Error{ErrorCode::unavailable, "no store answers", 1000, 0};
        }
        users_.at(slot).record = record_from(answer.profile);
        users_.at(slot).losses = kNeverStored;
        users_.at(slot).guessed = true;
    }
    users_.at(slot).ahead = true;
    users_.at(slot).loaded = true;
    co_return true;
}

/// What other nodes hold can be neither read nor changed.
bool PresenceService::is_apart() const {
    return parts_.nodes.is_cut_off() || !parts_.nodes.vouches(parts_.clock.now());
}

/// Whether a session of the user is this node's, and not in doubt.
bool PresenceService::vouches_for_any(const User& user) {
    // One that is about to end, too: or nobody would be told of its end.
    return !parts_.nodes.alone() && std::ranges::any_of(user.sessions, [&](SlotId id) {
        return !sessions_.at(id).orphaned;
    });
}

bool PresenceService::is_guess(const User& user, const std::vector<Session>& sessions) const {
    const bool guesses = user.guessed && (is_apart() || !parts_.nodes.knows_all());
    return (guesses || (user.partial && is_apart())) &&
           std::ranges::none_of(sessions, &Session::counts);
}

/// Of one of whom the store has nothing: the newest that was declared may have been lost with the
/// record, and stand in the database alone.
bool PresenceService::is_lost(const User& user) {
    return user.record && (user.ahead || vouches_for_any(user));
}

void PresenceService::note_no_record(const UserId& user) {
    const SlotId slot = users_.find(user);
    if (slot && is_lost(users_.at(slot))) {
        parts_.profiles.outdate(user);
    } else {
        parts_.profiles.note_no_record(user);
    }
}

bool PresenceService::was_lost(const User& user, const UserRecord& before,
                               const UserRecord& stored) {
    if (!user.ahead && !vouches_for_any(user)) {
        return false;
    }
    const NodeView& nodes = parts_.nodes;
    if (user.losses >= nodes.losses) {
        return !user.ahead && !has_grown_from(before.commit, stored.commit);
    }
    // Others may have been told of commits that this node knows nothing of, so all that is older
    // than a loss counts as lost. What stands unchanged in a store that had nothing left is
    // younger.
    const bool is_younger = nodes.lost_all == nodes.losses && !user.ahead &&
                            stored.commit == before.commit &&
                            stored.presence.own_version == before.presence.own_version &&
                            stored.presence.shown_version == before.presence.shown_version;
    return !is_younger;
}

void PresenceService::take_record(SlotId slot, UserRecordRef stored) {
    User& user = users_.at(slot);
    UserRecordRef before = user.record;
    user.loaded = true;
    if (before && was_lost(user, *before, *stored)) {
        before = above_what_was_lost(user, *before);
        user.ahead = user.untold = true;
        ++parts_.counters.records_lost;
    }
    user.losses = parts_.nodes.losses;
    const bool guessed = user.guessed;
    user.partial = !parts_.nodes.knows_all();
    user.guessed = guessed && user.partial;
    if (before) {
        note_told_elsewhere(user, *before, stored);
    }
    if (user.ahead && before) {
        const auto is_here = [&](const SessionId& id) {
            return std::ranges::any_of(user.sessions,
                                       [&](SlotId local) { return sessions_.at(local).id == id; });
        };
        // A guess begins lower than what the store may have by now, and is of later.
        const bool mine_is_newer =
            guessed || before->presence.own_version > stored->presence.own_version;
        Ref<UserRecord> merged =
            merge_records(*before, *stored, mine_is_newer, parts_.nodes.self, is_here);
        bool raised = raise_where_apart(merged->presence, before->presence, stored->presence);
        raised |= guessed && stored->commit == 0 && raise_to(floor_now(), merged->presence);
        raised |= stored->commit > 0 && raise_above_looks(merged->presence, stored->presence);
        user.untold = user.untold || raised;
        user.record = std::move(merged);
    } else {
        user.record = std::move(stored);
    }
    if (!parts_.nodes.alone()) {
        reconcile(slot, before);
        file_user(slot);  // Another node may have set an end to what was declared.
    }
}

Task<Result<std::vector<ProfileAnswer>>> PresenceService::read_profiles(std::vector<UserId> users) {
    const MonoTime from = parts_.clock.now();
    const Millis patience = patience_with_database(from, database_rests_until_);
    std::vector<UserId> asked = users;
    std::vector<ProfileAnswer> answers = co_await parts_.profiles.get(std::move(asked));
    const Millis took = parts_.clock.now() - from;
    const bool late = took > Millis{0} && took >= patience;
    for (std::size_t i = 0; i < users.size() && late; ++i) {
        const SlotId slot = users_.find(users[i]);
        const ProfileRef& profile = answers[i].profile;
        if (profile && slot && users_.at(slot).record &&
            profile->declared.revision > users_.at(slot).record->presence.declared.revision) {
            settle_expiry(users[i]);  // It was stated without what is known now.
        }
    }
    co_return answers;
}

Task<std::vector<ProfileAnswer>> PresenceService::profiles_in_time(std::vector<UserId> users) {
    std::vector<ProfileAnswer> unknown(users.size());
    if (users.empty()) {
        co_return unknown;
    }
    const Millis patience = patience_with_database(parts_.clock.now(), database_rests_until_);
    std::string what = "the database";
    Task<Result<std::vector<ProfileAnswer>>> reading = read_profiles(std::move(users));
    Result<std::vector<ProfileAnswer>> answers =
        co_await within(parts_.scheduler, patience, std::move(reading), std::move(what));
    if (answers) {
        co_return std::move(*answers);
    }
    if (patience > Millis{0}) {
        database_rests_until_ = parts_.clock.now() + kDatabaseRest;
    }
    co_return unknown;
}

Task<bool> PresenceService::read_declaration(UserId user) {
    std::vector<UserId> one{std::move(user)};
    Task<std::vector<ProfileAnswer>> reading = profiles_in_time(std::move(one));
    const std::vector<ProfileAnswer> answers = co_await reading;
    co_return answers.front().known;
}

Task<Result<bool>> PresenceService::reload(std::vector<SlotId> users) {
    std::vector<UserId> ids;
    ids.reserve(users.size());
    for (const SlotId slot : users) {
        ids.push_back(users_.at(slot).id);
    }
    Result<std::vector<UserRecordRef>> loaded = co_await parts_.sessions.load(ids);
    if (!loaded) {
        ++parts_.counters.store_failures;
        co_return loaded.error();
    }
    // The database is asked only for those of whom the store has nothing, and for those who were
    // changed while it was away: another node may have let them declare something meanwhile, which
    // prepare takes once it is read.
    std::vector<std::size_t> without;
    std::vector<UserId> asked;
    for (std::size_t i = 0; i < users.size(); ++i) {
        UserRecordRef& record = (*loaded)[i];
        if (record == unreadable_record()) {
            ++parts_.counters.records_unreadable;  // Of that user nothing can be done.
        } else if (record && !users_.at(users[i]).ahead) {
            take_record(users[i], std::move(record));
        } else {
            if (!record) {
                note_no_record(ids[i]);
            }
            without.push_back(i);
            asked.push_back(std::move(ids[i]));
        }
    }
    Task<std::vector<ProfileAnswer>> reading = profiles_in_time(std::move(asked));
    const std::vector<ProfileAnswer> profiles = co_await reading;
    bool all = true;
    for (std::size_t k = 0; k < without.size(); ++k) {
        const User& user = users_.at(users[without[k]]);
        UserRecordRef& record = (*loaded)[without[k]];
        all = all && (record || profiles[k].known);
        if (record) {
            take_record(users[without[k]], std::move(record));
        } else if (profiles[k].known) {
            take_record(users[without[k]], record_from(profiles[k].profile));
        } else if (is_lost(user)) {
            // What stands here is all there is, and the others wait for it.
            take_record(users[without[k]], record_from(nullptr));
        }
    }
    co_return all;
}

}  // namespace presence
