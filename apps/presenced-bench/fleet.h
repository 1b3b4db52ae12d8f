#pragma once

#include "load_client.h"
#include "options.h"
#include "redis_target.h"
#include "targets.h"

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace presence::bench {

/// Nodes on one Redis, with clients on each. Members throw BenchFailure.
class Fleet {
public:
    Fleet(const Options& options, RedisTarget redis, std::size_t nodes);

    /// Signs in `count` people in all, spread evenly over the nodes.
    void grow_to(std::size_t count);
    /// Heartbeats for that long, so many a second over all connections; gives how many.
    std::size_t beat(double per_second, std::chrono::milliseconds duration);

    [[nodiscard]] const RedisTarget& redis() const noexcept { return redis_; }
    [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }
    [[nodiscard]] std::uint16_t port(std::size_t node) const { return nodes_[node].port(); }
    [[nodiscard]] std::vector<std::string> users() const;
    /// Ends nodes and clients; the store stays.
    void end_nodes();

private:
    RedisTarget redis_;
    std::vector<Target> nodes_;
    std::vector<std::unique_ptr<LoadClient>> people_;
    std::size_t next_ = 0;  ///< Whose turn it is to beat.
};

/// What nodes asked of the store while `beats` heartbeats came.
struct StoreUse {
    double commands = 0;  ///< Sent by nodes, but for probes.
    double probes = 0;
    double inner = 0;  ///< Calls inside scripts, those of probes included.
};

/// @param before, after  Of RedisTarget::command_calls().
[[nodiscard]] StoreUse store_use(const std::map<std::string, double>& before,
                                 const std::map<std::string, double>& after);

/// Microseconds, one entry a sample.
struct Delays {
    std::vector<double> changes;  ///< From a person's message on one node to a watcher on another.
    std::vector<double> pings;    ///< From SPUBLISH to the message, on two bare connections.
};

/// Takes turns: a change, a ping. People on each node, a watcher on each next one.
[[nodiscard]] Delays measure_delays(Fleet& fleet, std::chrono::milliseconds duration);

}  // namespace presence::bench
