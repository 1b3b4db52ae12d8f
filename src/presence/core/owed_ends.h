#pragma once

#include "presence/base/scheduler.h"
#include "presence/base/task.h"
#include "presence/core/counters.h"
#include "presence/core/limits.h"
#include "presence/core/node_view.h"
#include "presence/ports/session_store.h"

#include <boost/unordered/unordered_flat_map.hpp>

#include <cstddef>
#include <vector>

namespace presence {

/// Ends of presences that the shared store keeps as owed by this node until the database has them,
/// so that whoever settles the death of this node can write them (RULINGS 30). Here they are
/// gathered once the database has them, and taken out of the store many at a time: one that stays
/// there for a while does no harm, as the database keeps the greater. One thread.
class OwedEnds {
public:
    OwedEnds(Scheduler& scheduler, SessionStore& store, const NodeView& nodes, const Limits& limits,
             CoreCounters& counters)
        : scheduler_(scheduler),
          store_(store),
          nodes_(nodes),
          limits_(limits),
          counters_(counters) {}

    /// The database has these.
    void written(const std::vector<LastSeenRow>& rows);

    /// Takes what was gathered out of the store now. False: it did not answer, and they stay.
    [[nodiscard]] Task<bool> drop();

    [[nodiscard]] std::size_t gathered() const noexcept { return written_.size(); }

private:
    void arm();
    Detached drop_later();

    Scheduler& scheduler_;
    SessionStore& store_;
    const NodeView& nodes_;
    const Limits& limits_;
    CoreCounters& counters_;
    boost::unordered_flat_map<UserId, LastSeenRow, IdHash, IdEqual> written_;
    bool armed_ = false;
};

}  // namespace presence
