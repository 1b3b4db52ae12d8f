#pragma once

#include "presence/app/accept_rates.h"
#include "presence/app/assets.h"
#include "presence/app/demo_crowd.h"
#include "presence/app/demo_people.h"
#include "presence/app/durable.h"
#include "presence/app/front_door.h"
#include "presence/app/metric_tables.h"
#include "presence/app/node.h"
#include "presence/app/node_cluster.h"
#include "presence/app/shared_store.h"
#include "presence/auth/api_keys.h"
#include "presence/auth/jwt_verifier.h"
#include "presence/auth/mint_token.h"
#include "presence/auth/resume_hash.h"
#include "presence/base/log.h"
#include "presence/core/canaries.h"
#include "presence/core/journal_writer.h"
#include "presence/core/shard.h"
#include "presence/core/spool_drainer.h"
#include "presence/core/survey.h"
#include "presence/core/webhook_writer.h"
#include "presence/gateway/gateway.h"
#include "presence/loop/loop.h"
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

/// Everything that belongs to one thread, in the order in which it is built.
struct Worker {
    StoreTimes store_times;
    LatencyHistogram loop_lag;
    std::atomic<std::uint64_t> ticks{0};  ///< How often it came to its timed work; others read it.
    std::uint64_t ticks_seen = 0;         ///< By Node::all_threads_moved; main thread.
    std::unique_ptr<Loop> loop;
    SystemRandom random;
    Limits limits;  ///< This thread's copy, so that a reload needs no lock.
    std::unique_ptr<SessionStore> sessions;
    std::unique_ptr<ProfileStore> profiles;
    std::unique_ptr<LastSeenSpool> spool;
    std::unique_ptr<JournalSink> thread_journal;
    std::unique_ptr<BeatMirror> beats;  ///< Null: store.write_every_heartbeat is off.
    std::unique_ptr<WebhookOutbox> outbox;
    CoreCounters webhook_counters;
    std::unique_ptr<WebhookWriter> webhooks;
    std::unique_ptr<Shard> shard;
    std::unique_ptr<Canaries> canaries;  ///< Null: truth.canaries is off.
    std::unique_ptr<gateway::Gateway> gateway;
    std::unique_ptr<api::Api> api;
    std::unique_ptr<FrontDoor> door;
    std::unique_ptr<net::Server> server;
    std::unique_ptr<gateway::ServerSockets> sockets;  ///< The gateway's.
    std::thread thread;
};

/// Runs `work` on a loop's thread and waits for what it returns.
template <class Work>
auto ask(Loop& loop, Work work) -> decltype(work()) {
    std::promise<decltype(work())> answer;
    auto result = answer.get_future();
    loop.post([&] { answer.set_value(work()); });
    return result.get();
}

/// The same for a flow: blocks until the task that `make` returns on the loop's thread is over.
template <class T, class Make>
T await_there(Loop& loop, Make make) {
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

/// What net may do, by the limits of the node.
[[nodiscard]] net::NetLimits net_limits(const Limits& limits);

/// What a Node is made of. Built by node_build.cc; the rest of its life stands in node.cc.
struct Node::State {
    explicit State(NodeConfig from) : config(std::move(from)), origins(config.allowed_origins) {}
    ~State() {
        people.reset();
        crowd.reset();
        drainer.reset();
        sender.reset();
        survey.reset();
        if (shared) {
            shared->stop();  // It may live on one of their loops.
        }
        workers.clear();  // They stand on the bus, the stores and the journal, so they go first.
    }

    NodeConfig config;
    SystemClock own_clock;
    ReferenceClock clock{own_clock};  ///< Put right by the store's, where one is shared.
    api::NodeFacts facts;
    NodeReaders node_readers;
    AcceptRates accepts;
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
    std::unique_ptr<Survey> survey;
    std::unique_ptr<SessionJournal> journal;
    std::unique_ptr<JournalWriter> journal_writer;
    CoreCounters journal_counters;
    std::unique_ptr<SpoolDrainer> drainer;
    std::unique_ptr<webhooks::Sender> sender;
    std::shared_ptr<net::Listener> listener;
    std::string address;
    std::unique_ptr<api::DemoHooks> demo;
    std::unique_ptr<DemoPeople> people;
    std::unique_ptr<DemoCrowd> crowd;  ///< Comes and goes with `people`.
    bool stopped = false;

    Result<bool> open_stores();
    void build_workers();
    void build_loops();
    void tie_threads();
    void build_shard(std::size_t index);
    void build_gateway(std::size_t index);
    void build_door(std::size_t index, const std::vector<gateway::Gateway*>& gateways,
                    const std::shared_ptr<net::Strangers>& strangers);
    Result<bool> bring_back();
    void start_drainer();
    void start_webhooks();
    Result<bool> listen();
    void stop_listening();
    void start_demo();
    void start_canaries();
    void stop_canaries();
    void flush_queues();
    /// True: this node owes no end of a presence to the database any more (RULINGS 30).
    [[nodiscard]] bool pay_ends();

    // For metrics, in node_metrics.cc
    /// The answer to a scrape, on `home`.
    Task<std::string> metrics(Scheduler& home);
    MetricsDoor metrics_door(Worker& worker);
    Task<ThreadCounts> sum_of_threads(Scheduler& home);
    void write_stores(telemetry::MetricPage& page) const;
};

}  // namespace presence::app
