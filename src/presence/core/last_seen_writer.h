#pragma once

#include "presence/base/scheduler.h"
#include "presence/base/task.h"
#include "presence/core/counters.h"
#include "presence/core/limits.h"
#include "presence/ports/profile_store.h"

#include <boost/unordered/unordered_flat_map.hpp>

namespace presence {

/// Collects the ends of presences and writes them in batches, at most one statement a second.
/// A row stays queued until the database has taken it; a newer one of the same user takes its
/// place. One thread.
class LastSeenWriter {
public:
    LastSeenWriter(Scheduler& scheduler, ProfileStore& store, const Limits& limits,
                   CoreCounters& counters)
        : scheduler_(scheduler), store_(store), limits_(limits), counters_(counters) {}

    void note(LastSeenRow row);

    /// Writes what is queued now. False: the database did not take it, and it stays queued.
    [[nodiscard]] Task<bool> flush();

    [[nodiscard]] std::size_t queued() const noexcept { return queue_.size() + in_flight_; }

private:
    void arm();
    Detached flush_later();

    Scheduler& scheduler_;
    ProfileStore& store_;
    const Limits& limits_;
    CoreCounters& counters_;
    boost::unordered_flat_map<UserId, LastSeenRow, IdHash, IdEqual> queue_;
    std::size_t in_flight_ = 0;
    bool armed_ = false;
};

}  // namespace presence
