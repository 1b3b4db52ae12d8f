// What the store has to do for the nodes: commands, memory, and how fast a change crosses it.

#include "failure.h"
#include "fleet.h"
#include "scenarios.h"
#include "statistics.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace presence::bench {

namespace {

using namespace std::chrono_literals;

/// The interval that nodes have: each session beats once, each partition is checked once.
constexpr double kIntervalSeconds = 30;
constexpr std::chrono::milliseconds kInterval{30'000};

/// At most 0.02 a heartbeat on a node with 15,000 sessions. How many there are does not change it:
/// a node asks for each partition, each renewal and each master once.
constexpr double kMostCommandsEach = 0.02 * 15'000;

struct Steady {
    Metric commands{.name = "store_commands_per_1000_heartbeats", .unit = ""};
    Metric each{.name = "store_commands_per_node_and_interval",
                .unit = "",
                .bar_on = BarOn::value,
                .bar = kMostCommandsEach};
    Metric inner{.name = "calls_in_scripts_per_1000_heartbeats", .unit = ""};
    Metric probes{.name = "probes_per_second", .unit = "1/s"};
};

/// One whole interval of heartbeats, as many as the clients' timers would send.
Steady measure_steady(Fleet& fleet, const Options& options, std::size_t sessions) {
    const bool brief = options.phase < 1s;
    const std::chrono::milliseconds duration = brief ? options.phase : kInterval;
    const double rate = static_cast<double>(sessions) / kIntervalSeconds;
    Steady steady;
    for (std::size_t round = 0; round < (brief ? 1 : std::min<std::size_t>(options.rounds, 2));
         ++round) {
        const auto before = fleet.redis().command_calls();
        const auto beats = static_cast<double>(fleet.beat(rate, duration));
        const StoreUse use = store_use(before, fleet.redis().command_calls());
        steady.commands.values.push_back(1'000 * use.commands / beats);
        steady.each.values.push_back(use.commands / static_cast<double>(fleet.size()) *
                                     std::chrono::duration<double>(kInterval) / duration);
        steady.inner.values.push_back(1'000 * use.inner / beats);
        steady.probes.values.push_back(use.probes * 1000 / static_cast<double>(duration.count()));
        say_progress(fmt::format("{:.0f} heartbeats, {:.0f} commands, {:.0f} probes", beats,
                                 use.commands, use.probes));
    }
    return steady;
}

constexpr auto kTablesMove = 1'200ms;  ///< Until tables that grew have been moved over.

/// Slope from a part of the people to all, so that what is there whoever comes does not count. Then
/// the pair of keys that the usual scheme has is written to the same store, once the nodes are
/// gone.
class Memory {
public:
    explicit Memory(std::size_t sessions)
        : few_(std::max<std::size_t>(sessions * 2 / 15, 1)), many_(sessions) {}

    void measure(Fleet& fleet) {
        fleet.grow_to(few_);
        std::this_thread::sleep_for(kTablesMove);
        const double before = fleet.redis().data_bytes();
        fleet.grow_to(many_);
        std::this_thread::sleep_for(kTablesMove);
        metric_.values = {slope(before, fleet.redis().data_bytes())};
    }

    Metric beside_pairs(Fleet& fleet) {
        const std::vector<std::string> users = fleet.users();
        fleet.end_nodes();
        fleet.redis().empty();
        const auto middle = users.begin() + static_cast<std::ptrdiff_t>(few_);
        fleet.redis().write_pairs({users.begin(), middle});
        std::this_thread::sleep_for(kTablesMove);
        const double before = fleet.redis().data_bytes();
        fleet.redis().write_pairs({middle, users.end()});
        std::this_thread::sleep_for(kTablesMove);
        metric_.baselines = {slope(before, fleet.redis().data_bytes())};
        return std::move(metric_);
    }

private:
    [[nodiscard]] double slope(double before, double after) const {
        return (after - before) / static_cast<double>(many_ - few_);
    }

    std::size_t few_;
    std::size_t many_;
    Metric metric_{.name = "redis_bytes_per_user", .unit = "B", .bar_on = BarOn::ratio, .bar = 1};
};

struct Crossing {
    Metric middle{.name = "change_to_watcher_p50", .unit = "us"};
    Metric late{.name = "change_to_watcher_p99", .unit = "us", .bar_on = BarOn::ratio, .bar = 3};
};

Crossing measure_crossing(Fleet& fleet, const Options& options) {
    Crossing crossing;
    // Three times the phase, so that a hundredth of it is more than a handful.
    const Delays all = measure_delays(fleet, options.rounds * 3 * options.phase);
    const std::size_t each = all.changes.size() / options.rounds;
    for (std::size_t round = 0; each > 0 && round < options.rounds; ++round) {
        const auto part = [&](const std::vector<double>& from) {
            const auto begin = from.begin() + static_cast<std::ptrdiff_t>(round * each);
            return std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(each));
        };
        crossing.middle.values.push_back(percentile(part(all.changes), 0.5));
        crossing.middle.baselines.push_back(percentile(part(all.pings), 0.5));
        crossing.late.values.push_back(percentile(part(all.changes), 0.99));
        crossing.late.baselines.push_back(percentile(part(all.pings), 0.99));
        say_progress(fmt::format("{} changes: p50 {:.0f} us, p99 {:.0f} us; pings {:.0f}, {:.0f}",
                                 each, crossing.middle.values.back(), crossing.late.values.back(),
                                 crossing.middle.baselines.back(), crossing.late.baselines.back()));
    }
    return crossing;
}

}  // namespace

Report run_store(const Options& options) {
    const std::size_t sessions = options.connections.value_or(15'000);
    Fleet fleet(options, RedisTarget::single(), 1);
    Memory memory(sessions);
    memory.measure(fleet);
    Steady steady = measure_steady(fleet, options, sessions);
    steady.commands.bar_on = BarOn::value;
    steady.commands.bar = 20;
    return {"store",
            fmt::format("one node, {} sessions, one Redis; memory beside SET EX + ZADD", sessions),
            {std::move(steady.commands), std::move(steady.inner), std::move(steady.probes),
             memory.beside_pairs(fleet)}};
}

Report run_propagate(const Options& options) {
    Fleet fleet(options, RedisTarget::single(), 2);
    Crossing crossing = measure_crossing(fleet, options);
    return {"propagate",
            fmt::format("two nodes, one Redis, both ways in turn, beside SPUBLISH to SSUBSCRIBE; "
                        "{} rounds",
                        options.rounds),
            {std::move(crossing.middle), std::move(crossing.late)}};
}

Report run_cluster(const Options& options) {
    const std::size_t sessions = options.connections.value_or(15'000);
    Fleet fleet(options, RedisTarget::cluster(), 3);
    Memory memory(sessions);
    memory.measure(fleet);
    Steady steady = measure_steady(fleet, options, sessions);
    Crossing crossing = measure_crossing(fleet, options);
    return {
        "cluster",
        fmt::format("three nodes, {} sessions in all, three masters with a replica each", sessions),
        {std::move(steady.commands), std::move(steady.each), std::move(steady.inner),
         std::move(steady.probes), memory.beside_pairs(fleet), std::move(crossing.middle),
         std::move(crossing.late)}};
}

}  // namespace presence::bench
