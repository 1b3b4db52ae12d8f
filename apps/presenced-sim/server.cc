#include "server.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace presence::sim {

namespace {
/// One way, as auth::hash_resume_secret; what it is worth does not matter here.
ResumeHash hash_of(std::string_view secret) {
    ResumeHash hash{};
    std::uint64_t state = 1469598103934665603U;
    for (std::size_t i = 0; i < hash.size(); ++i) {
        for (const char c : secret) {
            state = (state ^ static_cast<unsigned char>(c)) * 1099511628211U;
        }
        hash[i] = static_cast<std::uint8_t>(state >> 32U);
    }
    return hash;
}

Detached run(Task<bool> task) {
    co_await task;
}
}  // namespace

Server::Server(const Parts& parts)
    : serial(parts.serial),
      process(parts.scheduler),
      machine(parts.machine),
      clock(parts.machine.clock),
      random(parts.seed),
      link(parts.stores, process),
      endpoint(parts.bus, process),
      sessions(link, endpoint),
      profiles(link),
      registry(link, parts.on_renewed),
      spool(parts.machine.disk),
      config(parts.config),
      limits(parts.limits),
      shard(
          {process, clock, random, sessions, profiles, endpoint, nullptr, config, limits, &spool}),
      shards{Homes({&process}), {&shard}},
      gateway({0, process, clock, random, shard, shards.homes, tokens, &hash_of, config, limits}),
      network(parts.scheduler, process, parts.side, parts.serial << 32U, parts.seed + 1),
      member({process, clock, random, registry, shards, config,
              [this](StoreHealth now) {
                  process.post([this, now] { gateway.set_store_health(now); });
              }}),
      survey({process, clock, shards, [this] { return member.look_over(); }}),
      drainer(process, spool, profiles, shard.counters, &shard.owed_ends) {
    shards.connect_rooms();
    network.set_gateway(&gateway);
    gateway.connect(network, {&gateway});
    connect_shards(shards, member, process);
    endpoint.set_gap_handler([this] {
        shard.after_gap(PartitionSet::all(MemorySessions::kPartitions));
        gateway.look_for_revoked();
    });
}

void Server::start() {
    run(member.start());
    drainer.start();
    tick();
}

void Server::tick() {
    endpoint.set_node(member.self());
    gateway.tick();
    process.after(PresenceService::kTick, [this] { tick(); });
}

void Server::kill(bool silently) {
    process.kill();
    network.die(silently);
    endpoint.set_receiver(nullptr);
}

void Server::drain(std::function<void()> over) {
    draining = true;
    member.set_leaving();
    const Millis budget = config.drain_timeout;
    const Millis window = std::min(
        budget * 7 / 10, Millis{static_cast<std::int64_t>(500 + gateway.connection_count() * 5)});
    gateway.drain(window);
    wait_for_clients(clock.now() + window + std::min(budget / 10, Millis{2'500}), std::move(over));
}

void Server::wait_for_clients(MonoTime deadline, std::function<void()> over) {
    if (gateway.connection_count() == 0 || clock.now() >= deadline) {
        finish(std::move(over));
        return;
    }
    process.after(Millis{20}, [this, deadline, over = std::move(over)]() mutable {
        wait_for_clients(deadline, std::move(over));
    });
}

Detached Server::finish(std::function<void()> over) {
    co_await shard.last_seen.flush();
    const bool dropped = co_await shard.owed_ends.drop();
    const bool owes = !dropped || shard.last_seen.queued() > 0 || spool.waiting() > 0;
    co_await member.leave(owes);
    kill(false);
    over();
}

std::string Server::leftovers() {
    std::string lines;
    const auto look = [&](const char* what, std::size_t count) {
        if (count > 0) {
            lines += fmt::format("server {}: {} {}\n", serial, count, what);
        }
    };
    look("connections", gateway.connection_count());
    look("open sockets", network.count());
    look("sessions", shard.service.session_count());
    look("users", shard.service.user_count());
    for (const HeldUser& held : shard.service.users_here()) {
        lines += fmt::format("server {}: {}{}\n", serial, held.user.text,
                             held.unsure ? ", of whom the store may not know all" : "");
    }
    look("watches", shard.watches.index().edge_count());
    look("ends of presences that wait", shard.last_seen.queued());
    look("ends in the spool", spool.waiting());
    look("ends still owed", shard.owed_ends.gathered());
    look("subscriptions", endpoint.subscriptions());
    look("surveys under way", survey.under_way());
    look("deadlines of sessions", shard.service.wheel_size());
    look("deadlines of connections", gateway.timer_count());
    look("rooms kept", shard.rooms.keeper().room_count());
    look("rooms heard", shard.rooms.replica_count());
    look("members of rooms", shard.rooms.stay_count());
    look("members looked at", shard.rooms.subject_count());
    look("subscriptions to rooms", shard.rooms.subscription_count());
    return lines;
}

}  // namespace presence::sim
