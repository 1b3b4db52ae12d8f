// What a node does about the deaths of others (DESIGN rule 32).

#include "presence/base/log.h"
#include "presence/core/at_homes.h"
#include "presence/core/cluster_member.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

namespace presence {

namespace {

/// Users of a dead node settled with one read and one write.
constexpr std::size_t kSweepBatch = 200;
/// Ends that this node owes in one partition, read again where it has not heard of some: more than
/// all partitions together hold where a few thousand end while the database is away.
constexpr std::size_t kOwnEnds = 10'000;
/// Between two looks at a node whose time is as good as over.
constexpr Millis kLeastLook{50};

/// splitmix64's finish: spreads what differs in few bits.
std::uint64_t mix(std::uint64_t value) {
    value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31U);
}

/// Notes where some of the dead node's sessions stay.
Task<Result<bool>> settle_share(PresenceService& service, std::vector<UserId> share, NodeId node,
                                WallTime died_at, std::shared_ptr<std::atomic<bool>> all_gone) {
    Result<bool> gone = co_await service.settle_death(std::move(share), node, died_at);
    if (gone && !*gone) {
        *all_gone = false;
    }
    co_return gone;
}

}  // namespace

NodeId ClusterMember::sweeper_of(NodeId dead, std::uint32_t partition) const {
    const MonoTime came_late = parts_.clock.now() - parts_.config.cluster.lease;
    const auto weight = [&](NodeId node) {
        const bool sweeps = node == self_ || alive_since_.at(node) <= came_late;
        return std::pair(sweeps, mix(mix(node.value) ^ mix(dead.value + partition)));
    };
    return live_.empty() ? self_ : *std::ranges::max_element(live_, {}, weight);
}

void ClusterMember::look_for_deaths(const Membership& membership) {
    const MonoTime now = parts_.clock.now();
    const Millis patience = parts_.config.death_patience();
    Millis next_look = parts_.config.cluster.renew_every;
    for (const NodeFacts& node : membership.nodes) {
        if (node.node == self_ || settling_.contains(node.node)) {
            continue;
        }
        const Millis left =
            std::max(node.renewed_at + patience - membership.reference_now, no_deaths_until_ - now);
        if (!node.alive && left <= Millis{0}) {
            settle_death(node.node, node.renewed_at);
        } else {
            next_look = std::min(next_look, std::max(left, kLeastLook));
        }
    }
    for (const auto& [node, until] : awaited_) {
        next_look = std::min(next_look, std::max(until - now, kLeastLook));
    }
    if (next_look < parts_.config.cluster.renew_every) {
        schedule(next_look);  // When its time is over, be it still alive now, not a beat later.
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
    // First of all: a node that renews must not believe that it may still write.
    Result<bool> burnt = co_await parts_.registry.burn(node);
    bool clean = burnt.has_value();
    for (std::uint32_t partition = 0; burnt && partition < partitions; ++partition) {
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
            Result<Leftovers> left = co_await parts_.registry.left_of(node, partition, 1);
            clean = left && left->users.empty() && left->ends == 0;
        }
    }
    if (clean) {
        Result<bool> forgotten = co_await parts_.registry.forget(node);
        counters_.deaths_settled += forgotten ? 1U : 0U;
    }
    settling_.erase(node);
}

Task<bool> ClusterMember::take_ends_once(NodeId node, std::uint32_t partition) {
    const std::size_t most = node == self_ ? kOwnEnds : kSweepBatch;
    while (true) {
        Result<std::vector<LastSeenRow>> rows =
            co_await parts_.registry.take_ends(node, self_, partition, most);
        if (!rows) {
            unheard_ends_.insert(partition);
            co_return false;
        }
        if (rows->empty()) {
            co_return true;
        }
        counters_.ends_taken_over += rows->size();
        for (LastSeenRow& row : *rows) {
            Shard& home = parts_.shards.home_of(row.user);
            home.scheduler.post(
                [&home, row = std::move(row)]() mutable { home.last_seen.note(std::move(row)); });
        }
        if (node == self_) {
            co_return true;
        }
    }
}

Task<bool> ClusterMember::take_ends(NodeId node, std::uint32_t partition) {
    if (unheard_ends_.erase(partition) > 0) {
        const bool heard = co_await take_ends_once(self_, partition);
        if (!heard) {
            co_return false;
        }
    }
    const bool taken = co_await take_ends_once(node, partition);
    co_return taken;
}

Task<bool> ClusterMember::sweep(NodeId node, WallTime died_at, std::uint32_t partition) {
    std::vector<UserId> before;
    Result<Leftovers> left = co_await parts_.registry.entomb(node, partition, kSweepBatch);
    while (left) {
        if (left->ends > 0 || unheard_ends_.contains(partition)) {
            const bool taken = co_await take_ends(node, partition);
            if (!taken) {
                co_return false;
            }
        }
        if (left->users.empty() || left->users == before) {
            co_return left->users.empty();
        }
        before = left->users;
        counters_.users_swept += left->users.size();
        const std::size_t count = left->users.size();
        auto all_gone = std::make_shared<std::atomic<bool>>(true);
        const auto flow = [node, died_at, all_gone](PresenceService& service,
                                                    std::vector<UserId> share) {
            return settle_share(service, std::move(share), node, died_at, all_gone);
        };
        const bool settled = co_await at_homes(std::move(left->users), flow);
        if (!settled) {
            unheard_ends_.insert(partition);  // Some may be committed, and the answer lost.
            co_return false;
        }
        if (*all_gone && count < kSweepBatch) {
            co_return true;  // Nobody can have been added meanwhile.
        }
        left = co_await parts_.registry.left_of(node, partition, kSweepBatch);
    }
    co_return false;
}

}  // namespace presence
