#pragma once

#include "presence/stores/redis/client.h"
#include "presence/stores/redis/pubsub_link.h"

#include <boost/unordered/unordered_flat_map.hpp>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace presence::redis {

struct SubscriberCounters {
    std::atomic<std::uint64_t> channels = 0;  ///< Wanted now.
    std::atomic<std::uint64_t> in_force = 0;  ///< Confirmed now.
    std::atomic<std::uint64_t> lost = 0;    ///< Subscriptions that were in force and ceased to be.
    std::atomic<std::uint64_t> healed = 0;  ///< Groups of which all are back.
    std::atomic<std::uint64_t> messages = 0;
};

/// A node's sharded subscriptions, each on a connection to the master of its slot, wherever that
/// goes: after a lost connection, a fail-over or a moved slot they are asked for again in bounded
/// batches. Channels come in groups (partitions); a group is told to be healed when the last of its
/// lost subscriptions is in force again. The store's thread.
class Subscriber final : private Client::Listener, private PubSubLink::Owner {
public:
    class Sink {
    public:
        virtual ~Sink() = default;
        virtual void on_message(std::string_view channel, std::string_view payload) = 0;
        /// From now on what is published arrives.
        virtual void on_in_force(std::string_view channel) = 0;
        /// Messages may have been missed; from now on they arrive.
        virtual void on_healed(std::uint32_t group) = 0;
    };

    Subscriber(Client& client, Sink& sink);
    ~Subscriber() override;
    Subscriber(const Subscriber&) = delete;
    Subscriber& operator=(const Subscriber&) = delete;

    /// Wants a channel that it does not want yet.
    void add(const std::string& channel, std::uint32_t group);
    void remove(const std::string& channel);
    [[nodiscard]] bool in_force(const std::string& channel) const;
    /// Whether waiting for the channel has any point now.
    [[nodiscard]] bool is_near(const std::string& channel) const;
    /// Nobody waits for the channel any more; that it is in force is told as a healing.
    void owe(const std::string& channel);
    /// Nothing is heard from a group: takes all its subscriptions for lost, and asks for them
    /// again.
    void renew(std::uint32_t group);

    [[nodiscard]] const SubscriberCounters& counters() const noexcept { return counters_; }

private:
    struct Channel {
        std::uint16_t slot = 0;
        std::uint32_t group = 0;
        bool in_force = false;
        bool owed = false;  ///< Counted in owed_.
    };
    struct Slot {
        PubSubLink* link = nullptr;
        std::size_t channels = 0;
    };

    void on_servers_changed() override;
    void link_ready(PubSubLink& link) override;
    void link_lost(PubSubLink& link) override;
    void confirmed(PubSubLink& link, std::string_view channel) override;
    void revoked(PubSubLink& link, std::string_view channel) override;
    void refused(PubSubLink& link, std::vector<std::string> channels,
                 std::string_view why) override;
    void message(std::string_view channel, std::string_view payload) override;

    [[nodiscard]] PubSubLink* link_for(std::uint16_t slot);
    void ask(const std::string& name, const Channel& channel);
    void lose(Channel& channel);
    void settle_debt(Channel& channel);
    void ask_slots(const std::vector<std::uint16_t>& slots);
    void drop_unneeded_links();
    void look_again_later();
    void tick();

    Client& client_;
    Sink& sink_;
    SubscriberCounters counters_;
    boost::unordered_flat_map<std::string, Channel> channels_;
    std::map<std::uint16_t, Slot> slots_;
    std::map<Endpoint, std::unique_ptr<PubSubLink>> links_;
    std::vector<std::unique_ptr<PubSubLink>> leaving_;
    std::map<std::uint32_t, std::size_t> owed_;  ///< Group to lost subscriptions.
    Scheduler::TimerId tick_{};
    bool look_again_ = false;
};

}  // namespace presence::redis
