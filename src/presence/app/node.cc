#include "presence/app/node_state.h"

namespace presence::app {

namespace {

/// Null where the configuration names no certificate.
Result<std::shared_ptr<net::TlsContext>> load_tls(const NodeConfig& config) {
    if (config.tls_certificate.empty()) {
        return std::shared_ptr<net::TlsContext>();
    }
    return net::TlsContext::load(config.tls_certificate, config.tls_key);
}

}  // namespace

Result<bool> Node::State::bring_back() {
    if (cluster && config.postgres_url.empty()) {
        log::warning(
            "database_not_shared",
            "store.url may be shared by nodes, and database.url cannot: with a second node "
            "neither would know the rules that were set through the other");
    }
    if (cluster) {
        const bool joined = await_there<bool>(*workers[0]->loop, [&] { return cluster->start(); });
        log::info("joined", "node={:016x} {}", cluster->member().self().value,
                  joined ? "with a lease" : "without one: the store does not answer");
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
                                                 first.shard->counters, &first.shard->owed_ends);
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

void Node::State::start_canaries() {
    for (const auto& worker : workers) {
        if (worker->canaries) {
            worker->loop->post([canaries = worker->canaries.get()] { canaries->start(); });
        }
    }
}

/// Only when nobody is served here any more: until the lease goes, other nodes expect them to sing.
void Node::State::stop_canaries() {
    for (const auto& worker : workers) {
        if (worker->canaries) {
            ask(*worker->loop, [&] {
                worker->canaries->stop();
                return true;
            });
        }
    }
}

void Node::State::start_demo() {
    if (!config.demo) {
        return;
    }
    people = std::make_unique<DemoPeople>(clock, *shards);
    people->start();
    crowd = std::make_unique<DemoCrowd>(clock, *shards);
    crowd->start();
}

Node::Node(std::unique_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<Node>> Node::start(NodeConfig config) {
    auto state = std::make_unique<State>(std::move(config));
    state->facts.version = PRESENCED_VERSION;
    state->facts.started_at = state->clock.wall_now();
    state->assets = load_assets();
    state->build_loops();
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
    node->state_->start_canaries();
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

bool Node::State::pay_ends() {
    bool paid = true;
    for (const auto& worker : workers) {
        const bool dropped =
            await_there<bool>(*worker->loop, [&] { return worker->shard->owed_ends.drop(); });
        const bool queued =
            ask(*worker->loop, [&] { return worker->shard->last_seen.queued() > 0; });
        const bool spooled = worker->spool && worker->spool->waiting() > 0;
        paid = paid && dropped && !queued && !spooled;
    }
    return paid;
}

/// Only now: until here those who knock are told that this node drains, and not left to wait for
/// an answer that never comes (DESIGN rule 33).
void Node::State::stop_listening() {
    for (const auto& worker : workers) {
        ask(*worker->loop, [&] {
            worker->server->stop_accepting();
            return true;
        });
    }
    listener.reset();
}

bool Node::all_threads_moved() {
    bool all = true;
    for (const auto& worker : state_->workers) {
        const std::uint64_t ticks = worker->ticks.load(std::memory_order_relaxed);
        all = all && ticks != worker->ticks_seen;
        worker->ticks_seen = ticks;
    }
    return all;
}

void Node::drain_and_stop() {
    State& state = *state_;
    if (std::exchange(state.stopped, true)) {
        return;
    }
    state.facts.draining = true;
    if (state.people) {
        state.people->stop();
        state.crowd->stop();
    }
    if (state.cluster) {
        state.workers[0]->loop->post([cluster = state.cluster.get()] { cluster->set_leaving(); });
    }
    std::size_t connections = 0;
    for (const auto& worker : state.workers) {
        connections += ask(*worker->loop, [&] { return worker->gateway->connection_count(); });
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
    state.stop_canaries();
    state.flush_queues();
    if (state.cluster) {
        const bool owes = !state.pay_ends();
        await_there<bool>(*state.workers[0]->loop, [&] { return state.cluster->leave(owes); });
    }
    state.stop_listening();
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
