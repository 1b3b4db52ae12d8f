// GET /metrics: what every thread and every store of the node has counted, summed at the moment of
// the question. Nothing is shared while nobody asks: each thread counts for itself.

#include "presence/app/metric_tables.h"
#include "presence/app/node_state.h"

#include <fstream>
#include <sys/resource.h>
#include <unistd.h>

namespace presence::app {

namespace {

using telemetry::Label;
using telemetry::MetricPage;

constexpr std::string_view kQueue = "presenced_store_queue_calls";
constexpr std::string_view kQueueHelp = "Calls that wait for a store, by store.";
constexpr std::string_view kUp = "presenced_store_up";
constexpr std::string_view kUpHelp = "1 while the store answers, else 0.";

double as_number(std::uint64_t value) {
    return static_cast<double>(value);
}

/// Writes a counter with its help.
auto counters_on(MetricPage& page) {
    return [&page](std::string_view name, std::string_view help, std::uint64_t value) {
        page.counter(name, help, as_number(value));
    };
}

/// On the worker's thread.
Task<ThreadCounts> counts_of(Worker& worker) {
    ThreadCounts counts;
    Shard& shard = *worker.shard;
    counts.core = shard.counters;
    add_counters(counts.core, worker.webhook_counters);
    counts.gateway = worker.gateway->counters();
    counts.net = worker.server->counters();
    counts.readers = worker.api->readers().counters();
    counts.reader_places_refused = shard.places.refused();
    counts.look_times = shard.reader.look_times();
    counts.store_times = worker.store_times;
    counts.loop_lag = worker.loop_lag;
    for (const HeldUser& held : shard.service.users_here()) {
        const UserRecordRef record = shard.service.record_here(held.user);
        if (record && !is_canary(held.user)) {
            counts.census.count(*record, shard.nodes.self);
        }
    }
    counts.connections = worker.api->readers().connections();
    counts.live.sockets = worker.server->connection_count();
    const std::size_t of_canaries = worker.canaries ? worker.canaries->watches() : 0;
    counts.live.watches = shard.watches.index().edge_count() - of_canaries;
    counts.live.watched_users = shard.watches.index().subject_count() - of_canaries;
    counts.live.rooms_kept = shard.rooms.keeper().room_count();
    counts.live.rooms_heard = shard.rooms.replica_count();
    counts.live.profiles_cached = shard.cache.size();
    counts.live.last_seen_queue = shard.last_seen.queued();
    counts.live.webhook_queue = worker.webhooks->queued();
    co_return counts;
}

/// On the thread that counts them.
Task<CoreCounters> copy_of(const CoreCounters& counters) {
    co_return counters;
}

struct ClusterFacts {
    ClusterCounters counters;
    StoreHealth health = StoreHealth::ok;
    std::size_t nodes = 1;
};

/// On the member's thread.
Task<ClusterFacts> facts_of(const ClusterMember& member) {
    co_return ClusterFacts{member.counters(), member.health(), member.live_nodes()};
}

void write_redis(MetricPage& page, const SharedStore& store) {
    const redis::ClientCounters& client = store.client().counters();
    const redis::WireCounters& wire = store.client().wire_counters();
    const RedisBusCounters& bus = store.bus_counters();
    const auto counter = counters_on(page);
    counter("presenced_redis_calls_total", "Calls of Redis.", client.calls);
    counter("presenced_redis_calls_refused_total", "Calls over the queue of the client.",
            client.refused);
    counter("presenced_redis_calls_failed_total", "Calls that Redis did not answer.",
            client.failed);
    counter("presenced_redis_writes_refused_total",
            "Calls that Redis refused because it takes no writes: its memory is full, or the like.",
            client.writes_refused);
    counter("presenced_redis_redirections_total", "MOVED and ASK.", client.redirected);
    counter("presenced_redis_put_off_total", "Calls that Redis was not ready for.", client.put_off);
    counter("presenced_redis_scripts_sent_total", "Scripts that Redis did not know yet.",
            client.scripts_sent);
    counter("presenced_redis_connections_lost_total", "Connections to Redis that were lost.",
            client.lost);
    counter("presenced_redis_topologies_total", "Times that the map of the cluster was read.",
            client.topologies);
    counter("presenced_redis_mistakes_total", "Commands that Redis did not understand.",
            client.mistakes);
    counter("presenced_redis_commands_total", "Commands sent to Redis.", wire.commands);
    counter("presenced_redis_writes_total", "Writes to Redis, with all that waited in each.",
            wire.writes);
    counter("presenced_redis_reads_total", "Reads from Redis.", wire.reads);
    counter("presenced_redis_connects_total", "Connections to Redis that were begun.",
            wire.connects);
    page.gauge("presenced_bus_subscriptions", "Users whose changes this node hears.",
               as_number(bus.subscriptions));
    counter("presenced_bus_subscriptions_refused_total", "Subscriptions over their limit.",
            bus.refused);
    counter("presenced_bus_messages_total", "Messages that came over the bus.", bus.messages);
    counter("presenced_bus_unreadable_total", "Messages that could not be read.", bus.unreadable);
    counter("presenced_bus_not_sent_total", "Messages told within this node only.", bus.not_sent);
    counter(
        "presenced_bus_unsent_dropped_total",
        "Changes never sent, as too many waited to be; others read all of their partitions anew.",
        bus.unsent_dropped);
    counter("presenced_bus_taken_told_again_total",
            "Times that the holder of a session that others took had to be told anew.",
            bus.taken_again);
    counter("presenced_bus_taken_lost_total",
            "Holders that were given up, and have to find out by themselves.", bus.taken_lost);
    counter("presenced_bus_gaps_total", "Partitions that were deaf and are healed.", bus.gaps);
    counter("presenced_bus_shaken_total", "Partitions with a new life or server.", bus.shaken);
    counter("presenced_bus_probes_total", "Probes sent over the bus.", bus.probes_sent);
    counter("presenced_bus_probes_missed_total", "Probes that did not come.", bus.probes_missed);
}

void write_postgres(MetricPage& page, const postgres::Database::Counters& counts) {
    const auto counter = counters_on(page);
    counter("presenced_postgres_calls_total", "Calls of PostgreSQL.", counts.calls);
    counter("presenced_postgres_reads_total", "Statements that read profiles, each for many.",
            counts.statements_of_reads);
    counter("presenced_postgres_failures_total", "Calls that PostgreSQL did not take.",
            counts.failures);
    counter("presenced_postgres_refused_total", "Calls over the queue.", counts.refused);
    counter("presenced_postgres_repeated_total", "Transactions run again after a deadlock.",
            counts.repeated);
    counter("presenced_postgres_put_back_total",
            "Calls moved to another connection, as theirs was found closed.", counts.put_back);
    counter("presenced_postgres_connects_total", "Connections to PostgreSQL.", counts.connects);
    counter("presenced_postgres_connect_failures_total", "Attempts to connect that failed.",
            counts.connect_failures);
}

/// Under the names that all programs give them.
void write_process(MetricPage& page, WallTime started_at) {
    constexpr double kMillis = 1e3;
    constexpr double kMicros = 1e6;
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / kMicros;
    };
    page.counter("process_cpu_seconds_total", "CPU time in seconds, of the system's share too.",
                 seconds(used.ru_utime) + seconds(used.ru_stime));
    std::size_t pages_all = 0;
    std::size_t pages_resident = 0;
    if (std::ifstream("/proc/self/statm") >> pages_all >> pages_resident) {
        const auto page_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
        page.gauge("process_resident_memory_bytes", "Memory in bytes that is in use.",
                   as_number(pages_resident * page_bytes));
    }
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
        page.gauge("process_max_fds", "Descriptors that the process may open.",
                   as_number(files.rlim_cur));
    }
    page.gauge("process_start_time_seconds", "Seconds since the Unix epoch.",
               static_cast<double>(started_at.ms()) / kMillis);
}

}  // namespace

Task<ThreadCounts> Node::State::sum_of_threads(Scheduler& home) {
    ThreadCounts sum;
    for (const auto& worker : workers) {
        const auto count = [one = worker.get()] { return counts_of(*one); };
        Task<ThreadCounts> counting = run_there<ThreadCounts>(home, *worker->loop, count);
        const ThreadCounts counts = co_await counting;
        sum += counts;
    }
    sum.live.journal_queue = journal_writer->queued();
    co_return sum;
}

void Node::State::write_stores(telemetry::MetricPage& page) const {
    const std::vector<Label> redis_label{{"store", "redis"}};
    const std::vector<Label> sqlite_label{{"store", "sqlite"}};
    const std::vector<Label> postgres_label{{"store", "postgres"}};
    const redis::Client* const client = shared ? &shared->client() : nullptr;
    if (client != nullptr) {
        page.gauge(kUp, kUpHelp, client->usable() ? 1 : 0, redis_label);
    }
    if (durable.postgres() != nullptr) {
        page.gauge(kUp, kUpHelp, durable.postgres()->connected() ? 1 : 0, postgres_label);
    }
    if (client != nullptr) {
        page.gauge(kQueue, kQueueHelp, as_number(client->waiting()), redis_label);
    }
    if (durable.sqlite() != nullptr) {
        page.gauge(kQueue, kQueueHelp, as_number(durable.sqlite()->waiting()), sqlite_label);
    }
    if (durable.postgres() != nullptr) {
        page.gauge(kQueue, kQueueHelp, as_number(durable.postgres()->waiting()), postgres_label);
    }
    if (client != nullptr) {
        write_redis(page, *shared);
    }
    page.gauge("presenced_spool_entries", "Ends of presences that wait in the spool.",
               as_number(workers[0]->spool ? workers[0]->spool->waiting() : 0));
    if (durable.sqlite() != nullptr) {
        page.counter("presenced_sqlite_commits_total", "Transactions committed by SQLite.",
                     as_number(durable.sqlite()->commits()));
        page.counter("presenced_sqlite_failures_total",
                     "Times that the file was found locked, full or broken.",
                     as_number(durable.sqlite()->failures()));
    }
    if (durable.postgres() != nullptr) {
        write_postgres(page, durable.postgres()->counters());
    }
}

Task<std::string> Node::State::metrics(Scheduler& home) {
    MetricPage page;
    page.gauge("presenced_build_info", "1, with the release as a label.", 1,
               {{"version", facts.version}});
    Task<ThreadCounts> counting = sum_of_threads(home);
    ThreadCounts sum = co_await counting;
    ClusterFacts cluster_facts;
    if (cluster) {
        const auto ask_member = [this] { return facts_of(cluster->member()); };
        Task<ClusterFacts> asking = run_there<ClusterFacts>(home, *workers[0]->loop, ask_member);
        cluster_facts = co_await asking;
    }
    const auto read_journal = [this] { return copy_of(journal_counters); };
    Task<CoreCounters> reading = run_there<CoreCounters>(home, *workers[0]->loop, read_journal);
    const CoreCounters of_journal = co_await reading;
    add_counters(sum.core, of_journal);
    const bool ready = facts.ready && !facts.draining && cluster_facts.health != StoreHealth::down;
    page.gauge("presenced_ready", "1 while the node takes new clients, else 0.", ready ? 1 : 0);
    page.gauge("presenced_nodes", "Nodes with a lease, this one included.",
               as_number(cluster_facts.nodes));
    for (const StoreHealth health : {StoreHealth::ok, StoreHealth::degraded, StoreHealth::down}) {
        page.gauge("presenced_store_health", "1 for how the session store is, 0 for the others.",
                   cluster_facts.health == health ? 1 : 0, {{"state", wire_name(health)}});
    }
    write_stores(page);
    write_threads(page, sum);
    write_tokens(page, tokens->counters());
    write_webhooks(page, sender->counters());
    if (cluster) {
        write_cluster(page, cluster_facts.counters);
    }
    write_process(page, facts.started_at);
    co_return page.text();
}

MetricsDoor Node::State::metrics_door(Worker& worker) {
    MetricsDoor door;
    if (config.metrics == MetricsAccess::off) {
        return door;
    }
    door.page = [this, loop = worker.loop.get()] { return metrics(*loop); };
    if (config.metrics == MetricsAccess::key) {
        door.is_key = [this](std::string_view key) { return api_keys.load()->matches(key); };
    }
    return door;
}

}  // namespace presence::app
