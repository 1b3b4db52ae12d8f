#pragma once

#include "presence/base/result.h"

#include <cstddef>
#include <span>
#include <string_view>

namespace presence::plan {

/// Who is to be served, and by what machines. Each field is a flag of `presenced-sim plan`
/// (kDeploymentFields); times are seconds, memory gigabytes of 10^9 bytes.
struct Deployment {
    // People.
    double users = 50e6;
    double contacts = 150;
    double sessions_per_day = 20;
    double session_minutes = 9;
    double peak_factor = 1.6;  ///< Connected and coming at the peak, over the average of a day.
    double drops_per_session = 0.5;
    double changes_per_session = 1;
    double silent_share = 0.5;
    double watches = 25;
    double interval_s = 30;
    double ttl_s = 100;

    // Machines.
    double node_cores = 8;
    double node_memory_gb = 32;
    double node_gbit = 10;
    double node_connections = 250'000;
    double most_load = 0.5;
    double spare_nodes = 1;
    double shard_memory_gb = 16;
    double database_rows = 20'000;
    double accepts_per_s = 2'000;

    // What goes wrong.
    double region_share = 0.1;
    double outage_s = 180;
    double return_s = 60;

    /// Refuses what cannot be: a field outside its bounds, a ttl under three intervals.
    [[nodiscard]] Result<bool> validate() const;
};

/// What one thing costs, as measured. Each field is a flag of `presenced-sim plan`; where it comes
/// from stands in kCostFields. CPU in microseconds, memory and wire in bytes.
struct Costs {
    double heartbeat_us = 3.9;
    double sign_in_us = 120;
    double change_us = 66;
    double delivery_us = 7.9;
    double session_bytes = 1'455;
    double socket_bytes = 4'096;
    double watch_bytes = 61.5;
    double redis_user_bytes = 272;
    double redis_commit_us = 14;
    double redis_read_us = 1.2;
    double redis_check_us = 3.1;
    double redis_message_us = 0.7;
    double heartbeat_wire = 140;
    double delivery_wire = 260;
    double sign_in_wire = 12'000;

    [[nodiscard]] Result<bool> validate() const;
};

/// A field of Deployment or Costs, and its bounds.
template <class Of>
struct Field {
    std::string_view name;  ///< With `--` before it the flag.
    double Of::*value;
    double least;
    double most;
    std::string_view what;  ///< For people; of a cost, with where it comes from.
};
[[nodiscard]] std::span<const Field<Deployment>> deployment_fields();
[[nodiscard]] std::span<const Field<Costs>> cost_fields();

}  // namespace presence::plan
