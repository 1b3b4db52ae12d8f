#include "presence/stores/memory/memory_registry.h"

#include <utility>

namespace presence {

void MemoryNodes::lose_all() {
    sessions_.lose_all();
    nodes_.clear();
    ++incarnation_;
    begun_at_ = clock_.wall_now();
}

Task<Result<bool>> MemoryRegistry::reach() {
    const StoreFaults& faults = nodes_.sessions_.faults();
    if (scheduler_ != nullptr && faults.delay() > Millis{0}) {
        co_await wait_for(*scheduler_, faults.delay());
    }
    if (faults.unavailable()) {
        co_return StoreFaults::error("node registry");
    }
    co_return true;
}

Task<Result<Membership>> MemoryRegistry::renew(NodeLease lease) {
    const MonoTime asked_at = nodes_.clock_.now();
    const WallTime asked_wall = nodes_.clock_.wall_now();
    Result<bool> reached = co_await reach();
    if (!reached) {
        co_return reached.error();
    }
    const auto known = nodes_.nodes_.find(lease.node);
    if (known != nodes_.nodes_.end() && known->second.burnt) {
        co_return Error{ErrorCode::conflict, "others have settled the death of this node", 0, 0};
    }
    nodes_.nodes_[lease.node] = {asked_wall, asked_at + lease.ttl,     lease.leaving, false,
                                 false,      std::move(lease.asserted)};
    Membership membership;
    membership.incarnation = std::to_string(nodes_.incarnation_);
    membership.begun_at = nodes_.begun_at_;
    membership.losses = nodes_.sessions_.losses();
    membership.refuses_writes = nodes_.sessions_.faults().refuses_writes();
    membership.reference_now = nodes_.clock_.wall_now();
    for (const auto& [id, entry] : nodes_.nodes_) {
        if (entry.settled) {
            continue;
        }
        membership.nodes.push_back({id, entry.renewed_at,
                                    !entry.burnt && entry.until > nodes_.clock_.now(),
                                    entry.leaving, entry.asserted});
    }
    co_return membership;
}

Task<Result<bool>> MemoryRegistry::burn(NodeId node) {
    Result<bool> reached = co_await reach();
    if (reached) {
        if (const auto known = nodes_.nodes_.find(node); known != nodes_.nodes_.end()) {
            known->second.burnt = true;
        }
    }
    co_return reached;
}

Task<Result<Leftovers>> MemoryRegistry::entomb(NodeId node, std::uint32_t partition,
                                               std::size_t limit) {
    Result<bool> reached = co_await reach();
    if (!reached) {
        co_return reached.error();
    }
    nodes_.sessions_.entomb(node, partition);
    Task<Result<Leftovers>> looking = left_of(node, partition, limit);
    Result<Leftovers> left = co_await looking;
    co_return left;
}

Task<Result<Leftovers>> MemoryRegistry::left_of(NodeId node, std::uint32_t partition,
                                                std::size_t limit) {
    Result<bool> reached = co_await reach();
    if (!reached) {
        co_return reached.error();
    }
    co_return Leftovers{nodes_.sessions_.users_of(node, partition, limit),
                        nodes_.sessions_.ends_of(node, partition)};
}

Task<Result<std::vector<LastSeenRow>>> MemoryRegistry::take_ends(NodeId from, NodeId to,
                                                                 std::uint32_t partition,
                                                                 std::size_t limit) {
    Result<bool> reached = co_await reach();
    if (!reached) {
        co_return reached.error();
    }
    co_return nodes_.sessions_.take_ends(from, to, partition, limit);
}

Task<Result<bool>> MemoryRegistry::forget(NodeId node) {
    Result<bool> reached = co_await reach();
    if (reached) {
        // A name that was burnt stays so: its process may still be asleep.
        const auto found = nodes_.nodes_.find(node);
        if (found != nodes_.nodes_.end() && !found->second.burnt) {
            nodes_.nodes_.erase(found);
        } else if (found != nodes_.nodes_.end()) {
            found->second.settled = true;
        }
    }
    co_return reached;
}

Task<Result<std::vector<std::uint64_t>>> MemoryRegistry::commits_of(
    std::vector<UserId> users, std::optional<NodeId> keep_for) {
    Result<bool> reached = co_await reach();
    if (!reached) {
        co_return reached.error();
    }
    std::vector<std::uint64_t> commits;
    commits.reserve(users.size());
    for (const UserId& user : users) {
        const UserRecordRef record = nodes_.sessions_.load(user);
        commits.push_back(record ? record->commit : 0);
        if (record && keep_for) {
            nodes_.kept_[user] = nodes_.clock_.wall_now();
        }
    }
    co_return commits;
}

}  // namespace presence
