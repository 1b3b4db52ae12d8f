#pragma once

#include "presence/base/ids.h"
#include "presence/base/result.h"
#include "presence/base/task.h"
#include "presence/base/time.h"
#include "presence/ports/profile_store.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace presence {

/// What a node says of itself with each renewal of its lease.
struct NodeLease {
    NodeId node;
    Millis ttl{0};
    bool leaving = false;  ///< It drains: its sessions are others' soon.
    /// The life of the store (Membership::incarnation) to which it has stated all its sessions.
    std::string asserted;
};

/// A node as the others know it. Stays known after its death until its sessions are settled.
struct NodeFacts {
    NodeId node;
    WallTime renewed_at;  ///< Reference clock.
    bool alive = false;   ///< Its lease stands.
    bool leaving = false;
    std::string asserted;
};

/// Who is there.
struct Membership {
    /// One life of the store's data. Another one: all that was kept is lost.
    std::string incarnation;
    /// When that life began, by the clock of the store: all nodes are told the same. Zero: unknown.
    WallTime begun_at;
    /// Times that a part of the store lost its data, or changed hands so that the last writes to it
    /// may be lost.
    std::uint64_t losses = 0;
    WallTime reference_now;  ///< By the clock of the store, at some moment during the call.
    /// The store, or a part of it, takes nothing that needs room. Ends of presences it still takes.
    bool refuses_writes = false;
    std::vector<NodeFacts> nodes;
};

/// What a node has in one partition of the store.
struct Leftovers {
    std::vector<UserId> users;  ///< Whose records name a session of the node.
    std::size_t ends = 0;       ///< Ends of presences that it owes to the database.
};

/// The nodes that share a session store: their leases, and which sessions a dead one left. It keeps
/// facts; who sweeps what is decided in core/cluster_sweep.cc.
///
/// Users fall into partitions; each partition has an index from nodes to the users of whose records
/// they are part, kept by the commits of the SessionStore beside it. Used from one thread;
/// completes on it. Adapters: stores/redis, stores/memory (tests). Each passes
/// tests/contract/node_registry_contract.h.
/// @retval ErrorCode::unavailable  The store did not answer; what was asked may have been done.
class NodeRegistry {
public:
    virtual ~NodeRegistry() = default;

    [[nodiscard]] virtual std::uint32_t partitions() const = 0;
    /// From any thread.
    [[nodiscard]] virtual std::uint32_t partition_of(const UserId& user) const = 0;

    /// Takes or renews the lease of `lease.node`, which runs from the moment at which this was
    /// called, and reads the others.
    /// @retval ErrorCode::conflict  Others have begun to settle its death: the name is burnt.
    [[nodiscard]] virtual Task<Result<Membership>> renew(NodeLease lease) = 0;

    /// Refuses the renewals of `node` from now on. Before entomb: who renews may write.
    [[nodiscard]] virtual Task<Result<bool>> burn(NodeId node) = 0;

    /// Refuses all that `node` may still commit in the partition (CommitOutcome::fenced), and tells
    /// what it left there, as left_of. Nobody is added to that afterwards.
    [[nodiscard]] virtual Task<Result<Leftovers>> entomb(NodeId node, std::uint32_t partition,
                                                         std::size_t limit) = 0;

    /// What is in the partition of a node: users, at most `limit`, in no order.
    [[nodiscard]] virtual Task<Result<Leftovers>> left_of(NodeId node, std::uint32_t partition,
                                                          std::size_t limit) = 0;

    /// Makes ends of presences that `from` owes to the database (Commit::ended) those of `to`, at
    /// most `limit` of the partition, and returns them. None: nothing is left. With one and the
    /// same node it only reads.
    [[nodiscard]] virtual Task<Result<std::vector<LastSeenRow>>> take_ends(NodeId from, NodeId to,
                                                                           std::uint32_t partition,
                                                                           std::size_t limit) = 0;

    /// Nothing of `node` is left: it is known no more. For a dead one that was settled, and for one
    /// that takes its leave.
    [[nodiscard]] virtual Task<Result<bool>> forget(NodeId node) = 0;

    /// The commit counters of the users' records, in that order; 0 where there is none. For checks
    /// whether records were lost.
    /// @param keep_for  The records among them that name this node, and the index of it, live on as
    ///                  if they had just been written.
    [[nodiscard]] virtual Task<Result<std::vector<std::uint64_t>>> commits_of(
        std::vector<UserId> users, std::optional<NodeId> keep_for) = 0;
};

}  // namespace presence
