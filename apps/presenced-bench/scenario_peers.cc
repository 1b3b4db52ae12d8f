#include "audience.h"
#include "failure.h"
#include "mqtt_client.h"
#include "scenarios.h"
#include "targets.h"
#include "wire.h"

#include <array>
#include <thread>
#include <vector>

namespace presence::bench {

namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kFew = 500;
constexpr std::size_t kWatchers = 500;
constexpr std::size_t kHeartbeatsASecond = 20'000;

/// What one server costs.
struct Costs {
    double session_bytes = 0;
    double login_us = 0;
    double heartbeat_ns = 0;
    double delivery_ns = 0;
};

template <class Client>
void measure_sessions(const Target& target, Client&& clients, const std::string& heartbeat,
                      const Options& options, Costs& costs) {
    const std::size_t many = options.connections.value_or(8'000);
    clients.grow_to(std::min(kFew, many - 1));
    std::this_thread::sleep_for(options.settle);
    wait_until_quiet(target.process());
    const std::size_t before = clients.size();
    const ProcessMemory few = process_memory(target.process());
    const CpuTime login = cpu_during(target, [&] { clients.grow_to(many); });
    std::this_thread::sleep_for(options.settle);
    wait_until_quiet(target.process());
    const ProcessMemory all = process_memory(target.process());
    costs.session_bytes = (all.resident - few.resident) / static_cast<double>(many - before);
    costs.login_us = each_ns(login.total, many - before) / 1'000;
    PacedLoad load;
    const CpuTime beats = cpu_during(target, [&] {
        load = send_paced(clients, heartbeat, kHeartbeatsASecond, options.phase);
        clients.poll(100ms);
    });
    costs.heartbeat_ns = each_ns(beats.total, load.sent);
}

/// Those who speak presenced's protocol.
Costs measure_websocket(const Target& target, const Options& options) {
    Costs costs;
    measure_sessions(target, LoadClient(target.port(), "u"), client_frame(Opcode::pong, {}),
                     options, costs);
    Audience audience(target.port(), std::min(kWatchers, options.connections.value_or(kWatchers)));
    static_cast<void>(audience.measure(target, 1, Audience::kChangeEvery));
    costs.delivery_ns = audience.measure(target, 1, options.phase).cpu_ns;
    return costs;
}

/// The broker takes a moment until it listens.
void wait_for_listener(const Target& target) {
    for (int attempt = 0; attempt < 100; ++attempt) {
        try {
            MqttClient one(target.port(), "first");
            one.grow_to(1);
            return;
        } catch (const BenchFailure&) {
            std::this_thread::sleep_for(50ms);
        }
    }
    fail("{} does not listen", target.name());
}

double measure_mqtt_deliveries(const Target& target, const Options& options) {
    MqttClient subjects(target.port(), "s");
    subjects.grow_to(Audience::kSubjects);
    const std::size_t count = std::min(kWatchers, options.connections.value_or(kWatchers));
    MqttClient watchers(target.port(), "w");
    watchers.grow_to(count);
    std::size_t delivered = 0;
    watchers.on_message([&delivered](std::size_t, std::string_view) { ++delivered; });
    std::vector<std::string> topics;
    for (std::size_t at = 0; at < subjects.size(); ++at) {
        topics.push_back(MqttClient::topic_of(subjects.user(at)));
    }
    for (std::size_t at = 0; at < count; ++at) {
        watchers.subscribe(at, topics);
    }
    // Each is told at once what is retained there.
    watchers.poll_until([&] { return delivered == count * topics.size(); }, "retained messages");
    const std::size_t before = delivered;
    const CpuTime cpu = cpu_during(target, [&] {
        auto next = SteadyClock::now();
        const auto end = next + options.phase;
        for (std::size_t turn = 0; next < end; ++turn) {
            const std::size_t expected = delivered + count;
            subjects.publish(turn % subjects.size(), topics[turn % topics.size()],
                             turn / topics.size() % 2 == 0 ? "away" : "busy");
            watchers.poll_until([&] { return delivered >= expected; }, "deliveries");
            next += Audience::kChangeEvery / Audience::kSubjects;
            std::this_thread::sleep_until(next);
        }
    });
    return each_ns(cpu.total, delivered - before);
}

Costs measure_mqtt(const Target& target, const Options& options) {
    wait_for_listener(target);
    Costs costs;
    measure_sessions(target, MqttClient(target.port(), "u"), MqttClient::heartbeat(), options,
                     costs);
    costs.delivery_ns = measure_mqtt_deliveries(target, options);
    return costs;
}

struct Peer {
    std::string_view name;
    const char* program;
    Costs (*measure)(const Target&, const Options&);
};

constexpr std::array<Peer, 3> kPeers{{
    {"ws", "ws.mjs", measure_websocket},
    {"uwebsockets", "uwebsockets.mjs", measure_websocket},
    {"mosquitto", "mosquitto.sh", measure_mqtt},
}};

struct Figure {
    std::string_view name;
    std::string_view unit;
    double Costs::*cost;
};

constexpr std::array<Figure, 4> kFigures{{
    {"session_bytes", "B", &Costs::session_bytes},
    {"login_cpu", "us", &Costs::login_us},
    {"heartbeat_cpu", "ns", &Costs::heartbeat_ns},
    {"delivery_cpu", "ns", &Costs::delivery_ns},
}};

}  // namespace

Report run_peers(const Options& options) {
    std::vector<Metric> metrics;
    for (const Peer& peer : kPeers) {
        for (const Figure& figure : kFigures) {
            metrics.push_back({.name = fmt::format("{}_beside_{}", figure.name, peer.name),
                               .unit = std::string(figure.unit),
                               .bar_on = BarOn::ratio,
                               .bar = 1});
        }
    }
    for (std::size_t round = 0; round < options.rounds; ++round) {
        const Costs ours = measure_websocket(Target::presenced(options), options);
        auto metric = metrics.begin();
        for (const Peer& peer : kPeers) {
            const Costs theirs = peer.measure(Target::peer(options, peer.program), options);
            say_progress(fmt::format(
                "round {}: a session {:.0f} B, {} {:.0f} B; a delivery {:.0f} ns, {} {:.0f} ns",
                round + 1, ours.session_bytes, peer.name, theirs.session_bytes, ours.delivery_ns,
                peer.name, theirs.delivery_ns));
            for (const Figure& figure : kFigures) {
                metric->values.push_back(ours.*figure.cost);
                metric->baselines.push_back(theirs.*figure.cost);
                ++metric;
            }
        }
    }
    return {"peers",
            fmt::format("{} sessions, {} heartbeats a second, {} watchers of {} people, {} ms a "
                        "phase, {} rounds",
                        options.connections.value_or(8'000), kHeartbeatsASecond, kWatchers,
                        Audience::kSubjects, options.phase.count(), options.rounds),
            std::move(metrics)};
}

}  // namespace presence::bench
