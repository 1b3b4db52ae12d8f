#pragma once

#include "presence/base/ids.h"
#include "presence/base/ref.h"
#include "presence/base/time.h"
#include "presence/model/custom_status.h"
#include "presence/model/session.h"
#include "presence/model/status.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace presence {

/// What a user declared for all devices. Durable.
struct DeclaredState {
    DeclaredStatus status = DeclaredStatus::automatic;
    MaybeTime expires_at;  ///< When `status` falls back to `automatic`.
    CustomStatusRef custom;
    std::uint64_t revision = 0;  ///< Grows with each change; a lower one is refused.

    friend bool operator==(const DeclaredState& a, const DeclaredState& b) {
        return a.status == b.status && a.expires_at == b.expires_at && same(a.custom, b.custom) &&
               a.revision == b.revision;
    }
};

/// What one face of a user shows. A user has two: the public one, and the own one for the user's
/// sessions and back ends, which differ while the user is invisible.
struct Face {
    Status status = Status::offline;
    DeviceSet devices;
    CustomStatusRef custom;
    WallTime since;  ///< When `status` began.

    friend bool operator==(const Face& a, const Face& b) {
        return a.status == b.status && a.devices == b.devices && same(a.custom, b.custom);
    }
};

/// A user's presence as committed: unfiltered, so never for a client's eyes. Views are made of it
/// by rules/visibility only.
struct Presence {
    Face own;
    Face shown;  ///< The public face; `own` with invisibility applied.
    Version own_version;
    Version shown_version;
    MaybeTime last_seen;               ///< Newest end of a public presence; empty: never there.
    DeclaredState declared;            ///< For the own view only.
    MaybeTime session_declared_until;  ///< When the next ends.
    DeclaredStatus session_declared = DeclaredStatus::automatic;  ///< Of the deciding session.
    /// Known only from a life of the server before this one, and nobody has come back yet: shown
    /// as `unknown` (RULINGS 34).
    bool doubtful = false;

    /// Whether `face` of this is to be shown as `unknown`. Where it is offline there is nothing to
    /// doubt: one who was invisible before stays as offline as all others (DESIGN rule 18).
    [[nodiscard]] bool doubts(const Face& face) const {
        return doubtful && face.status != Status::offline;
    }
};

/// A device that lives by heartbeats over HTTP and was thrown out by a back end: as there is no
/// connection on which it could be told, its heartbeats are refused for a while, on every node.
struct BarredDevice {
    SessionId session;
    WallTime until;
    friend bool operator==(const BarredDevice&, const BarredDevice&) = default;
};

/// Immutable, and shared by the records that hold it; null: none.
using BarredDevicesRef = std::shared_ptr<const std::vector<BarredDevice>>;

/// Everything the session store keeps about one user. Immutable once committed, and shared by all
/// who hold it.
struct UserRecord : Counted<UserRecord> {
    Presence presence;
    std::vector<Session> sessions;     ///< Those in grace included. At most limits.sessions.
    std::uint64_t commit = 0;          ///< Counts commits; what compare-and-commit compares.
    std::uint64_t rules_revision = 0;  ///< Of the user's privacy rules, RULINGS 8.
    /// Newest sign of life of counting sessions that have ended since the user was last offline.
    WallTime last_sign;
    WallTime untold_until;  ///< Until then an announcement may still be held back (anti-flap).
    BarredDevicesRef barred;
};

using UserRecordRef = Ref<const UserRecord>;

/// What crosses the bus when a user's presence has changed.
struct PresenceEvent {
    UserId user;
    Presence presence;
    std::uint64_t rules_revision = 0;
    /// Which face has news: the anti-flap window is kept apart for each (RULINGS 11).
    bool tells_shown = true;
    bool tells_own = true;
};

using PresenceEventRef = std::shared_ptr<const PresenceEvent>;

/// Versions of a user that somebody was told, of either face; 0: not of that one.
struct ToldVersions {
    Version own;
    Version shown;
};

}  // namespace presence
