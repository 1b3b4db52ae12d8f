#include "presence/core/snapshot.h"

#include "presence/core/records.h"
#include "presence/rules/merge.h"
#include "presence/rules/rooms.h"
#include "presence/rules/transition.h"

#include <algorithm>

namespace presence {

namespace {

/// A commit in good time, and the window after it in which its announcement may be held back.
constexpr Millis kMayBeHeldBack{1'500};

const Face& face_for(const Presence& presence, Verdict verdict) {
    return verdict.own() ? presence.own : presence.shown;
}

/// What the store could not take of this node's people, or has lost of them.
void take_what_was_kept(const std::vector<UserRecordRef>& held,
                        std::vector<UserRecordRef>& stored) {
    for (std::size_t i = 0; i < stored.size(); ++i) {
        const bool is_newer = held[i] && (!stored[i] || stored[i]->presence.own_version <
                                                            held[i]->presence.own_version);
        stored[i] = is_newer ? held[i] : stored[i];
    }
}

}  // namespace

Task<Result<SnapshotReader::Records>> SnapshotReader::records_of(std::vector<UserId> users) {
    if (!nodes_.is_cut_off()) {
        std::vector<UserId> asked = users;
        Result<std::vector<UserRecordRef>> loaded = co_await sessions_.load(std::move(asked));
        if (loaded && !nodes_.knows_all() && held_here_) {
            Task<std::vector<UserRecordRef>> asking = held_here_(std::move(users));
            const std::vector<UserRecordRef> held = co_await asking;
            take_what_was_kept(held, *loaded);
        }
        if (loaded) {
            Records records = without_unreadable(std::move(*loaded));
            // As it is now: by the time of the answer all may have stated what this read missed.
            for (std::size_t i = 0; i < records.records.size() && !nodes_.knows_all(); ++i) {
                records.unreachable.resize(records.records.size());
                const UserRecordRef& record = records.records[i];
                if (!record || record->presence.shown.status == Status::offline) {
                    records.unreachable[i] = true;
                }
            }
            co_return records;
        }
        if (!held_here_) {
            co_return loaded.error();
        }
        if (on_unreachable_) {
            on_unreachable_();
        }
    }
    Task<std::vector<UserRecordRef>> asking = held_here_(std::move(users));
    std::vector<UserRecordRef> held = co_await asking;
    const std::size_t count = held.size();
    co_return Records{std::move(held), std::vector<bool>(count, true)};
}

std::vector<ToldVersions> SnapshotReader::known_here(const std::vector<UserId>& users) const {
    std::vector<ToldVersions> known;
    known.reserve(users.size());
    for (const UserId& user : users) {
        known.push_back(known_.find(user));
    }
    return known;
}

Task<std::vector<ToldVersions>> SnapshotReader::known_of(const Records& records,
                                                         std::vector<UserId> users) {
    if (records.unreachable.empty() && nodes_.knows_all()) {
        co_return std::vector<ToldVersions>{};
    }
    if (!ask_known_) {
        co_return known_here(users);
    }
    Task<std::vector<ToldVersions>> asking = ask_known_(std::move(users));
    std::vector<ToldVersions> known = co_await asking;
    co_return known;
}

SnapshotReader::Records SnapshotReader::without_unreadable(
    std::vector<UserRecordRef> loaded) const {
    Records records{std::move(loaded), {}};
    for (std::size_t i = 0; i < records.records.size(); ++i) {
        if (records.records[i] == unreadable_record()) {
            ++counters_.records_unreadable;
            records.records[i] = nullptr;
            records.unreachable.resize(records.records.size());
            records.unreachable[i] = true;
        }
    }
    return records;
}

UserRecordRef SnapshotReader::as_it_stands(const UserId& user, UserRecordRef record,
                                           const ProfileAnswer& rules) const {
    if (nodes_.alone() || !record) {
        return record;
    }
    const WallTime now = clock_.wall_now();
    const auto is_over = [&](const Session& session) {
        return is_left_over(session, nodes_.died_at(session.node), config_, now);
    };
    const bool lapsed = rules::has_lapsed(record->presence.declared, record->sessions, now);
    if (lapsed && on_lapsed_) {
        on_lapsed_(user);
    }
    // While the store was away a node may have let its user become invisible, say.
    const ProfileRef& profile = rules.profile;
    const bool outdated =
        profile && profile->declared.revision > record->presence.declared.revision;
    const DeclaredState& declared = outdated ? profile->declared : record->presence.declared;
    if (!lapsed && !outdated && std::ranges::none_of(record->sessions, is_over)) {
        return record;
    }
    auto living = make_ref<UserRecord>(*record);
    WallTime sign = record->last_sign;
    std::erase_if(living->sessions, [&](const Session& session) {
        const bool over = is_over(session);
        if (over && session.counts) {
            const WallTime died_at = *nodes_.died_at(session.node);
            sign = std::max(sign, left_by(session, died_at, config_.heartbeat).closed_at);
        }
        return over;
    });
    const rules::Merged merged =
        rules::merge(declared, living->sessions, config_.presence.merge, now);
    living->presence = rules::advance(record->presence, merged, declared, {now, {}, sign}).after;
    if (outdated) {
        // It may be about to be committed, held back and taken back: who is told it now looks again
        // once that would be over.
        const Millis since = clock_.now() - rules.declared_at;
        living->untold_until = std::max(living->untold_until, now + (kMayBeHeldBack - since));
    }
    return living;
}

bool SnapshotReader::has_newer_rules(const std::vector<UserId>& users, const Records& records) {
    bool found = false;
    for (std::size_t i = 0; i < users.size(); ++i) {
        const UserRecordRef& record = records.records[i];
        if (record) {
            profiles_.note_record(users[i]);
            found |=
                record->rules_revision > 0 && profiles_.heard(users[i], record->rules_revision);
        } else if (!records.is_unreachable(i)) {
            found |= profiles_.note_no_record(users[i]);
        }
    }
    return found;
}

Task<Result<SnapshotReader::Found>> SnapshotReader::find(std::vector<UserId> parties,
                                                         std::vector<UserId> users) {
    std::vector<UserId> asked = parties;
    std::vector<ProfileAnswer> rules = co_await profiles_.get(std::move(asked));
    std::vector<UserId> subjects = users;
    Result<Records> records = co_await records_of(std::move(subjects));
    if (!records) {
        co_return records.error();
    }
    if (has_newer_rules(users, *records)) {
        rules = co_await profiles_.get(std::move(parties));
    }
    std::vector<ToldVersions> known = co_await known_of(*records, std::move(users));
    co_return Found{std::move(rules), std::move(*records), std::move(known)};
}

Seen SnapshotReader::see(const UserId* viewer, const ProfileAnswer* of_viewer,
                         const Subject& subject) {
    // What a user or a back end sees of somebody hidden may show in nothing that others are told.
    if (viewer != nullptr && !(subject.user == *viewer) && subject.record && !subject.unreachable) {
        note_versions(subject.user, subject.record->presence);
    }
    const ProfileAnswer& rules = subject.rules;
    Seen seen{subject.user, as_it_stands(subject.user, subject.record, rules), {}};
    seen.open_to_all = rules.known && rules::is_open_to_all(rules.profile.get(), config_.privacy);
    seen.rules_unread = !rules.known;
    seen.rules_revision = rules.profile ? rules.profile->revision : 0;
    if (viewer == nullptr) {
        seen.verdict = rules::verdict_for_back_end();
    } else if (!(seen.user == *viewer) && (!rules.known || !of_viewer->known)) {
        seen.verdict = rules::verdict_unread();
    } else {
        seen.verdict = rules::judge({seen.user, rules.profile.get()},
                                    {*viewer, of_viewer->profile.get()}, config_.privacy);
    }
    // Whom a viewer may not see is as one who never existed (RULINGS 2), so unreachable as well.
    const bool sees = seen.verdict.online() || seen.verdict.own();
    const bool is_there =
        seen.record && face_for(seen.record->presence, seen.verdict).status != Status::offline;
    // Nor is one who is invisible on this node told from one of whom it knows nothing (DESIGN 18),
    // by the version either.
    seen.unreachable = (subject.unreachable || !nodes_.knows_all()) && (!is_there || !sees) &&
                       !seen.verdict.unread();
    if (seen.unreachable) {
        seen.told = seen.verdict.own() ? subject.known.own : subject.known.shown;
        if (!seen.verdict.own()) {
            seen.record = nullptr;
        }
    }
    const auto untouched = [](const ProfileAnswer& answer) {
        return answer.known && (!answer.profile || answer.profile->revision == 0);
    };
    seen.rules_untouched = untouched(rules) && (viewer == nullptr || untouched(*of_viewer));
    if (!seen.record && !seen.unreachable && rules.profile) {
        seen.record = record_from(rules.profile);
    }
    return seen;
}

Task<Result<std::vector<Seen>>> SnapshotReader::look(std::optional<UserId> viewer,
                                                     std::vector<UserId> users) {
    const Timed timed(look_times_);
    std::vector<UserId> parties = users;
    if (viewer) {
        parties.push_back(*viewer);
    }
    std::vector<UserId> subjects = users;
    Result<Found> found = co_await find(std::move(parties), std::move(subjects));
    if (!found) {
        co_return found.error();
    }
    const std::vector<ProfileAnswer>& profiles = found->rules;
    const Records& of_users = found->of_users;
    std::vector<Seen> seen;
    seen.reserve(users.size());
    for (std::size_t i = 0; i < users.size(); ++i) {
        seen.push_back(see(viewer ? &*viewer : nullptr, viewer ? &profiles.back() : nullptr,
                           {users[i], of_users.records[i], profiles[i], of_users.is_unreachable(i),
                            found->known_of(i)}));
    }
    co_return seen;
}

Task<Result<std::vector<std::vector<Seen>>>> SnapshotReader::look_for_all(
    std::vector<Looking> looks) {
    std::vector<UserId> users;
    std::vector<UserId> parties;
    for (const Looking& one : looks) {
        users.insert(users.end(), one.users.begin(), one.users.end());
        parties.push_back(one.viewer);
    }
    const auto once_each = [](std::vector<UserId>& ids) {
        std::ranges::sort(ids);
        const auto doubles = std::ranges::unique(ids);
        ids.erase(doubles.begin(), doubles.end());
    };
    const auto place_of = [](const std::vector<UserId>& ids, const UserId& id) {
        return static_cast<std::size_t>(std::ranges::lower_bound(ids, id) - ids.begin());
    };
    once_each(users);
    parties.insert(parties.end(), users.begin(), users.end());
    once_each(parties);
    std::vector<UserId> asked = parties;
    std::vector<UserId> subjects = users;
    Result<Found> found = co_await find(std::move(asked), std::move(subjects));
    if (!found) {
        co_return found.error();
    }
    const std::vector<ProfileAnswer>& profiles = found->rules;
    const Records& of_users = found->of_users;
    std::vector<std::vector<Seen>> seen(looks.size());
    for (std::size_t i = 0; i < looks.size(); ++i) {
        const ProfileAnswer& of_viewer = profiles[place_of(parties, looks[i].viewer)];
        seen[i].reserve(looks[i].users.size());
        for (const UserId& user : looks[i].users) {
            const std::size_t place = place_of(users, user);
            seen[i].push_back(see(&looks[i].viewer, &of_viewer,
                                  {user, of_users.records[place], profiles[place_of(parties, user)],
                                   of_users.is_unreachable(place), found->known_of(place)}));
        }
    }
    co_return seen;
}

Task<Result<Crowd>> SnapshotReader::look_for_each(std::vector<UserId> viewers,
                                                  std::vector<UserId> users) {
    std::vector<UserId> parties = users;
    parties.insert(parties.end(), viewers.begin(), viewers.end());
    std::vector<UserId> subjects = users;
    Result<Found> found = co_await find(std::move(parties), std::move(subjects));
    if (!found) {
        co_return found.error();
    }
    const std::vector<ProfileAnswer>& profiles = found->rules;
    Records& of_users = found->of_users;
    Crowd crowd{
        std::move(of_users.records), std::vector<rules::VerdictRow>(viewers.size()), false, {}};
    for (const ProfileAnswer& answer : profiles) {
        crowd.unread = crowd.unread || !answer.known;
    }
    crowd.unreachable = std::move(of_users.unreachable);
    for (std::size_t i = 0; i < users.size(); ++i) {
        crowd.records[i] = as_it_stands(users[i], std::move(crowd.records[i]), profiles[i]);
        if (crowd.records[i] && !crowd.unreachable.empty()) {
            crowd.unreachable[i] = false;
        } else if (!crowd.records[i] && !crowd.is_unreachable(i) && profiles[i].profile) {
            crowd.records[i] = record_from(profiles[i].profile);
        }
    }
    // Most pairs have nothing stored on either side, and judging strangers once judges them all.
    const UserId one("a");
    const UserId other("b");
    const Verdict of_strangers = rules::judge({one, nullptr}, {other, nullptr}, config_.privacy);
    for (std::size_t v = 0; v < viewers.size(); ++v) {
        const ProfileAnswer& of_viewer = profiles[users.size() + v];
        for (std::size_t i = 0; i < users.size(); ++i) {
            const ProfileAnswer& of_subject = profiles[i];
            if (!of_viewer.known || !of_subject.known) {
                continue;
            }
            const bool strangers = !of_viewer.profile && !of_subject.profile;
            crowd.rows[v].set(i, strangers ? of_strangers
                                           : rules::judge({users[i], of_subject.profile.get()},
                                                          {viewers[v], of_viewer.profile.get()},
                                                          config_.privacy));
        }
    }
    co_return crowd;
}

Status SnapshotReader::unknown_as() const {
    return config_.degraded_show == DegradedShow::offline ? Status::offline : Status::unknown;
}

PresenceView SnapshotReader::view(const Seen& seen) const {
    const Presence* const presence = seen.record ? &seen.record->presence : nullptr;
    rules::Viewing viewing = viewing_of(presence, seen.verdict);
    // By what the look found, not by what stands now: the edge of the watch says the same of it.
    viewing.nobody_as = seen.unreachable ? viewing.unknown_as : rules::Viewing{}.nobody_as;
    if (seen.unreachable) {
        viewing.store_down = true;
        viewing.told = seen.told;
    }
    return counted(rules::view_for(seen.user, presence, seen.verdict, viewing));
}

rules::Viewing SnapshotReader::viewing_of(const Presence* presence, Verdict verdict) const {
    rules::Viewing viewing;
    viewing.now = clock_.wall_now();
    viewing.show_devices = config_.presence.merge.show_devices;
    viewing.store_down = presence != nullptr && presence->doubts(face_for(*presence, verdict));
    viewing.unknown_as = unknown_as();
    if (nodes_.is_cut_off()) {
        viewing.nobody_as = viewing.unknown_as;
    }
    return viewing;
}

PresenceView SnapshotReader::view(const UserId& user, const Presence* presence,
                                  Verdict verdict) const {
    return counted(rules::view_for(user, presence, verdict, viewing_of(presence, verdict)));
}

PresenceView SnapshotReader::counted(PresenceView view) const {
    counters_.unknowns_shown += view.status() == Status::unknown ? 1U : 0U;
    return view;
}

}  // namespace presence
