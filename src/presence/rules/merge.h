#pragma once

#include "presence/model/presence.h"

#include <span>

namespace presence::rules {

/// Which of several devices speaks for the user. DESIGN rule 10.
enum class MergePolicy : std::uint8_t {
    most_available,       ///< online > busy > away > dnd
    least_interruptible,  ///< dnd > busy > online > away
    most_recent,          ///< the session that was active last
};

struct MergeConfig {
    MergePolicy policy = MergePolicy::most_available;
    bool show_devices = true;  ///< False: devices are no part of any face.
};

/// What a session counts as (DESIGN rule 9): its session-scope status while that lasts; else away
/// if idle; else online. Empty if it counts as nothing.
[[nodiscard]] std::optional<Status> status_of(const Session& session, WallTime now);

/// Both faces of a user, `since` not yet set, and which session's declaration decided.
struct Merged {
    Face own;
    Face shown;
    DeclaredStatus session_declared = DeclaredStatus::automatic;
    std::optional<WallTime> session_declared_until;
};

/// DESIGN rule 10: offline with no counting session; else the user-scope status while it lasts;
/// else the merge by policy. The custom status is the user's own, else that of the session active
/// last among those that have one. Those in grace count. The order of `sessions` means nothing.
[[nodiscard]] Merged merge(const DeclaredState& declared, std::span<const Session> sessions,
                           const MergeConfig& config, WallTime now);

/// The next moment after `now` at which merge() may answer differently though nothing was said:
/// the end of a status, custom status or session-scope status. Empty: never.
[[nodiscard]] std::optional<WallTime> next_change(const DeclaredState& declared,
                                                  std::span<const Session> sessions, WallTime now);

/// Whether something that a person set an end to is over, and still stands.
[[nodiscard]] bool has_lapsed(const DeclaredState& declared, std::span<const Session> sessions,
                              WallTime now);

}  // namespace presence::rules
