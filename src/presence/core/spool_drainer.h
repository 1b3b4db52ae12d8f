#pragma once

#include "presence/base/scheduler.h"
#include "presence/base/task.h"
#include "presence/core/counters.h"
#include "presence/core/owed_ends.h"
#include "presence/ports/last_seen_spool.h"
#include "presence/ports/profile_store.h"

#include <cstddef>

namespace presence {

/// Brings what the spool holds into the database, as soon as that takes it: what a life before
/// this one left, and what an outage left. One a process; its thread.
class SpoolDrainer {
public:
    /// @param owed  Hears what the database has; null: nobody else needs to know.
    SpoolDrainer(Scheduler& scheduler, LastSeenSpool& spool, ProfileStore& store,
                 CoreCounters& counters, OwedEnds* owed = nullptr)
        : scheduler_(scheduler), spool_(spool), store_(store), counters_(counters), owed_(owed) {}

    /// Begins to look at the spool once a second.
    void start();

    /// Writes rows until the spool is empty or the database takes no more. True: it is empty.
    [[nodiscard]] Task<bool> drain();

private:
    Detached run();
    /// False: the database took none of them.
    [[nodiscard]] Task<bool> write(std::vector<LastSeenRow> rows);
    [[nodiscard]] Task<bool> write_one_by_one(std::vector<LastSeenRow> rows);

    Scheduler& scheduler_;
    LastSeenSpool& spool_;
    ProfileStore& store_;
    CoreCounters& counters_;
    OwedEnds* owed_;
    bool draining_ = false;
};

}  // namespace presence
