#pragma once

#include "deployment.h"

#include <string>
#include <string_view>
#include <vector>

namespace presence::plan {

/// What happens in a second at the peak, over the whole deployment.
struct Load {
    double connected = 0;
    double connected_average = 0;  ///< Over the day.
    double heartbeats = 0;
    double starts = 0;    ///< Sessions that begin; as many end.
    double drops = 0;     ///< Connections lost that come back within the grace.
    double told = 0;      ///< Changes that watchers are told: comings, goings, others.
    double watchers = 0;  ///< Of one user at the peak, on average.
    double deliveries = 0;
    double deliveries_to_contacts = 0;  ///< If all contacts were told.
    double rows = 0;                    ///< For the database: one an end.
    double rows_average = 0;            ///< Over the day.
    double rows_by_heartbeat = 0;       ///< If each heartbeat were written.
    double commits = 0;                 ///< Of records in Redis.
    double reads = 0;
    double checks = 0;      ///< Records looked at so that none is lost.
    double messages = 0;    ///< Of Redis to nodes.
    double wire_bytes = 0;  ///< Of all clients, the heavier way.
};

/// One thing of which a machine has only so much.
struct Need {
    std::string_view resource;
    std::string_view unit;
    double need = 0;  ///< Of all machines of the tier together.
    double each = 0;  ///< What one of them gives, `most_load` of what it has.
    [[nodiscard]] double machines() const { return need / each; }
};

/// Machines of one kind.
struct Tier {
    std::string_view name;
    std::vector<Need> needs;
    double working = 0;  ///< Machines that carry the peak.
    double spare = 0;

    /// The need that decides how many there are.
    [[nodiscard]] const Need& tightest() const;
    /// How much of what the working machines give is taken, 1 being all of it.
    [[nodiscard]] double use_of(const Need& need) const { return need.machines() / working; }
};

struct Plan {
    Load load;
    Tier nodes;
    Tier redis;     ///< Masters; each wants a replica beside it.
    Tier database;  ///< One: presenced does not share profiles out over several.

    /// The fullest of all.
    struct Fullest {
        const Tier* tier;
        const Need* need;
    };
    [[nodiscard]] Fullest bottleneck() const;
    /// Whether one database takes all rows.
    [[nodiscard]] bool database_suffices() const { return database.use_of(database.needs[0]) <= 1; }
};

/// @param deployment, costs  Have passed validate().
[[nodiscard]] Plan size(const Deployment& deployment, const Costs& costs);

/// Of `nodes` those on which at least one of `watchers` is, on average.
[[nodiscard]] double nodes_told(double nodes, double watchers);

}  // namespace presence::plan
