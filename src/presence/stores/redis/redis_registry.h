#pragma once

#include "presence/base/scheduler.h"
#include "presence/ports/node_registry.h"
#include "presence/stores/redis/client.h"
#include "presence/stores/redis/keys.h"
#include "presence/stores/redis/redis_bus.h"

namespace presence {

/// Nodes and their leases in Redis, all in one hash in the slot of partition 0, by the clock of
/// its master; tombstones and indices with the partitions that they are about. One thread;
/// completes on `home`.
///
/// The hash stays two days after the last renewal of anybody, so that the first node to come up
/// knows who was there. It also holds the life of the store: whoever finds none begins one.
class RedisRegistry final : public NodeRegistry {
public:
    static constexpr Millis kStays = std::chrono::hours{48};

    /// @param bus  Learns under which name this node is known, and counts lost lives of partitions.
    RedisRegistry(redis::Client& client, const redis::Keys& keys, Scheduler& home, RedisBus& bus,
                  Random& random)
        : client_(client), keys_(keys), home_(home), bus_(bus), random_(random) {}

    [[nodiscard]] std::uint32_t partitions() const override {
        return static_cast<std::uint32_t>(keys_.partitions());
    }
    [[nodiscard]] std::uint32_t partition_of(const UserId& user) const override {
        return keys_.partition_of(user);
    }
    [[nodiscard]] Task<Result<Membership>> renew(NodeLease lease) override;
    [[nodiscard]] Task<Result<bool>> burn(NodeId node) override;
    [[nodiscard]] Task<Result<Leftovers>> entomb(NodeId node, std::uint32_t partition,
                                                 std::size_t limit) override;
    [[nodiscard]] Task<Result<Leftovers>> left_of(NodeId node, std::uint32_t partition,
                                                  std::size_t limit) override;
    [[nodiscard]] Task<Result<std::vector<LastSeenRow>>> take_ends(NodeId from, NodeId to,
                                                                   std::uint32_t partition,
                                                                   std::size_t limit) override;
    [[nodiscard]] Task<Result<bool>> forget(NodeId node) override;
    [[nodiscard]] Task<Result<std::vector<std::uint64_t>>> commits_of(
        std::vector<UserId> users, std::optional<NodeId> keep_for) override;

private:
    [[nodiscard]] Task<Result<bool>> run_on_nodes(const redis::Script& script, NodeId node);
    /// @param bury  Puts the tombstone in the same step.
    [[nodiscard]] Task<Result<Leftovers>> look(NodeId node, std::uint32_t partition,
                                               std::size_t limit, bool bury);

    redis::Client& client_;
    const redis::Keys& keys_;
    Scheduler& home_;
    RedisBus& bus_;
    Random& random_;
    NodeId told_bus_;
    std::string life_;  ///< Membership::incarnation as last read.
};

}  // namespace presence
