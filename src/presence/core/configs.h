#pragma once

#include "presence/base/result.h"
#include "presence/base/time.h"
#include "presence/rules/merge.h"
#include "presence/rules/visibility.h"

#include <algorithm>
#include <cstdint>

namespace presence {

/// Timing of liveness. A device that dies silently shows offline between `ttl - interval` and
/// `ttl` after its death, plus half a second at most (DESIGN rule 2).
struct HeartbeatConfig {
    /// How often a client beats; told to it in `welcome`, jittered there by 10 %.
    Millis interval{30'000};
    /// Silence that ends a session. Three beats and slack, so that two lost beats and a late third
    /// flip nobody offline.
    Millis ttl{100'000};
    /// Wait after a lost connection before anyone is told; a return within it is never announced.
    Millis grace{10'000};

    /// Refuses values that would flap or hide people: `ttl < 3 x interval`, interval under 100 ms
    /// or over 1 h, negative grace or one over 1 h. Called once, before anything starts.
    [[nodiscard]] Result<bool> validate() const;
};

struct PresenceConfig {
    /// Without `active` for that long a session that once reported activity counts as away.
    Millis idle_after{600'000};
    rules::MergeConfig merge;
};

/// What watchers of other people's users are told while the store is away.
enum class DegradedShow : std::uint8_t { unknown, offline, last_known };

/// Timing between nodes. Fixed: what a node promises the others must be the same on all.
struct ClusterConfig {
    Millis lease{8'000};  ///< A node that has not renewed for that long is dead to the others.
    Millis renew_every{2'000};
    /// Watchers are told `unknown` only when the store has been away for that long.
    Millis unknown_after{10'000};
    /// A clock that is that far off from the reference is worth a line in the log.
    Millis clock_tolerance{1'000};
};

/// All of what `core` and `gateway` decide by. One copy a node, immutable while it is in force.
struct CoreConfig {
    HeartbeatConfig heartbeat;
    PresenceConfig presence;
    rules::PrivacyDefaults privacy;
    DegradedShow degraded_show = DegradedShow::unknown;
    ClusterConfig cluster;
    /// How long after SIGTERM the node may take to let everybody go.
    Millis drain_timeout{20'000};

    /// A dead node's sessions are settled that long after its last sign of life (DESIGN rule 32).
    [[nodiscard]] Millis death_patience() const noexcept {
        return std::max(cluster.lease, heartbeat.grace);
    }
};

}  // namespace presence
