#pragma once

#include "options.h"
#include "report.h"

#include <array>
#include <string_view>

namespace presence::bench {

/// CPU per heartbeat: an unsolicited Pong without an answer, or (`acked`) the JSON message.
[[nodiscard]] Report run_heartbeat(const Options& options);

/// User memory per idle, signed-in, present session and per watch; CPU per sign-in.
[[nodiscard]] Report run_idle(const Options& options);

/// CPU per delivered update, 1,000 watchers; single changes, and eight to each reader at once.
[[nodiscard]] Report run_fanout(const Options& options);

/// Time and CPU to get the presence of 100 users.
[[nodiscard]] Report run_snapshot(const Options& options);

/// CPU per whole reconnect: accept, upgrade, token, resume, 40 watches and their snapshot.
[[nodiscard]] Report run_reconnect(const Options& options);

/// How long after its ttl a session that fell silent is offline to a watcher.
[[nodiscard]] Report run_silent_death(const Options& options);

/// A storm of joins into one room of 15,000, and signals in small rooms.
[[nodiscard]] Report run_room(const Options& options);

/// Store commands per heartbeat of one node in steady state, and Redis memory per user.
[[nodiscard]] Report run_store(const Options& options);

/// From a change on one node to a watcher on another over one Redis, beside a bare
/// PUBLISH-SUBSCRIBE ping.
[[nodiscard]] Report run_propagate(const Options& options);

/// Both for three nodes on a Redis Cluster of three masters with a replica each.
[[nodiscard]] Report run_cluster(const Options& options);

/// A node with 5,000 sessions is killed: what watchers are told, when, and what the store is asked.
[[nodiscard]] Report run_node_death(const Options& options);

/// A storm of joins into one room over three nodes: when the count is right, and what watchers get.
[[nodiscard]] Report run_nodes(const Options& options);

/// What the core costs by itself: bytes and time of sessions, heartbeats, looks, watches and
/// expiries for crowds of different sizes. Starts no server.
[[nodiscard]] Report run_engine(const Options& options);

/// All that people do, and faults, for as long as a phase is; then everybody leaves. Fails if
/// anything is left.
[[nodiscard]] Report run_soak(const Options& options);

/// What presenced costs beside other servers under the same load. Needs their packages.
[[nodiscard]] Report run_peers(const Options& options);

struct Scenario {
    std::string_view name;
    std::string_view summary;
    Report (*run)(const Options&);
};

inline constexpr std::array<Scenario, 15> kScenarios{{
    {"heartbeat", "CPU per heartbeat; --acked: with an answer", run_heartbeat},
    {"idle", "user memory per idle session and per watch, CPU per sign-in", run_idle},
    {"fanout", "CPU per delivered update, 1,000 watchers", run_fanout},
    {"snapshot", "time to get 100 presences", run_snapshot},
    {"reconnect", "CPU per reconnect: resume, 40 watches, snapshot", run_reconnect},
    {"silent-death", "time from the ttl of a silent session until a watcher knows",
     run_silent_death},
    {"room", "a room of 15,000: joins, counts, memory; 2,000 signals a second", run_room},
    {"store", "Redis commands per heartbeat, Redis memory per user; one node", run_store},
    {"propagate", "change to watcher across two nodes, beside a Redis ping", run_propagate},
    {"nodes", "10,000 join one room on three nodes, 200 and 400 look on", run_nodes},
    {"cluster", "both of three nodes, 15,000 sessions in all, on a Redis Cluster", run_cluster},
    {"node-death", "one of three nodes killed with 5,000 sessions, half come back elsewhere",
     run_node_death},
    {"engine",
     "the core without sockets: 1,000 to 1,000,000 sessions, ten million by --connections",
     run_engine},
    {"soak", "everything at once on one node and on three, with faults: what is left at the end",
     run_soak},
    {"peers", "beside ws, uWebSockets and Mosquitto; not in `all`", run_peers},
}};

}  // namespace presence::bench
