#include "deployment.h"

#include <fmt/format.h>

#include <cmath>

namespace presence::plan {

namespace {

constexpr Field<Deployment> kDeploymentFields[] = {
    {"users", &Deployment::users, 1, 1e10, "people who use it on a day"},
    {"contacts", &Deployment::contacts, 0, 1e6, "contacts of each: what telling all would cost"},
    {"sessions-per-day", &Deployment::sessions_per_day, 0.01, 1'000, "of each user"},
    {"session-minutes", &Deployment::session_minutes, 0.1, 1'440, "length of each"},
    {"peak-factor", &Deployment::peak_factor, 1, 100, "peak over the average of the day"},
    {"drops-per-session", &Deployment::drops_per_session, 0, 1'000,
     "lost connections that come back within the grace"},
    {"changes-per-session", &Deployment::changes_per_session, 0, 1'000,
     "of status, beside coming and going"},
    {"silent-share", &Deployment::silent_share, 0, 1, "of sessions that end without a word"},
    {"watches", &Deployment::watches, 0, 500, "users whom a device watches"},
    {"interval", &Deployment::interval_s, 0.1, 600, "seconds between heartbeats"},
    {"ttl", &Deployment::ttl_s, 0.3, 3'600, "seconds of silence that end a session"},
    {"node-cores", &Deployment::node_cores, 1, 1'024, "of one node"},
    {"node-memory", &Deployment::node_memory_gb, 0.1, 1e5, "GB of one node"},
    {"node-gbit", &Deployment::node_gbit, 0.01, 1'000, "Gbit/s of one node, each way"},
    {"node-connections", &Deployment::node_connections, 1, 5e6, "limits.connections of one node"},
    {"most-load", &Deployment::most_load, 0.05, 1, "part of CPU, memory and network to use"},
    {"spare-nodes", &Deployment::spare_nodes, 0, 1'000, "nodes that may be gone at the peak"},
    {"shard-memory", &Deployment::shard_memory_gb, 0.1, 1e4, "GB of one master of Redis"},
    {"database-rows", &Deployment::database_rows, 1, 1e8,
     "rows of last seen a second that the database takes"},
    {"accepts", &Deployment::accepts_per_s, 1, 1e6, "limits.accepts_per_second of one node"},
    {"region-share", &Deployment::region_share, 0, 1, "of the devices fall silent in the outage"},
    {"outage", &Deployment::outage_s, 0, 3'600, "seconds that it lasts"},
    {"return", &Deployment::return_s, 0, 3'600, "seconds over which they come back"},
};

constexpr Field<Costs> kCostFields[] = {
    {"cost-heartbeat", &Costs::heartbeat_us, 0, 1e6,
     "us of a node: CPU per gathered heartbeat, quiet machine (performance.md)"},
    {"cost-sign-in", &Costs::sign_in_us, 0, 1e6,
     "us of a node: CPU per whole reconnect with 40 watches and snapshot (performance.md)"},
    {"cost-change", &Costs::change_us, 0, 1e6,
     "us of a node: CPU per join with all that follows, which is dearer (performance.md)"},
    {"cost-delivery", &Costs::delivery_us, 0, 1e6,
     "us of a node: CPU per delivery (performance.md)"},
    {"cost-session", &Costs::session_bytes, 0, 1e7,
     "bytes of a node: resident memory per session (performance.md)"},
    {"cost-socket", &Costs::socket_bytes, 0, 1e7,
     "bytes of a node's kernel for a socket (operating.md, Sizing)"},
    {"cost-watch", &Costs::watch_bytes, 0, 1e6,
     "bytes of a node: resident memory per watch (performance.md)"},
    {"cost-redis-user", &Costs::redis_user_bytes, 0, 1e6,
     "bytes of Redis per user online (performance.md, The store)"},
    {"cost-redis-commit", &Costs::redis_commit_us, 0, 1e6,
     "us of Redis: the commit script with its message (measured, see sizing.md)"},
    {"cost-redis-read", &Costs::redis_read_us, 0, 1e6,
     "us of Redis: GET of a record (measured, see sizing.md)"},
    {"cost-redis-check", &Costs::redis_check_us, 0, 1e6,
     "us of Redis: one record in the check of each interval (measured, see sizing.md)"},
    {"cost-redis-message", &Costs::redis_message_us, 0, 1e6,
     "us of Redis: a message to one node (measured, see sizing.md)"},
    {"wire-heartbeat", &Costs::heartbeat_wire, 0, 1e6,
     "bytes: a Pong with its headers of TCP/IP and Ethernet, and the ACK (computed)"},
    {"wire-delivery", &Costs::delivery_wire, 0, 1e6,
     "bytes: an update of one user, 120 to 180 of JSON, with headers and ACK (computed)"},
    {"wire-sign-in", &Costs::sign_in_wire, 0, 1e7,
     "bytes: handshakes of TLS and WebSocket, hello, snapshot of the watches (computed)"},
};

template <class Of>
Result<bool> check(const Of& of, std::span<const Field<Of>> fields) {
    for (const Field<Of>& field : fields) {
        const double value = of.*field.value;
        if (!std::isfinite(value) || value < field.least || value > field.most) {
            return Error{ErrorCode::bad_request,
                         fmt::format("{} is {}, bounds are {} to {}", field.name, value,
                                     field.least, field.most)};
        }
    }
    return true;
}

}  // namespace

std::span<const Field<Deployment>> deployment_fields() {
    return kDeploymentFields;
}

std::span<const Field<Costs>> cost_fields() {
    return kCostFields;
}

Result<bool> Deployment::validate() const {
    Result<bool> checked = check(*this, deployment_fields());
    if (!checked) {
        return checked;
    }
    if (ttl_s < 3 * interval_s) {
        return Error{
            ErrorCode::bad_request,
            fmt::format("ttl is {} s, least is three intervals, {} s", ttl_s, 3 * interval_s)};
    }
    if (sessions_per_day * session_minutes > 24 * 60) {
        return Error{ErrorCode::bad_request,
                     fmt::format("sessions-per-day times session-minutes is {} minutes, most is a "
                                 "day, 1440",
                                 sessions_per_day * session_minutes)};
    }
    const double connected = users * sessions_per_day * session_minutes / (24 * 60) * peak_factor;
    if (connected > users) {
        return Error{ErrorCode::bad_request,
                     fmt::format("peak-factor is {}, and so {:.0f} would be connected at the peak; "
                                 "most is all users, {:.0f}",
                                 peak_factor, connected, users)};
    }
    return true;
}

Result<bool> Costs::validate() const {
    return check(*this, cost_fields());
}

}  // namespace presence::plan
