#pragma once

#include "presence/base/time.h"

#include "figures.h"

#include <cstdint>

namespace presence::seeds {

/// How much is done for the figures.
struct Options {
    bool quick = false;  ///< A tenth or less: the same code, rougher figures.
    bool redis = true;   ///< Ask a real redis-server, where there is one.
    std::uint64_t seed = 1;
    /// So long is waited for Redis to tell of keys that have expired, beside how many others.
    Millis redis_patience{30'000};
};

// Each gives the figures of one part. The simulated ones are the same again from the same seed.

/// How long after a silent death watchers are told: at 1 s / 3 s and at what the texts advise.
[[nodiscard]] Figures detection(const Options& options);
/// Devices called dead that are alive: 2 % of beats lost, up to 3 s on the way.
[[nodiscard]] Figures false_flips(const Options& options);
/// What is announced of 100,000 disconnects by the length of the grace.
[[nodiscard]] Figures grace(const Options& options);
/// Who is told of 2,000 changes a second.
[[nodiscard]] Figures audience(const Options& options);
/// Rows for the database: by heartbeat, and by the end of a session.
[[nodiscard]] Figures database_writes(const Options& options);
/// Heartbeats a second of the texts' crowds, and what they cost.
[[nodiscard]] Figures heartbeat_rates(const Options& options);
/// Slots, times to live, expired events and costs of a real Redis; skipped where there is none.
/// @throws bench::BenchFailure  redis-server is there and does not do as it is told.
[[nodiscard]] Figures redis_facts(const Options& options);

/// A crowd of the texts.
struct Rate {
    double devices = 0;
    double every_seconds = 0;
    [[nodiscard]] constexpr double per_second() const { return devices / every_seconds; }
};

}  // namespace presence::seeds
