#include "presence/app/node.h"

#include "presence/app/assets.h"
#include "presence/app/demo_people.h"
#include "presence/app/durable.h"
#include "presence/app/front_door.h"
#include "presence/app/node_cluster.h"
#include "presence/app/shared_store.h"
#include "presence/auth/api_keys.h"
#include "presence/auth/jwt_verifier.h"
#include "presence/auth/mint_token.h"
#include "presence/auth/resume_hash.h"
#include "presence/base/log.h"
#include "presence/core/journal_writer.h"
#include "presence/core/shard.h"
#include "presence/core/spool_drainer.h"
#include "presence/core/webhook_writer.h"
#include "presence/gateway/gateway.h"
#include "presence/net/loop.h"
#include "presence/net/server.h"
#include "presence/net/strangers.h"
#include "presence/protocol/webhook_json.h"
#include "presence/rules/version.h"
#include "presence/stores/memory/local_bus.h"
#include "presence/stores/memory/memory_sessions.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <map>
#include <thread>

namespace presence::app {

namespace {

/// Everything that belongs to one thread, in the order in which it is built.
struct Worker {
    std::unique_ptr<net::Loop> loop;
    SystemRandom random;
    Limits limits;  ///< This thread's copy, so that a reload needs no lock.
    std::unique_ptr<SessionStore> sessions;
    std::unique_ptr<ProfileStore> profiles;
    std::unique_ptr<LastSeenSpool> spool;
    std::unique_ptr<JournalSink> thread_journal;
    std::unique_ptr<WebhookOutbox> outbox;
    CoreCounters webhook_counters;
    std::unique_ptr<WebhookWriter> webhooks;
    std::unique_ptr<Shard> shard;
    std::unique_ptr<gateway::Gateway> gateway;
    std::unique_ptr<api::Api> api;
    std::unique_ptr<FrontDoor> door;
    std::unique_ptr<net::Server> server;
    std::thread thread;
};

/// Runs `work` on a loop's thread and waits for what it returns.
template <class Work>
auto ask(net::Loop& loop, Work work) -> decltype(work()) {
    std::promise<decltype(work())> answer;
    auto result = answer.get_future();
    loop.post([&] { answer.set_value(work()); });
    return result.get();
}

/// The same for a flow: blocks until the task that `make` returns on the loop's thread is over.
template <class T, class Make>
T await_there(net::Loop& loop, Make make) {
    std::promise<T> answer;
    auto result = answer.get_future();
    struct Flow {
        static Detached go(Make job, std::promise<T>& done) {
            Task<T> task = job();
            T value = co_await task;
            done.set_value(std::move(value));
        }
    };
    loop.post([&answer, make = std::move(make)]() mutable { Flow::go(std::move(make), answer); });
    return result.get();
}

/// Null where the configuration names no certificate.
Result<std::shared_ptr<net::TlsContext>> load_tls(const NodeConfig& config) {
    if (config.tls_certificate.empty()) {
        return std::shared_ptr<net::TlsContext>();
    }
    return net::TlsContext::load(config.tls_certificate, config.tls_key);
}

net::NetLimits net_limits(const Limits& limits) {
    net::NetLimits net;
    net.message_bytes_before_welcome = static_cast<std::uint32_t>(limits.hello_bytes);
    net.send_queue_bytes = static_cast<std::uint32_t>(limits.send_queue_bytes);
    net.unadmitted_per_address = static_cast<std::uint32_t>(limits.address_pending);
    return net;
}

}  // namespace

struct Node::State {
    explicit State(NodeConfig from) : config(std::move(from)), origins(config.allowed_origins) {}
    ~State() {
        people.reset();
        drainer.reset();
        sender.reset();
        workers.clear();  // They stand on the bus, the stores and the journal, so they go first.
    }

    NodeConfig config;
    SystemClock own_clock;
    ReferenceClock clock{own_clock};  ///< Put right by the store's, where one is shared.
    api::NodeFacts facts;
    api::Assets assets;
    api::OriginCheck origins;
    std::atomic<std::shared_ptr<const auth::ApiKeys>> api_keys;
    std::unique_ptr<auth::JwtVerifier> tokens;
    Durable durable{clock};
    std::unique_ptr<MemorySessions> sessions;
    std::unique_ptr<SharedStore> shared;  ///< Null: this process alone.
    std::vector<std::unique_ptr<Worker>> workers;
    std::unique_ptr<LocalBus> bus;
    std::unique_ptr<Shards> shards;
    std::unique_ptr<NodeCluster> cluster;  ///< Null: this process alone.
    std::unique_ptr<SessionJournal> journal;
    std::unique_ptr<JournalWriter> journal_writer;
    CoreCounters journal_counters;
    std::unique_ptr<SpoolDrainer> drainer;
    std::unique_ptr<webhooks::Sender> sender;
    std::shared_ptr<net::Listener> listener;
    std::string address;
    std::unique_ptr<api::DemoHooks> demo;
    std::unique_ptr<DemoPeople> people;
    bool stopped = false;

    Result<bool> open_stores();
    void build_workers();
    Result<bool> bring_back();
    void start_drainer();
    void start_webhooks();
    Result<bool> listen();
    void start_demo();
    void flush_queues();
};

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
        Result<std::unique_ptr<SharedStore>> opened = SharedStore::open(*config.redis, clock);
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
    std::vector<Scheduler*> threads;
    for (std::size_t i = 0; i < config.threads; ++i) {
        workers.push_back(std::make_unique<Worker>());
        workers.back()->limits = config.limits;
        workers.back()->loop = std::make_unique<net::Loop>(clock);
        threads.push_back(workers.back()->loop.get());
    }
    if (shared) {
        shared->connect(threads, SystemRandom().next());
    } else {
        bus = std::make_unique<LocalBus>(threads);
    }
    shards = std::make_unique<Shards>(Shards{Homes(threads), {}});
    net::Loop& first = *workers[0]->loop;
    // Sessions in a shared store outlive the process by themselves.
    journal = durable.journal_on(first, shared == nullptr);
    journal_writer = std::make_unique<JournalWriter>(first, clock, *journal, workers[0]->limits,
                                                     journal_counters);
    for (std::size_t i = 0; i < workers.size(); ++i) {
        Worker& worker = *workers[i];
        PresenceBus& endpoint = shared ? shared->endpoint(i) : bus->endpoint(i);
        if (shared) {
            worker.sessions = shared->sessions(*worker.loop);
        } else {
            worker.sessions =
                std::make_unique<MemorySessionStore>(*sessions, &endpoint, worker.loop.get());
        }
        worker.profiles = durable.profiles_on(*worker.loop);
        worker.spool = durable.spool_on(*worker.loop);
        worker.thread_journal =
            std::make_unique<ThreadJournal>(*worker.loop, first, *journal_writer, worker.limits);
        worker.outbox = durable.outbox_on(*worker.loop);
        worker.webhooks = std::make_unique<WebhookWriter>(
            *worker.loop, worker.random, *worker.outbox, &protocol::encode_webhook_event,
            worker.limits, worker.webhook_counters);
        worker.shard = std::make_unique<Shard>(
            ShardParts{*worker.loop, clock, worker.random, *worker.sessions, *worker.profiles,
                       endpoint, worker.thread_journal.get(), config.core, worker.limits,
                       worker.spool.get(), worker.webhooks.get()});
        shards->all.push_back(worker.shard.get());
    }
    start_webhooks();
    shards->connect_rooms();
    const auto strangers = std::make_shared<net::Strangers>();
    std::vector<gateway::Gateway*> gateways;
    for (std::size_t i = 0; i < workers.size(); ++i) {
        Worker& worker = *workers[i];
        worker.gateway = std::make_unique<gateway::Gateway>(gateway::GatewayParts{
            i, *worker.loop, clock, worker.random, *worker.shard, shards->homes, *tokens,
            &auth::hash_resume_secret, config.core, worker.limits});
        gateways.push_back(worker.gateway.get());
    }
    if (shared) {
        cluster = std::make_unique<NodeCluster>(NodeCluster::Parts{
            *shared, first, clock, workers[0]->random, *shards, config.core, gateways});
    }
    for (std::size_t i = 0; i < workers.size(); ++i) {
        Worker& worker = *workers[i];
        worker.api = std::make_unique<api::Api>(
            api::ApiParts{i, *worker.loop, clock, *worker.shard, *shards, *tokens,
                          [this](std::string_view key) { return api_keys.load()->matches(key); },
                          origins, config.core, worker.limits, facts, assets, demo.get(),
                          config.auth_cookie, sender.get()});
        worker.door = std::make_unique<FrontDoor>(FrontDoor::Parts{
            clock, *worker.gateway, *worker.api, origins, facts, worker.limits, workers.size()});
        worker.server = std::make_unique<net::Server>(*worker.loop, *worker.door,
                                                      net_limits(worker.limits), strangers);
        worker.gateway->connect(*worker.server, gateways);
        worker.api->connect(*worker.server);
        worker.door->connect(*worker.server);
        gateway::Gateway* const gateway = worker.gateway.get();
        api::Api* const api = worker.api.get();
        worker.loop->set_tick(PresenceService::kTick, [gateway, api](const net::Loop::Tick&) {
            gateway->tick();
            api->tick();
        });
        worker.loop->add_batch_end([gateway] { gateway->flush(); });
    }
    for (const auto& worker : workers) {
        worker->thread = std::thread([loop = worker->loop.get()] { loop->run(); });
    }
}

Result<bool> Node::State::bring_back() {
    if (cluster) {
        const bool joined = await_there<bool>(*workers[0]->loop, [&] { return cluster->start(); });
        log::info("joined", "{}", joined ? "with a lease" : "without: the store does not answer");
    }
    const std::uint64_t floor = rules::version_floor(clock.wall_now());
    Result<JournalStart> start =
        await_there<Result<JournalStart>>(*workers[0]->loop, [&] { return journal->start(floor); });
    if (!start) {
        return start.error();
    }
    std::map<UserId, std::vector<Session>> by_user;
    for (OpenSession& open : start->open) {
        by_user[open.user].push_back(std::move(open.session));
    }
    std::vector<std::vector<Restorer::Left>> by_home(workers.size());
    for (auto& [user, open] : by_user) {
        by_home[shards->homes.index_of(user)].push_back({user, std::move(open)});
    }
    const WallTime last_alive = start->last_alive.value_or(clock.wall_now());
    for (std::size_t i = 0; i < workers.size(); ++i) {
        Worker& home = *workers[i];
        ask(*home.loop, [&] {
            home.shard->service.set_version_floor(start->version_floor);
            return true;
        });
        await_there<bool>(*home.loop, [&] {
            return home.shard->restorer.restore(std::move(by_home[i]), last_alive);
        });
    }
    log::info("restored", "{} users had open sessions", by_user.size());
    return ask(*workers[0]->loop, [&] {
        journal_writer->start();
        start_drainer();
        return true;
    });
}

void Node::State::start_drainer() {
    Worker& first = *workers[0];
    if (first.spool) {
        drainer = std::make_unique<SpoolDrainer>(*first.loop, *first.spool, *first.profiles,
                                                 first.shard->counters);
        drainer->start();
    }
}

Result<bool> Node::State::listen() {
    Result<std::shared_ptr<net::TlsContext>> tls = load_tls(config);
    if (!tls) {
        return tls.error();
    }
    Result<std::shared_ptr<net::Listener>> opened = net::Listener::open(config.listen);
    if (!opened) {
        return opened.error();
    }
    listener = std::move(*opened);
    address = listener->address();
    facts.ready = true;
    for (const auto& worker : workers) {
        ask(*worker->loop, [&] {
            worker->server->listen(listener, *tls);
            return true;
        });
    }
    return true;
}

void Node::State::start_demo() {
    if (!config.demo) {
        return;
    }
    people = std::make_unique<DemoPeople>(clock, *shards);
    people->start();
}

Node::Node(std::unique_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<Node>> Node::start(NodeConfig config) {
    auto state = std::make_unique<State>(std::move(config));
    state->facts.version = PRESENCED_VERSION;
    state->facts.started_at = state->clock.wall_now();
    state->assets = load_assets();
    Result<bool> opened = state->open_stores();
    if (!opened) {
        return opened.error();
    }
    if (state->config.demo) {
        state->demo = std::make_unique<api::DemoHooks>();
        State* const self = state.get();
        state->demo->token = [self](const UserId& user) {
            return auth::mint_token(user, Millis{3'600'000}, self->config.demo_secret,
                                    self->clock.wall_now());
        };
        state->demo->people_json = [] { return DemoPeople::people_json(); };
        state->demo->deafen = [self](const UserId& user, const SessionId& session) {
            Worker& home = *self->workers[self->shards->homes.index_of(user)];
            home.loop->post(
                [gateway = home.gateway.get(), user, session] { gateway->deafen(user, session); });
        };
    }
    state->build_workers();
    std::unique_ptr<Node> node(new Node(std::move(state)));
    Result<bool> back = node->state_->bring_back();
    if (!back) {
        return back.error();
    }
    Result<bool> listening = node->state_->listen();
    if (!listening) {
        return listening.error();
    }
    node->state_->start_demo();
    return node;
}

Node::~Node() {
    if (!state_->stopped) {
        state_->config.core.drain_timeout = Millis{0};
        drain_and_stop();
    }
}

const std::string& Node::address() const noexcept {
    return state_->address;
}

Result<bool> Node::reload(const NodeConfig& config) {
    // What can be refused comes first, so that a refusal changes nothing.
    Result<std::shared_ptr<net::TlsContext>> tls = load_tls(config);
    if (!tls) {
        return tls.error();
    }
    Result<auth::ApiKeys> keys = auth::ApiKeys::make(config.api_keys);
    if (!keys) {
        return keys.error();
    }
    Result<bool> reloaded = state_->tokens->reload(config.auth);
    if (!reloaded) {
        return reloaded.error();
    }
    state_->api_keys.store(std::make_shared<const auth::ApiKeys>(std::move(*keys)));
    state_->origins.replace(config.allowed_origins);
    state_->sender->reload(config.webhooks);
    for (const auto& worker : state_->workers) {
        worker->loop->post([one = worker.get(), limits = config.limits, context = *tls] {
            one->limits = limits;
            one->gateway->limits_changed();
            one->server->set_limits(net_limits(limits));
            if (context) {
                one->server->reload_tls(context);
            }
        });
    }
    return true;
}

void Node::State::flush_queues() {
    constexpr int kRounds = 10;
    for (const auto& worker : workers) {
        await_there<bool>(*worker->loop, [&] { return worker->shard->last_seen.flush(); });
        await_there<bool>(*worker->loop, [&] { return worker->webhooks->flush(); });
        ask(*worker->loop, [&] {
            static_cast<ThreadJournal&>(*worker->thread_journal).hand_over();
            return true;
        });
    }
    for (int round = 0; round < kRounds; ++round) {
        await_there<bool>(*workers[0]->loop, [&] { return journal_writer->flush(); });
        if (ask(*workers[0]->loop, [&] { return journal_writer->queued() == 0; })) {
            return;
        }
        std::this_thread::sleep_for(Millis{50});
    }
}

void Node::drain_and_stop() {
    State& state = *state_;
    if (std::exchange(state.stopped, true)) {
        return;
    }
    state.facts.draining = true;
    if (state.people) {
        state.people->stop();
    }
    if (state.cluster) {
        state.workers[0]->loop->post([cluster = state.cluster.get()] { cluster->set_leaving(); });
    }
    std::size_t connections = 0;
    for (const auto& worker : state.workers) {
        connections += ask(*worker->loop, [&] {
            worker->server->stop_accepting();
            return worker->gateway->connection_count();
        });
    }
    // Two hundred a second is what a neighbour takes in without noticing; the rest of the time is
    // for closes and queues.
    const Millis budget = state.config.core.drain_timeout;
    const Millis window =
        std::min(budget * 7 / 10, Millis{static_cast<std::int64_t>(500 + connections * 5)});
    for (const auto& worker : state.workers) {
        worker->loop->post([one = worker.get(), window] {
            one->gateway->drain(window);
            one->api->drain(window);
        });
    }
    const MonoTime deadline = state.clock.now() + window + std::min(budget / 10, Millis{2'500});
    while (connections > 0 && state.clock.now() < deadline) {
        std::this_thread::sleep_for(Millis{20});
        connections = 0;
        for (const auto& worker : state.workers) {
            connections += ask(*worker->loop, [&] { return worker->gateway->connection_count(); });
        }
    }
    state.flush_queues();
    if (state.cluster) {
        await_there<bool>(*state.workers[0]->loop, [&] { return state.cluster->leave(); });
    }
    state.tokens->stop();
    state.sender->stop();
    state.durable.stop();
    if (state.shared) {
        state.shared->stop();
    }
    for (const auto& worker : state.workers) {
        worker->loop->stop();
    }
    for (const auto& worker : state.workers) {
        worker->thread.join();
    }
}

}  // namespace presence::app
