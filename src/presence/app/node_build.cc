// The one place where a node's objects are made and tied together.

#include "presence/app/node_state.h"

namespace presence::app {

namespace {

/// The largest body that brings lists: two of `limits.list_users`, of ids of 128 bytes, each with
/// quotes, a comma and a space.
std::uint32_t list_body_bytes(const Limits& limits) {
    constexpr std::size_t kBytesPerUser = 128 + 4;
    constexpr std::size_t kOtherBytes = 4096;
    return static_cast<std::uint32_t>(2 * limits.list_users * kBytesPerUser + kOtherBytes);
}

}  // namespace

net::NetLimits net_limits(const Limits& limits) {
    net::NetLimits net;
    net.message_bytes_before_welcome = static_cast<std::uint32_t>(limits.hello_bytes);
    net.send_queue_bytes = static_cast<std::uint32_t>(limits.send_queue_bytes);
    net.http_large_body_bytes = list_body_bytes(limits);
    net.unadmitted_per_address = static_cast<std::uint32_t>(limits.address_pending);
    return net;
}

Result<bool> Node::State::open_stores() {
    Result<auth::ApiKeys> keys = auth::ApiKeys::make(config.api_keys);
    if (!keys) {
        return keys.error();
    }
    api_keys.store(std::make_shared<const auth::ApiKeys>(std::move(*keys)));
    Result<std::unique_ptr<auth::JwtVerifier>> verifier =
        auth::JwtVerifier::make(config.auth, clock);
    if (!verifier) {
        return verifier.error();
    }
    tokens = std::move(*verifier);
    sessions = std::make_unique<MemorySessions>(clock);
    if (config.redis) {
        // With one thread nothing is won by another, and each call of the store would change
        // threads twice. With several it would stand in the way of that thread's own people.
        Loop* const only = workers.size() == 1 ? workers[0]->loop.get() : nullptr;
        Result<std::unique_ptr<SharedStore>> opened = SharedStore::open(*config.redis, clock, only);
        if (!opened) {
            return Error{opened.error().code, "store.url: " + opened.error().message, 0, 0};
        }
        shared = std::move(*opened);
    }
    return durable.open(config);
}

void Node::State::start_webhooks() {
    const auto tell_writers = [this](const std::vector<std::string>& targets, bool full) {
        for (const auto& worker : workers) {
            worker->loop->post([writer = worker->webhooks.get(), targets, full] {
                writer->set_targets(targets);
                writer->set_outbox_full(full);
            });
        }
    };
    sender = std::make_unique<webhooks::Sender>(
        clock, [this](Scheduler& home) { return durable.outbox_on(home); }, config.webhooks,
        tell_writers, config.limits.webhook_outbox, &protocol::encode_webhook_event);
    for (const auto& worker : workers) {
        worker->webhooks->set_targets(config.webhooks.urls);
        worker->webhooks->set_wake([this] { sender->wake(); });
    }
}

void Node::State::build_workers() {
    tie_threads();
    for (std::size_t i = 0; i < workers.size(); ++i) {
        build_shard(i);
    }
    start_webhooks();
    shards->connect_rooms();
    std::vector<gateway::Gateway*> gateways;
    for (std::size_t i = 0; i < workers.size(); ++i) {
        build_gateway(i);
        gateways.push_back(workers[i]->gateway.get());
    }
    if (shared) {
        cluster = std::make_unique<NodeCluster>(NodeCluster::Parts{
            *shared, *workers[0]->loop, clock, workers[0]->random, *shards, config.core, gateways});
    }
    survey = std::make_unique<Survey>(
        Survey::Parts{*workers[0]->loop, clock, *shards,
                      cluster ? [member = cluster.get()] { return member->look_over(); }
                              : std::function<Task<bool>()>()});
    const auto strangers = std::make_shared<net::Strangers>();
    for (std::size_t i = 0; i < workers.size(); ++i) {
        build_door(i, gateways, strangers);
    }
    for (const auto& worker : workers) {
        worker->thread = std::thread([loop = worker->loop.get()] { loop->run(); });
    }
}

void Node::State::build_loops() {
    for (std::size_t i = 0; i < config.threads; ++i) {
        workers.push_back(std::make_unique<Worker>());
        workers.back()->limits = config.limits;
        workers.back()->loop = std::make_unique<Loop>(clock);
    }
}

void Node::State::tie_threads() {
    std::vector<Scheduler*> threads;
    for (const auto& worker : workers) {
        threads.push_back(worker->loop.get());
    }
    if (shared) {
        shared->connect(threads, SystemRandom().next());
    } else {
        bus = std::make_unique<LocalBus>(threads);
    }
    shards = std::make_unique<Shards>(Shards{Homes(threads), {}});
    Loop& first = *workers[0]->loop;
    // Sessions in a shared store outlive the process by themselves.
    journal = durable.journal_on(first, shared == nullptr);
    journal_writer = std::make_unique<JournalWriter>(first, clock, *journal, workers[0]->limits,
                                                     journal_counters);
}

void Node::State::build_shard(std::size_t i) {
    Loop& first = *workers[0]->loop;
    Worker& worker = *workers[i];
    PresenceBus& endpoint = shared ? shared->endpoint(i) : bus->endpoint(i);
    if (shared) {
        worker.sessions = shared->sessions(*worker.loop);
        if (config.write_every_heartbeat) {
            worker.beats = shared->beat_mirror(*worker.loop, clock, config.core.heartbeat.ttl);
        }
    } else {
        worker.sessions =
            std::make_unique<MemorySessionStore>(*sessions, &endpoint, worker.loop.get());
    }
    worker.sessions =
        std::make_unique<TimedSessions>(std::move(worker.sessions), worker.store_times);
    worker.profiles = durable.profiles_on(*worker.loop);
    worker.spool = durable.spool_on(*worker.loop);
    worker.thread_journal =
        std::make_unique<ThreadJournal>(*worker.loop, first, *journal_writer, worker.limits);
    worker.outbox = durable.outbox_on(*worker.loop);
    worker.webhooks = std::make_unique<WebhookWriter>(*worker.loop, worker.random, *worker.outbox,
                                                      &protocol::encode_webhook_event,
                                                      worker.limits, worker.webhook_counters);
    worker.shard = std::make_unique<Shard>(
        ShardParts{*worker.loop, clock, worker.random, *worker.sessions, *worker.profiles, endpoint,
                   worker.thread_journal.get(), config.core, worker.limits, worker.spool.get(),
                   worker.webhooks.get(), worker.beats.get()});
    if (config.canaries) {
        worker.canaries = std::make_unique<Canaries>(*worker.shard, shards->homes, i);
    }
    shards->all.push_back(worker.shard.get());
}

void Node::State::build_gateway(std::size_t i) {
    Worker& worker = *workers[i];
    worker.gateway = std::make_unique<gateway::Gateway>(
        gateway::GatewayParts{i, *worker.loop, clock, worker.random, *worker.shard, shards->homes,
                              *tokens, &auth::hash_resume_secret, config.core, worker.limits});
}

void Node::State::build_door(std::size_t i, const std::vector<gateway::Gateway*>& gateways,
                             const std::shared_ptr<net::Strangers>& strangers) {
    Worker& worker = *workers[i];
    worker.api = std::make_unique<api::Api>(
        api::ApiParts{i, *worker.loop, clock, *worker.shard, *shards, *survey, *tokens,
                      [this](std::string_view key) { return api_keys.load()->matches(key); },
                      origins, config.core, worker.limits, node_readers, facts, assets, demo.get(),
                      config.auth_cookie, sender.get()});
    worker.door = std::make_unique<FrontDoor>(
        FrontDoor::Parts{clock, *worker.gateway, *worker.api, origins, facts, worker.limits,
                         accepts, config.proxies, metrics_door(worker)});
    worker.server = std::make_unique<net::Server>(*worker.loop, *worker.door,
                                                  net_limits(worker.limits), strangers);
    worker.sockets = std::make_unique<gateway::ServerSockets>(*worker.server, *worker.loop);
    worker.gateway->connect(*worker.sockets, gateways);
    worker.api->connect(*worker.server);
    worker.door->connect(*worker.server);
    gateway::Gateway* const gateway = worker.gateway.get();
    api::Api* const api = worker.api.get();
    worker.loop->set_tick(PresenceService::kTick,
                          [gateway, api, self = &worker](const Loop::Tick& tick) {
                              self->loop_lag.add(static_cast<std::uint64_t>(tick.late / 1us));
                              self->ticks.fetch_add(1, std::memory_order_relaxed);
                              gateway->tick();
                              api->tick();
                          });
    worker.loop->add_sockets_end([gateway] { gateway->take_beats(); });
    worker.loop->add_batch_end([gateway] { gateway->flush(); });
}

}  // namespace presence::app
