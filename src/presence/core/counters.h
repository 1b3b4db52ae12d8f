#pragma once

#include "presence/base/latency.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace presence {

/// Why a user was settled. The words are those of logs, `explain` and metrics.
enum class Cause : std::uint8_t {
    connect,
    resume,
    close,  ///< The connection was lost; the grace begins.
    grace_over,
    goodbye,
    silence,
    kicked,
    revoked,
    erased,
    activity,
    idle,
    status,
    status_expiry,
    privacy,     ///< Rules were changed: of what is remembered of a user, not of settles.
    restart,     ///< Found in the journal of the life before.
    node_death,  ///< Another node died and left its session.
    assertion,   ///< Stated to the store again.
    rejoin,      ///< Others had ended it, but it lives.
    beat,        ///< A heartbeat over HTTP that said something new, or was due to be noted.
};
inline constexpr std::size_t kCauses = 19;

[[nodiscard]] constexpr std::string_view name(Cause cause) noexcept {
    constexpr std::array<std::string_view, kCauses> kNames{
        "connect", "resume",     "close",     "grace_over", "goodbye", "silence",       "kicked",
        "revoked", "erased",     "activity",  "idle",       "status",  "status_expiry", "privacy",
        "restart", "node_death", "assertion", "rejoin",     "beat"};
    return kNames[static_cast<std::size_t>(cause)];
}

/// What the canaries found to be untrue (core/canaries.h).
enum class TruthError : std::uint8_t {
    change_missed,  ///< A change was not heard in time by a watcher.
    death_missed,   ///< Shown present too long after its ttl.
    death_early,    ///< Shown offline before its ttl.
};
inline constexpr std::size_t kTruthErrors = 3;

[[nodiscard]] constexpr std::string_view name(TruthError error) noexcept {
    constexpr std::array<std::string_view, kTruthErrors> kNames{"change_missed", "death_missed",
                                                                "death_early"};
    return kNames[static_cast<std::size_t>(error)];
}

/// What one thread has done, counted. Plain std::uint64_t and nothing else, owner's thread only;
/// summed when read. Each has its row in app/metric_tables.cc and its line in docs/metrics.md.
struct CoreCounters {
    std::array<std::uint64_t, kCauses> settles{};
    std::array<std::uint64_t, kCauses> transitions{};  ///< Settles that some viewer could see.
    std::uint64_t transitions_forgotten = 0;           ///< Within the hour, for want of room.
    std::uint64_t conflicts = 0;
    std::uint64_t announced = 0;
    std::uint64_t held_back = 0;  ///< Transitions merged by the anti-flap window.
    std::uint64_t swallowed = 0;  ///< Of those, ended where they began: nobody was told.
    std::uint64_t silent_deaths = 0;
    std::uint64_t http_beats = 0;
    std::uint64_t http_beats_refused = 0;  ///< Of devices that a back end has thrown out.
    std::uint64_t grace_returns = 0;
    std::uint64_t grace_ends = 0;
    std::uint64_t pings = 0;
    std::uint64_t stalls = 0;
    std::uint64_t sessions_displaced = 0;
    std::uint64_t sessions_refused = 0;
    std::uint64_t status_deferred = 0;
    std::uint64_t store_failures = 0;
    std::uint64_t attach_timeouts = 0;
    std::uint64_t profile_loads = 0;
    std::uint64_t profile_hits = 0;
    std::uint64_t profile_failures = 0;
    std::uint64_t profile_evictions = 0;
    std::uint64_t verdicts_changed = 0;
    std::uint64_t rules_behind = 0;  ///< Events that knew of newer rules than their watchers' node.
    std::uint64_t last_seen_written = 0;
    std::uint64_t last_seen_failures = 0;
    std::uint64_t last_seen_lost = 0;
    std::uint64_t last_seen_spooled = 0;
    std::uint64_t ends_left_owed = 0;  ///< The database has them, the shared store may keep them.
    std::uint64_t spool_failures = 0;
    std::uint64_t webhooks_noted = 0;
    std::uint64_t webhooks_lost = 0;     ///< Over a limit of the queue or of the outbox.
    std::uint64_t webhook_failures = 0;  ///< Writes that the outbox did not take.
    std::uint64_t journal_written = 0;
    std::uint64_t journal_failures = 0;
    std::uint64_t clock_steps = 0;
    std::uint64_t beats_mirrored = 0;      ///< Keys written for store.write_every_heartbeat.
    std::uint64_t ends_mirrored = 0;       ///< Users taken out of them.
    std::uint64_t beats_not_mirrored = 0;  ///< Over a limit, or the store did not answer.
    std::uint64_t kept_here = 0;           ///< Settled while the shared store could not be reached.
    std::uint64_t records_unreadable = 0;  ///< Damaged, or of a newer release; counted as read.
    std::uint64_t records_lost = 0;        ///< Met in the store older than what was held here.
    std::uint64_t orphaned = 0;    ///< Sessions that others had ended while this node slept.
    std::uint64_t room_joins = 0;  ///< Users, not devices.
    std::uint64_t room_leaves = 0;
    std::uint64_t rooms_refused = 0;    ///< Joins over a limit.
    std::uint64_t room_statements = 0;  ///< Sent over the bus.
    std::uint64_t room_gaps = 0;        ///< Statements that were missing.
    std::uint64_t room_words_void = 0;  ///< Of nodes that were asked and did not answer.
    std::uint64_t rooms_told = 0;       ///< `room` messages.
    std::uint64_t room_deltas = 0;      ///< `roomUpdate` messages with members.
    std::uint64_t room_counts = 0;      ///< `roomUpdate` messages of counts alone.
    std::uint64_t rooms_behind = 0;     ///< Readers to whom a whole room is owed.
    std::uint64_t room_signals_shed = 0;
    std::uint64_t surveys_refused = 0;         ///< Over Survey::kMost, or its share for joins.
    std::uint64_t surveys_incomplete = 0;      ///< Sums in which a node's part was missing.
    std::uint64_t unknowns_shown = 0;          ///< Views that say that nobody can tell.
    std::uint64_t known_versions_dropped = 0;  ///< Over limits.known_versions.
    std::array<std::uint64_t, kTruthErrors> truth_errors{};  ///< Of the canaries, by TruthError.
    LatencyHistogram truth_propagation;  ///< From a canary's change to the watcher on another node.
    LatencyHistogram truth_lateness;     ///< From a canary's ttl to when it was shown offline.
    LatencyHistogram settle_times;  ///< Reading, committing and telling; without waits for a lock.
};

}  // namespace presence
