#pragma once

#include "deployment.h"
#include "sizing.h"

#include <cstdint>

namespace presence::plan {

/// What a stretch of time was like at its worst.
struct Course {
    double seconds = 0;
    double node_cpu_mean = 0;   ///< Part of a node's cores.
    double node_cpu_worst = 0;  ///< Over the worst second.
    double node_wait_ms = 0;    ///< Longest that work waited for a core of the node.
    double redis_cpu_mean = 0;
    double redis_cpu_worst = 0;
    double redis_wait_ms = 0;
    double node_gbit_worst = 0;
    double deliveries_worst = 0;  ///< A second, of all nodes.
    double rows_worst = 0;        ///< A second, of all nodes.
    double rows_waiting = 0;      ///< Most that waited for the database, in all nodes.
    double rows_wait_s = 0;       ///< Longest that a row waited for it.

    // Of an outage, of all nodes; seconds since it began.
    double silenced = 0;
    double told_offline = 0;
    double first_offline_s = 0;
    double last_offline_s = 0;
    double turned_away = 0;  ///< Connections over `accepts`, which came again.
    double last_back_s = 0;
    double sign_ins_worst = 0;  ///< A second, of one node.
};

/// One node's share of the peak, event by event, for a minute once it has run in: each device with
/// its own heartbeats. Redis and the database get what all nodes give them, taken to be alike,
/// chance included, which makes them fuller at times than they would be. Work waits in order for
/// cores that do so much a second; `size` gave how many of them there are. The same again from the
/// same seed. Memory: 24 bytes a device of a node.
[[nodiscard]] Course simulate_peak(const Deployment& deployment, const Costs& costs,
                                   const Plan& plan, std::uint64_t seed);

/// The same with an outage: at its beginning `region_share` of the devices fall silent in the same
/// moment; once it is over they come back within `return_s`, as fast as nodes accept them. Until a
/// minute after the last is back.
[[nodiscard]] Course simulate_outage(const Deployment& deployment, const Costs& costs,
                                     const Plan& plan, std::uint64_t seed);

}  // namespace presence::plan
