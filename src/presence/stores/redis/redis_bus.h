#pragma once

#include "presence/base/scheduler.h"
#include "presence/model/partition.h"
#include "presence/ports/presence_bus.h"
#include "presence/stores/redis/client.h"
#include "presence/stores/redis/keys.h"
#include "presence/stores/redis/lives.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace presence {

/// What the bus of a node has done. Any thread may read.
struct RedisBusCounters {
    std::atomic<std::uint64_t> subscriptions = 0;  ///< Users subscribed to now, lingering ones too.
    std::atomic<std::uint64_t> refused = 0;        ///< Over RedisConfig::channels.
    std::atomic<std::uint64_t> messages = 0;       ///< That have arrived.
    std::atomic<std::uint64_t> unreadable = 0;     ///< Of another release, or damaged.
    std::atomic<std::uint64_t> not_sent = 0;       ///< Told within the node only, for now.
    std::atomic<std::uint64_t> unsent_dropped = 0;  ///< Too many waited: read anew instead.
    std::atomic<std::uint64_t> taken_again =
        0;                                      ///< Times that a holder of a session was told anew.
    std::atomic<std::uint64_t> taken_lost = 0;  ///< Given up: it has to find out by itself.
    std::atomic<std::uint64_t> gaps = 0;        ///< Partitions that were deaf and are healed.
    std::atomic<std::uint64_t> shaken = 0;      ///< Partitions with a new life or server.
    std::atomic<std::uint64_t> probes_sent = 0;
    std::atomic<std::uint64_t> probes_missed = 0;
};

/// The bus between nodes, over Redis' sharded channels: one endpoint a gateway thread. A node
/// subscribes to a user's channel once, however many of its threads watch, and a message crosses
/// once to each node; here it is decoded once and goes on to the threads that asked.
///
///     commit --script--> channel of the user --> each node that watches --> each thread that does
///
/// All publications about a user take the same way, those of this node too, so that all watchers
/// are told in one order and once. Where Redis cannot be reached, `publish` tells this node's own.
/// Changes of profiles go over the channel of the user's partition, which every node subscribes to.
/// Each node has a channel of its own for what concerns its sessions: signals to their users, and
/// sessions that others have taken; such messages are handed to the user's home thread.
///
/// A subscription whose last watcher went lingers for RedisConfig::linger. One that is asked for
/// while Redis is away completes all the same, so that watchers are served with what this node
/// knows; the gap handler tells when it is in force, and so nothing is missed in the end. Probes
/// find out subscriptions that were lost in silence.
class RedisBus {
public:
    /// @param threads  The endpoints' threads, at most 64. They and the client outlive the bus.
    /// @param lives  What the probes tell of them is noted here.
    /// @param seed  Tells nodes apart, for who probes first.
    RedisBus(redis::Client& client, const redis::Keys& keys, redis::Lives& lives,
             std::vector<Scheduler*> threads, std::uint64_t seed);
    ~RedisBus();  ///< Blocks for the store's thread. The client may be stopped, not destroyed.
    RedisBus(const RedisBus&) = delete;
    RedisBus& operator=(const RedisBus&) = delete;

    /// To be used on thread `index` only.
    [[nodiscard]] PresenceBus& endpoint(std::size_t index);
    /// The thread that gets the signals for a user; the same as core's Homes::index_of.
    [[nodiscard]] std::size_t home_of(const UserId& user) const noexcept;
    /// Told on thread `index` that changes of users of some partitions, and of their profiles, may
    /// have been missed; the subscriptions are in force again. What is known of these users is to
    /// be read anew. To be set on that thread.
    void set_gap_handler(std::size_t index, std::function<void(const PartitionSet&)> handler);
    /// Under which name this node holds sessions from now on: what is sent to that name arrives
    /// here. Any thread.
    void set_node(NodeId node);
    /// Part of the store has lost its data: finds out at once which others have. Any thread.
    void look_at_lives();
    [[nodiscard]] const RedisBusCounters& counters() const noexcept;

private:
    class Hub;
    class Endpoint;
    std::shared_ptr<Hub> hub_;  ///< Lives until the work that it has posted is over.
    std::vector<std::unique_ptr<Endpoint>> endpoints_;
};

}  // namespace presence
