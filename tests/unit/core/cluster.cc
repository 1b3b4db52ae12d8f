#include "unit/core/cluster.h"

namespace presence::testing {

Cluster::Node::Node(Cluster& cluster, std::uint64_t seed)
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
    connect_shards(shards, member, scheduler);
}

Cluster::Cluster(std::size_t size, CoreConfig with) : config(with) {
    for (std::size_t i = 0; i < size; ++i) {
        add_node();
    }
    run(Millis{10});
}

Cluster::Node::~Node() = default;

Cluster::~Cluster() = default;

Cluster::Node& Cluster::add_node() {
    nodes_.push_back(std::make_unique<Node>(*this, 100 + nodes_.size()));
    Node& node = *nodes_.back();
    tick(node);
    static_cast<void>(start_task(node.member.start()));
    return node;
}

void Cluster::run(Millis time) {
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

void Cluster::kill(Node& node) {
    node.killed = true;
    node.scheduler.kill();
    node.endpoint.set_receiver(nullptr);
    node.endpoint.set_reachable(false);
}

void Cluster::close_gap(Node& node) {
    set_deaf(node, false);
    PartitionSet all(1);
    all.insert(0);
    node.shard.cache.invalidate(all);
    node.shard.watches.look_at_all_again();
    node.shard.rooms.look_at_all_again();
}

void Cluster::set_store(bool up) {
    sessions.set_unavailable(!up);
    for (const auto& node : nodes_) {
        node->endpoint.set_reachable(up && !node->killed);
    }
}

Result<Cluster::DeviceRef> Cluster::try_connect(Node& node, const char* user,
                                                const DeviceRef& resume) {
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

Cluster::DeviceRef Cluster::connect(Node& node, const char* user, const DeviceRef& resume) {
    Result<DeviceRef> device = try_connect(node, user, resume);
    PRESENCE_ASSERT(device.has_value());
    return *device;
}

void Cluster::lose(const DeviceRef& device) {
    device->beating = false;
    device->node->gateway.close(device->connection);
    wait(device->node->shard.service.connection_lost(device->session, false));
}

void Cluster::bye(const DeviceRef& device) {
    device->beating = false;
    device->node->gateway.close(device->connection);
    wait(device->node->shard.service.end(device->session, Cause::goodbye));
}

void Cluster::leave(const DeviceRef& device, const std::string& room) {
    wait(device->node->shard.rooms.leave(device->connection.slot, device->id, device->user,
                                         RoomId(room)));
}

std::vector<std::string> Cluster::told_rooms(const DeviceRef& device) {
    std::vector<std::string> lines;
    for (const ToldRoom& told : std::exchange(connection(device).rooms, {})) {
        lines.push_back(told.line());
    }
    return lines;
}

void Cluster::declare(Node& node, const char* user, DeclaredStatus status) {
    Result<StatusOutcome> outcome = wait(node.shard.service.change_status(
        UserId(user), StatusChange{status, std::nullopt, false, nullptr}, false));
    PRESENCE_ASSERT(outcome.has_value());
    run(Millis{5});
}

std::vector<std::string> Cluster::told_of_rooms() {
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

Result<ToldRoom> Cluster::try_join(const DeviceRef& device, const std::string& room,
                                   const Joining& how) {
    const std::size_t before = connection(device).rooms.size();
    Result<bool> joined = wait(
        device->node->shard.rooms.join({device->connection, device->id, device->user, RoomId(room),
                                        how.meta, how.observe, how.hears, ++room_requests_}));
    if (!joined) {
        return joined.error();
    }
    std::vector<ToldRoom>& told = connection(device).rooms;
    PRESENCE_ASSERT(told.size() > before && told[before].what == "room");
    const ToldRoom answer = told[before];
    told.erase(told.begin() + static_cast<std::ptrdiff_t>(before));
    return answer;
}

ToldRoom Cluster::join(const DeviceRef& device, const std::string& room, const Joining& how) {
    Result<ToldRoom> answer = try_join(device, room, how);
    PRESENCE_ASSERT(answer.has_value());
    return *answer;
}

RoomFacts Cluster::room_facts(Node& node, const char* room) {
    return node.shard.rooms.keeper().facts(RoomId(room), std::nullopt, 20'000);
}

void Cluster::hide(const char* user) {
    PrivacySettings settings;
    settings.online = PrivacyRule{Audience::nobody, {}};
    Result<ProfileChange> changed =
        wait(node(0).shard.editor.set_privacy(UserId(user), std::move(settings)));
    PRESENCE_ASSERT(changed.has_value());
    run(Millis{100});
}

void Cluster::block(Node& node, const char* user, const char* other) {
    UserSetChange change;
    change.add = UserSet({UserId(other)});
    Result<ProfileChange> changed =
        wait(node.shard.editor.change_blocks(UserId(user), std::move(change)));
    PRESENCE_ASSERT(changed.has_value());
}

std::vector<Told> Cluster::watch(const DeviceRef& viewer, const std::vector<const char*>& users) {
    Node& node = *viewer->node;
    std::vector<UserId> ids(users.begin(), users.end());
    Result<std::vector<Seen>> seen = wait(
        node.shard.watches.watch({viewer->connection.slot, viewer->user, std::move(ids), false}));
    PRESENCE_ASSERT(seen.has_value());
    std::vector<Told> told;
    for (const Seen& one : *seen) {
        told.push_back(told_of(clock.now(), node.shard.reader.view(one)));
    }
    return told;
}

Told Cluster::look(Node& node, const char* viewer, const char* user) {
    std::vector<UserId> one{UserId(user)};
    Result<std::vector<Seen>> seen = wait(node.shard.reader.look(UserId(viewer), std::move(one)));
    PRESENCE_ASSERT(seen.has_value());
    return told_of(clock.now(), node.shard.reader.view(seen->front()));
}

std::optional<WallTime> Cluster::stored_last_seen(const char* user) {
    MemoryProfileStore store(profiles);
    std::vector<UserId> one{UserId(user)};
    Result<std::vector<ProfileRef>> loaded = run_until_complete(store.load(std::move(one)));
    return loaded && loaded->front() ? loaded->front()->last_seen : std::nullopt;
}

void Cluster::tick(Node& node) {
    node.shard.service.tick();
    node.scheduler.after(node.tick_every, [this, &node] { tick(node); });
}

void Cluster::beat_later(const DeviceRef& device) {
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

}  // namespace presence::testing
