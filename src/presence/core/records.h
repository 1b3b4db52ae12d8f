#pragma once

#include "presence/core/configs.h"
#include "presence/core/node_view.h"
#include "presence/model/presence.h"
#include "presence/model/privacy.h"

#include <algorithm>
#include <cstdint>

namespace presence {

/// How long the store keeps a record without sessions: over two hours, after which the floor of
/// versions lies above all that was ever told of it (RULINGS 3).
inline constexpr Millis kKeepRecord{7'500'000};

/// The record of a user of whom the session store knows nothing: where the database left them.
[[nodiscard]] inline UserRecordRef record_from(const ProfileRef& profile) {
    auto record = make_ref<UserRecord>();
    if (profile) {
        record->presence.own_version = profile->own_version;
        record->presence.shown_version = profile->shown_version;
        record->presence.last_seen = profile->last_seen;
        record->presence.declared = profile->declared;
        record->rules_revision = profile->revision;
    }
    return record;
}

inline void raise(Version& version, Version other) {
    version = std::max(version, other);
}

/// Whether a viewer would see no difference: of who is away or the like it is shown since when, to
/// the minute.
[[nodiscard]] inline bool look_alike(const Face& a, const Face& b) {
    const bool tells_since = a.status != Status::online && a.status != Status::offline;
    return a == b && (!tells_since || a.since.ms() / 60'000 == b.since.ms() / 60'000);
}

/// The same of one face of two presences: of who is offline it is shown when they were last seen,
/// to the minute as well.
[[nodiscard]] inline bool look_alike(const Presence& a, const Presence& b, Face Presence::*face) {
    const auto minute_of = [](const MaybeTime& seen) { return seen ? seen->ms() / 60'000 : -1; };
    const bool tells_seen = (a.*face).status == Status::offline;
    return look_alike(a.*face, b.*face) &&
           (!tells_seen || minute_of(a.last_seen) == minute_of(b.last_seen));
}

/// Of two who could not know of each other, each may have told something else under the number that
/// `merged`, what they have in common, has from them: then it is under a higher one. True: so it
/// was.
[[nodiscard]] inline bool raise_where_apart(Presence& merged, const Presence& mine,
                                            const Presence& stored) {
    const auto apart = [&merged](const Presence& told, Version Presence::*version,
                                 Face Presence::*face) {
        return told.*version == merged.*version && !look_alike(told, merged, face);
    };
    const auto is_apart = [&](Version Presence::*version, Face Presence::*face) {
        return apart(mine, version, face) || apart(stored, version, face);
    };
    const bool own = is_apart(&Presence::own_version, &Presence::own);
    const bool shown = is_apart(&Presence::shown_version, &Presence::shown);
    merged.own_version.value += own ? 1U : 0U;
    merged.shown_version.value += shown ? 1U : 0U;
    return own || shown;
}

/// Larger than the last, and also where the last is not known (RULINGS 28).
[[nodiscard]] inline Epoch next_epoch(Epoch known, WallTime now) {
    return {std::max(known.value + 1, static_cast<std::uint64_t>(now.ms()))};
}

/// Commits of one record that may be counted before the number runs into the next birth's: at one a
/// second, three months.
inline constexpr unsigned kCommitBits = 23;

/// The counter of the commit that follows `before` (0: there is no record). The first one says when
/// it was made: a record that was lost and made anew must never come to a number that somebody
/// holds of the one before, or their next commit would put that in its place.
[[nodiscard]] inline std::uint64_t next_commit(std::uint64_t before, WallTime now) {
    return before > 0 ? before + 1 : (static_cast<std::uint64_t>(now.ms()) << kCommitBits) + 1;
}

/// Whether the record that stands at `stored` has grown from the one that stood at `before`.
[[nodiscard]] inline bool has_grown_from(std::uint64_t before, std::uint64_t stored) {
    return stored >= before && (before == 0 || stored >> kCommitBits == before >> kCommitBits);
}

/// A session as the death of its node leaves it: in grace since the node's last sign of life. One
/// that lives by HTTP keeps its ttl, as it may be beaten on any node (DESIGN rule 32).
[[nodiscard]] inline Session left_by(Session session, WallTime died_at,
                                     const HeartbeatConfig& heartbeat) {
    if (!session.grace_until) {
        session.closed_at = session.beats_until ? *session.beats_until - heartbeat.ttl : died_at;
        session.grace_until = session.beats_until.value_or(died_at + heartbeat.grace);
    }
    return session;
}

/// Whether the session's node, dead since `died_at`, left it so long ago that its sweep ends it, if
/// it has not already: to those who look it is over.
[[nodiscard]] inline bool is_left_over(const Session& session,
                                       const std::optional<WallTime>& died_at,
                                       const CoreConfig& config, WallTime now) {
    if (!died_at) {
        return false;
    }
    const bool swept = session.beats_until || now >= *died_at + config.death_patience();
    return swept && now >= *left_by(session, *died_at, config.heartbeat).grace_until;
}

/// Whether a token issued then is among those that were revoked; one that does not say when is
/// (RULINGS 43).
[[nodiscard]] inline bool is_revoked(const ProfileRef& profile,
                                     const std::optional<WallTime>& issued_at) {
    return profile && profile->revoked_before &&
           (!issued_at || *issued_at < *profile->revoked_before);
}

}  // namespace presence
