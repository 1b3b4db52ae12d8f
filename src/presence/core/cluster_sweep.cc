// What a node does about the deaths of others (DESIGN rule 32).

#include "presence/base/log.h"
#include "presence/core/at_homes.h"
#include "presence/core/cluster_member.h"

#include <algorithm>

namespace presence {

namespace {

/// Users of a dead node settled with one read and one write.
constexpr std::size_t kSweepBatch = 200;

/// splitmix64's finish: spreads what differs in few bits.
std::uint64_t mix(std::uint64_t value) {
    value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31U);
}

}  // namespace

NodeId ClusterMember::sweeper_of(NodeId dead, std::uint32_t partition) const {
    const auto weight = [&](NodeId node) {
        return mix(mix(node.value) ^ mix(dead.value + partition));
    };
    return live_.empty() ? self_ : *std::ranges::max_element(live_, {}, weight);
}

void ClusterMember::look_for_deaths(const Membership& membership) {
    const MonoTime now = parts_.clock.now();
    const Millis patience = parts_.config.death_patience();
    for (const NodeFacts& node : membership.nodes) {
        if (node.alive || node.node == self_ || settling_.contains(node.node)) {
            continue;
        }
        const Millis left =
            std::max(node.renewed_at + patience - membership.reference_now, no_deaths_until_ - now);
        if (left <= Millis{0}) {
            settle_death(node.node, node.renewed_at);
        } else if (left < parts_.config.cluster.renew_every) {
            schedule(left);  // Looked at again when its time is over, not up to a beat later.
        }
    }
}

void ClusterMember::forget_in_rooms(NodeId node) {
    for (Shard* const shard : parts_.shards.all) {
        shard->scheduler.post([shard, node] { shard->rooms.forget_node(node); });
    }
}

Detached ClusterMember::settle_death(NodeId node, WallTime died_at) {
    settling_.insert(node);
    forget_in_rooms(node);
    const std::uint32_t partitions = parts_.registry.partitions();
    bool clean = true;
    for (std::uint32_t partition = 0; partition < partitions; ++partition) {
        if (sweeper_of(node, partition) == self_) {
            const bool swept = co_await sweep(node, died_at, partition);
            clean = clean && swept;
        }
    }
    // One of the living closes the account, and sees to what the others left undone.
    for (std::uint32_t partition = 0; clean && partition < partitions; ++partition) {
        if (sweeper_of(node, partitions) != self_) {
            clean = false;
        } else if (sweeper_of(node, partition) != self_) {
            Result<std::vector<UserId>> left =
                co_await parts_.registry.users_of(node, partition, 1);
            clean = left && left->empty();
        }
    }
    if (clean) {
        Result<bool> forgotten = co_await parts_.registry.forget(node);
        counters_.deaths_settled += forgotten ? 1U : 0U;
    }
    settling_.erase(node);
}

Task<bool> ClusterMember::sweep(NodeId node, WallTime died_at, std::uint32_t partition) {
    Result<bool> entombed = co_await parts_.registry.entomb(node, partition);
    if (!entombed) {
        co_return false;
    }
    std::vector<UserId> before;
    while (true) {
        Result<std::vector<UserId>> users =
            co_await parts_.registry.users_of(node, partition, kSweepBatch);
        if (!users || *users == before) {
            co_return users && users->empty();
        }
        if (users->empty()) {
            co_return true;
        }
        before = *users;
        counters_.users_swept += users->size();
        const auto flow = [node, died_at](PresenceService& service, std::vector<UserId> share) {
            return service.settle_death(std::move(share), node, died_at);
        };
        const bool settled = co_await at_homes(std::move(*users), flow);
        if (!settled) {
            co_return false;
        }
        if (before.size() < kSweepBatch) {
            Result<std::vector<UserId>> left =
                co_await parts_.registry.users_of(node, partition, 1);
            co_return left && left->empty();
        }
    }
}

}  // namespace presence
