#pragma once

#include "child_process.h"
#include "redis_link.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace presence::bench {

/// A real redis-server, or a cluster of three masters with a replica each: free ports of loopback,
/// nothing kept on disk, on any core. Ends with its owner. All members throw BenchFailure.
class RedisTarget {
public:
    static RedisTarget single();
    static RedisTarget cluster();

    /// What a node has as `store.url`.
    [[nodiscard]] std::string url() const;
    [[nodiscard]] bool is_cluster() const noexcept { return servers_.size() > 1; }
    [[nodiscard]] const std::vector<std::uint16_t>& masters() const noexcept { return masters_; }

    /// Calls of each command since the start, those inside scripts included, over all masters.
    [[nodiscard]] std::map<std::string, double> command_calls() const;

    /// Memory of what all masters hold, without the buffers of connections and replicas.
    [[nodiscard]] double data_bytes() const;

    /// Stops all servers, or lets them go on: they answer nobody meanwhile.
    void pause(bool stopped) const;

    /// Writes what the usual scheme has for each user: `SET presence:USER GATEWAY EX` and `ZADD`.
    void write_pairs(const std::vector<std::string>& users) const;
    void empty() const;

private:
    explicit RedisTarget(std::size_t servers);

    void join_servers();

    std::unique_ptr<TemporaryFolder> folder_;
    std::vector<std::uint16_t> servers_;
    std::vector<std::uint16_t> masters_;
    std::vector<std::unique_ptr<ChildProcess>> children_;
};

}  // namespace presence::bench
