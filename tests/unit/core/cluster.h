#pragma once

#include "presence/core/cluster_member.h"
#include "presence/core/held_here.h"
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
        Node(Cluster& cluster, std::uint64_t seed)
            : scheduler(cluster.scheduler),
              clock(cluster.clock),
              random(seed),
              endpoint(cluster.bus, scheduler),
              store(cluster.sessions, &endpoint, &scheduler),
              profiles(cluster.profiles, &scheduler),
              registry(cluster.nodes, &scheduler),
              shard({scheduler, clock, random, store, profiles, endpoint, nullptr, cluster.config,
                     cluster.limits, nullptr, &hooks}),
              shards{Homes({&scheduler}), {&shard}},
              gateway(shard),
              member({scheduler, clock, random, registry, shards, cluster.config,
                      [this](StoreHealth now) { health.push_back(now); }}),
              survey({scheduler, clock, shards, [this] { return member.look_over(); }}) {
            shard.reader.set_held_here([this](std::vector<UserId> users) {
                return records_held(scheduler, shards, std::move(users));
            });
            shard.reader.set_ask_known([this](std::vector<UserId> users) {
                return versions_known(scheduler, shards, std::move(users));
            });
            shard.reader.set_on_lapsed([this](const UserId& user) {
                scheduler.post([this, user] { shard.service.settle_lapsed(user); });
            });
            shard.watches.set_on_older([this](const UserId& user, ToldVersions told) {
                scheduler.post([this, user, told] { shard.service.settle_above(user, told); });
            });
            shard.reader.set_on_unreachable([this] { member.suspect(); });
        }

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

    explicit Cluster(std::size_t size, CoreConfig with = {}) : config(with) {
        for (std::size_t i = 0; i < size; ++i) {
            add_node();
        }
        run(Millis{10});
    }

    Node& add_node() {
        nodes_.push_back(std::make_unique<Node>(*this, 100 + nodes_.size()));
        Node& node = *nodes_.back();
        tick(node);
        static_cast<void>(start_task(node.member.start()));
        return node;
    }
    [[nodiscard]] Node& node(std::size_t index) { return *nodes_.at(index); }

    // --- Time ------------------------------------------------------------------------------------
    void run(Millis time) {
        const MonoTime end = clock.now() + time;
        while (scheduler.next_deadline() && *scheduler.next_deadline() <= end) {
            scheduler.run_next();
            for (const auto& node : nodes_) {
                node->shard.watches.flush();
                node->endpoint.set_node(node->member.self());
            }
        }
        scheduler.advance_to(end);
    }
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
    void kill(Node& node) {
        node.killed = true;
        node.scheduler.kill();
        node.endpoint.set_receiver(nullptr);
        node.endpoint.set_reachable(false);
    }
    void pause(Node& node) { node.scheduler.pause(); }
    void go_on(Node& node) { node.scheduler.go_on(); }
    /// What the bus brings does not get to the node, nor the node's own to others; the store does.
    static void set_deaf(Node& node, bool deaf) { node.endpoint.set_reachable(!deaf); }
    /// What a node does when it hears again.
    static void close_gap(Node& node) {
        set_deaf(node, false);
        PartitionSet all(1);
        all.insert(0);
        node.shard.cache.invalidate(all);
        node.shard.watches.look_at_all_again();
        node.shard.rooms.look_at_all_again();
    }
    /// The store, the bus and the registry, for everybody.
    void set_store(bool up) {
        sessions.set_unavailable(!up);
        for (const auto& node : nodes_) {
            node->endpoint.set_reachable(up && !node->killed);
        }
    }

    // --- Devices ---------------------------------------------------------------------------------
    Result<DeviceRef> try_connect(Node& node, const char* user, const DeviceRef& resume = nullptr) {
        auto device = std::make_shared<Device>();
        device->user = UserId(user);
        device->node = &node;
        device->connection = node.gateway.open(device->user);
        AttachRequest request;
        request.user = device->user;
        for (std::uint8_t& byte : device->secret) {
            byte = static_cast<std::uint8_t>(node.random.next());
        }
        request.new_resume_hash = device->secret;
        if (resume) {
            request.resume_id = resume->id;
            request.resume_hash = device->secret = resume->secret;
        }
        request.device = presence::Device{DeviceKind::web, "a device"};
        request.connection = device->connection;
        Result<Attachment> attached = wait(node.shard.service.attach(std::move(request)));
        if (!attached) {
            return attached.error();
        }
        device->session = attached->session;
        device->id = attached->id;
        device->resumed = attached->resumed;
        device->beating = true;
        beat_later(device);
        run(Millis{5});
        return device;
    }
    DeviceRef connect(Node& node, const char* user, const DeviceRef& resume = nullptr) {
        Result<DeviceRef> device = try_connect(node, user, resume);
        PRESENCE_ASSERT(device.has_value());
        return *device;
    }
    void lose(const DeviceRef& device) {
        device->beating = false;
        device->node->gateway.close(device->connection);
        wait(device->node->shard.service.connection_lost(device->session, false));
    }
    void bye(const DeviceRef& device) {
        device->beating = false;
        device->node->gateway.close(device->connection);
        wait(device->node->shard.service.end(device->session, Cause::goodbye));
    }
    void leave(const DeviceRef& device, const std::string& room) {
        wait(device->node->shard.rooms.leave(device->connection.slot, device->id, device->user,
                                             RoomId(room)));
    }
    /// What the device was told of rooms since the last time.
    std::vector<std::string> told_rooms(const DeviceRef& device) {
        std::vector<std::string> lines;
        for (const ToldRoom& told : std::exchange(connection(device).rooms, {})) {
            lines.push_back(told.line());
        }
        return lines;
    }
    [[nodiscard]] RecordingGateway::Connection& connection(const DeviceRef& device) {
        return device->node->gateway.at(device->connection);
    }
    void declare(Node& node, const char* user, DeclaredStatus status) {
        Result<StatusOutcome> outcome = wait(node.shard.service.change_status(
            UserId(user), StatusChange{status, std::nullopt, false, nullptr}, false));
        PRESENCE_ASSERT(outcome.has_value());
        run(Millis{5});
    }

    /// What receivers of webhooks were told of rooms by all nodes, "what room user", in no order
    /// between nodes.
    std::vector<std::string> told_of_rooms() {
        std::vector<std::string> lines;
        for (const auto& node : nodes_) {
            for (const WebhookEvent& event : std::exchange(node->hooks.said, {})) {
                if (!event.room.text.empty()) {
                    lines.push_back(std::string(wire_name(event.type)) + " " + event.room.text +
                                    (event.user.text.empty() ? "" : " " + event.user.text));
                }
            }
        }
        return lines;
    }
    // --- Rooms -----------------------------------------------------------------------------------
    Result<ToldRoom> try_join(const DeviceRef& device, const std::string& room,
                              const Joining& how = {}) {
        const std::size_t before = connection(device).rooms.size();
        Result<bool> joined = wait(device->node->shard.rooms.join(
            {device->connection, device->id, device->user, RoomId(room), how.meta, how.observe,
             how.hears, ++room_requests_}));
        if (!joined) {
            return joined.error();
        }
        std::vector<ToldRoom>& told = connection(device).rooms;
        PRESENCE_ASSERT(told.size() > before && told[before].what == "room");
        const ToldRoom answer = told[before];
        told.erase(told.begin() + static_cast<std::ptrdiff_t>(before));
        return answer;
    }
    /// What was answered.
    ToldRoom join(const DeviceRef& device, const std::string& room, const Joining& how = {}) {
        Result<ToldRoom> answer = try_join(device, room, how);
        PRESENCE_ASSERT(answer.has_value());
        return *answer;
    }
    RoomFacts room_facts(Node& node, const char* room) {
        return node.shard.rooms.keeper().facts(RoomId(room), std::nullopt, 20'000);
    }

    // --- Watching --------------------------------------------------------------------------------
    void hide(const char* user) {
        PrivacySettings settings;
        settings.online = PrivacyRule{Audience::nobody, {}};
        Result<ProfileChange> changed =
            wait(node(0).shard.editor.set_privacy(UserId(user), std::move(settings)));
        PRESENCE_ASSERT(changed.has_value());
        run(Millis{100});
    }
    void block(Node& node, const char* user, const char* other) {
        UserSetChange change;
        change.add = UserSet({UserId(other)});
        Result<ProfileChange> changed =
            wait(node.shard.editor.change_blocks(UserId(user), std::move(change)));
        PRESENCE_ASSERT(changed.has_value());
    }
    std::vector<Told> watch(const DeviceRef& viewer, const std::vector<const char*>& users) {
        Node& node = *viewer->node;
        std::vector<UserId> ids(users.begin(), users.end());
        Result<std::vector<Seen>> seen = wait(node.shard.watches.watch(
            {viewer->connection.slot, viewer->user, std::move(ids), false}));
        PRESENCE_ASSERT(seen.has_value());
        std::vector<Told> told;
        for (const Seen& one : *seen) {
            told.push_back(told_of(clock.now(), node.shard.reader.view(one)));
        }
        return told;
    }
    Told look(Node& node, const char* viewer, const char* user) {
        std::vector<UserId> one{UserId(user)};
        Result<std::vector<Seen>> seen =
            wait(node.shard.reader.look(UserId(viewer), std::move(one)));
        PRESENCE_ASSERT(seen.has_value());
        return told_of(clock.now(), node.shard.reader.view(seen->front()));
    }
    [[nodiscard]] UserRecordRef record(const char* user) { return sessions.load(UserId(user)); }
    [[nodiscard]] std::optional<WallTime> stored_last_seen(const char* user) {
        MemoryProfileStore store(profiles);
        std::vector<UserId> one{UserId(user)};
        Result<std::vector<ProfileRef>> loaded = run_until_complete(store.load(std::move(one)));
        return loaded && loaded->front() ? loaded->front()->last_seen : std::nullopt;
    }

    CoreConfig config;
    Limits limits;
    VirtualClock clock;
    VirtualScheduler scheduler{clock};
    MemorySessions sessions{clock};
    MemoryNodes nodes{clock, sessions};
    MemoryProfiles profiles;
    JoinedBus bus;

private:
    void tick(Node& node) {
        node.shard.service.tick();
        node.scheduler.after(node.tick_every, [this, &node] { tick(node); });
    }
    /// By the network's time: a stopped node finds what its clients sent when it goes on.
    void beat_later(const DeviceRef& device) {
        scheduler.after(config.heartbeat.interval, [this, device] {
            if (!device->beating) {
                return;
            }
            device->node->scheduler.post([this, device] {
                if (device->beating && connection(device).open) {
                    device->node->shard.service.heartbeat(device->session, clock.now());
                }
            });
            beat_later(device);
        });
    }

    std::vector<std::unique_ptr<Node>> nodes_;
    std::uint64_t room_requests_ = 0;
};

}  // namespace presence::testing
