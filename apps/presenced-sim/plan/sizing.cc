#include "sizing.h"

#include "presence/base/assert.h"

#include <algorithm>
#include <cmath>

namespace presence::plan {

namespace {

constexpr double kSecondsADay = 86'400;
constexpr double kGiga = 1e9;
constexpr double kMicros = 1e6;

Load load_of(const Deployment& of, const Costs& costs) {
    Load load;
    const double sessions_per_s = of.users * of.sessions_per_day / kSecondsADay;
    load.connected_average = sessions_per_s * of.session_minutes * 60;
    load.connected = load.connected_average * of.peak_factor;
    load.heartbeats = load.connected / of.interval_s;
    load.starts = sessions_per_s * of.peak_factor;
    load.drops = load.starts * of.drops_per_session;
    load.told = load.starts * (2 + of.changes_per_session);
    // As many edges as devices have watches, over all users.
    load.watchers = load.connected * of.watches / of.users;
    load.deliveries = load.told * load.watchers;
    load.deliveries_to_contacts = load.told * of.contacts;
    load.rows = load.starts;
    load.rows_average = sessions_per_s;
    load.rows_by_heartbeat = load.heartbeats;
    // One a change, one for the loss of a connection, one for its return.
    load.commits = load.told + 2 * load.drops;
    load.reads = load.starts + load.drops;
    load.checks = load.heartbeats;
    load.wire_bytes = load.heartbeats * costs.heartbeat_wire +
                      load.deliveries * costs.delivery_wire +
                      (load.starts + load.drops) * costs.sign_in_wire;
    return load;
}

Tier nodes_for(const Deployment& of, const Costs& costs, const Load& load) {
    const double cpu_us = load.heartbeats * costs.heartbeat_us +
                          (load.starts + load.drops) * costs.sign_in_us +
                          (load.told - load.starts + load.drops) * costs.change_us +
                          load.deliveries * costs.delivery_us;
    const double bytes = load.connected * (costs.session_bytes + costs.socket_bytes +
                                           of.watches * costs.watch_bytes);
    Tier tier{"nodes", {}, 0, of.spare_nodes};
    tier.needs = {
        {"CPU", "cores", cpu_us / kMicros, of.node_cores * of.most_load},
        {"memory", "GB", bytes / kGiga, of.node_memory_gb * of.most_load},
        {"connections", "", load.connected, of.node_connections},
        {"network", "Gbit/s", load.wire_bytes * 8 / kGiga, of.node_gbit * of.most_load},
    };
    tier.working = std::max(std::ceil(tier.tightest().machines()), 1.0);
    return tier;
}

Tier redis_for(const Deployment& of, const Costs& costs, const Load& load) {
    const double cpu_us = load.commits * costs.redis_commit_us + load.reads * costs.redis_read_us +
                          load.checks * costs.redis_check_us +
                          load.messages * costs.redis_message_us;
    Tier tier{"Redis masters", {}, 0, 0};
    tier.needs = {
        {"CPU", "cores", cpu_us / kMicros, of.most_load},
        {"memory", "GB", load.connected * costs.redis_user_bytes / kGiga,
         of.shard_memory_gb * of.most_load},
    };
    tier.working = std::max(std::ceil(tier.tightest().machines()), 1.0);
    return tier;
}

}  // namespace

const Need& Tier::tightest() const {
    PRESENCE_ASSERT(!needs.empty());
    return *std::ranges::max_element(needs, {}, &Need::machines);
}

Plan::Fullest Plan::bottleneck() const {
    Fullest fullest{&nodes, &nodes.tightest()};
    for (const Tier* tier : {&redis, &database}) {
        if (tier->use_of(tier->tightest()) > fullest.tier->use_of(*fullest.need)) {
            fullest = {tier, &tier->tightest()};
        }
    }
    return fullest;
}

double nodes_told(double nodes, double watchers) {
    return nodes * (1 - std::pow(1 - 1 / nodes, watchers));
}

Plan size(const Deployment& deployment, const Costs& costs) {
    Plan plan;
    plan.load = load_of(deployment, costs);
    plan.nodes = nodes_for(deployment, costs, plan.load);
    plan.load.messages = plan.load.told * nodes_told(plan.nodes.working, plan.load.watchers);
    plan.redis = redis_for(deployment, costs, plan.load);
    plan.database = {"database", {}, 1, 0};
    plan.database.needs = {
        {"rows of last seen", "rows/s", plan.load.rows, deployment.database_rows}};
    return plan;
}

}  // namespace presence::plan
