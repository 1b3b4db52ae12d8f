#pragma once

#include "presence/core/cluster_member.h"
#include "presence/core/connect_shards.h"
#include "presence/core/survey.h"
#include "presence/stores/memory/memory_profiles.h"
#include "presence/stores/memory/memory_registry.h"
#include "presence/stores/memory/memory_sessions.h"

#include "support/joined_bus.h"
#include "support/pausable_scheduler.h"
#include "support/run_task.h"
#include "support/virtual_time.h"
#include "unit/core/world_parts.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace presence::testing {

/// Several nodes of one thread each on one store in memory, in virtual time. Everything of a node
/// runs on a scheduler of its own, so that the node can be stopped or killed.
class Cluster {
public:
    struct Node {
        Node(Cluster& cluster, std::uint64_t seed);
        Node(const Node&) = delete;
        Node& operator=(const Node&) = delete;
        ~Node();

        PausableScheduler scheduler;
        ReferenceClock clock;
        SeededRandom random;
        JoinedBus::Endpoint endpoint;
        MemorySessionStore store;
        MemoryProfileStore profiles;
        MemoryRegistry registry;
        RecordingHooks hooks;
        Shard shard;
        Shards shards;
        RecordingGateway gateway;
        std::vector<StoreHealth> health;
        ClusterMember member;
        Survey survey;
        bool killed = false;
        Millis tick_every = PresenceService::kTick;
    };
    struct Device : ClientState {
        Node* node = nullptr;
    };
    using DeviceRef = std::shared_ptr<Device>;

    explicit Cluster(std::size_t size, CoreConfig with = {});
    Cluster(const Cluster&) = delete;
    Cluster& operator=(const Cluster&) = delete;
    ~Cluster();

    Node& add_node();
    [[nodiscard]] Node& node(std::size_t index) { return *nodes_.at(index); }

    // --- Time ------------------------------------------------------------------------------------
    void run(Millis time);
    template <class T>
    T wait(Task<T> task) {
        const Started<T> result = start_task(std::move(task));
        const MonoTime most = clock.now() + Millis{60'000};
        while (!result->has_value()) {
            PRESENCE_ASSERT(clock.now() < most);
            run(Millis{1});
        }
        return std::move(**result);
    }
    /// kill -9: nothing of it runs any more, its connections are gone without a word.
    void kill(Node& node);
    void pause(Node& node) { node.scheduler.pause(); }
    void go_on(Node& node) { node.scheduler.go_on(); }
    /// What the bus brings does not get to the node, nor the node's own to others; the store does.
    static void set_deaf(Node& node, bool deaf) { node.endpoint.set_reachable(!deaf); }
    /// What a node does when it hears again.
    static void close_gap(Node& node);
    /// The store, the bus and the registry, for everybody.
    void set_store(bool up);

    // --- Devices ---------------------------------------------------------------------------------
    Result<DeviceRef> try_connect(Node& node, const char* user, const DeviceRef& resume = nullptr);
    DeviceRef connect(Node& node, const char* user, const DeviceRef& resume = nullptr);
    void lose(const DeviceRef& device);
    void bye(const DeviceRef& device);
    void leave(const DeviceRef& device, const std::string& room);
    /// What the device was told of rooms since the last time.
    std::vector<std::string> told_rooms(const DeviceRef& device);
    [[nodiscard]] RecordingGateway::Connection& connection(const DeviceRef& device) {
        return device->node->gateway.at(device->connection);
    }
    void declare(Node& node, const char* user, DeclaredStatus status);

    /// What receivers of webhooks were told of rooms by all nodes, "what room user", in no order
    /// between nodes.
    std::vector<std::string> told_of_rooms();

    // --- Rooms -----------------------------------------------------------------------------------
    Result<ToldRoom> try_join(const DeviceRef& device, const std::string& room,
                              const Joining& how = {});
    /// What was answered.
    ToldRoom join(const DeviceRef& device, const std::string& room, const Joining& how = {});
    RoomFacts room_facts(Node& node, const char* room);

    // --- Watching --------------------------------------------------------------------------------
    void hide(const char* user);
    void block(Node& node, const char* user, const char* other);
    std::vector<Told> watch(const DeviceRef& viewer, const std::vector<const char*>& users);
    Told look(Node& node, const char* viewer, const char* user);
    [[nodiscard]] UserRecordRef record(const char* user) { return sessions.load(UserId(user)); }
    [[nodiscard]] std::optional<WallTime> stored_last_seen(const char* user);

    CoreConfig config;
    Limits limits;
    VirtualClock clock;
    VirtualScheduler scheduler{clock};
    MemorySessions sessions{clock};
    MemoryNodes nodes{clock, sessions};
    MemoryProfiles profiles;
    JoinedBus bus;

private:
    void tick(Node& node);
    /// By the network's time: a stopped node finds what its clients sent when it goes on.
    void beat_later(const DeviceRef& device);

    std::vector<std::unique_ptr<Node>> nodes_;
    std::uint64_t room_requests_ = 0;
};

}  // namespace presence::testing
