#include "failure.h"
#include "load_client.h"
#include "scenarios.h"
#include "targets.h"
#include "wire.h"

#include <algorithm>

namespace presence::bench {

namespace {

using namespace std::chrono_literals;

constexpr std::string_view kBeat = R"({"type":"heartbeat"})";

/// Sends one message that must be answered on each connection and waits for all answers; gives
/// the size of one. So it is known that the server still serves everybody.
std::size_t all_answer(LoadClient& client, std::string_view expected) {
    std::size_t answers = 0;
    std::size_t bytes = 0;
    client.on_message([&](std::size_t, std::string_view message) {
        if (message.find(expected) == std::string_view::npos) {
            fail("a heartbeat was answered with {}", message);
        }
        ++answers;
        bytes = message.size();
    });
    for (std::size_t at = 0; at < client.size(); ++at) {
        client.send_text(at, kBeat);
        if (at % 32 == 0) {
            client.poll(0ms);
        }
    }
    client.poll_until([&] { return answers == client.size(); }, "the answer to each heartbeat");
    client.on_message({});
    return bytes;
}

struct Phase {
    double cpu_ns = 0;
    double user_ns = 0;
    double system_ns = 0;
    double sleeps = 0;
};

Phase measure(const Target& target, LoadClient& client, const Options& options) {
    const std::string frame =
        options.acked ? client_frame(Opcode::text, kBeat) : client_frame(Opcode::pong, {});
    std::size_t answers = 0;
    client.on_message([&answers](std::size_t, std::string_view) { ++answers; });
    PacedLoad load;
    const CpuTime cpu = cpu_during(
        target, [&] { load = send_paced(client, frame, options.beats_per_second, options.phase); });
    const std::size_t expected = options.acked ? load.sent : 0;
    const auto give_up = std::chrono::steady_clock::now() + 3s;
    while (answers < expected && std::chrono::steady_clock::now() < give_up) {
        client.poll(50ms);
    }
    client.poll(0ms);
    client.on_message({});
    if (answers != expected) {
        fail("{} gave {} answers to {} heartbeats, expected {}", target.name(), answers, load.sent,
             expected);
    }
    if (load.stalled > options.phase / 10) {
        say_progress(fmt::format("the load stood still for {} ms: this machine is busy elsewhere",
                                 load.stalled / 1ms));
    }
    return {each_ns(cpu.total, load.sent), each_ns(cpu.user, load.sent),
            each_ns(cpu.system, load.sent),
            static_cast<double>(cpu.sleeps) / static_cast<double>(load.sent)};
}

Phase measure_gathered(const Target& target, LoadClient& client, const Options& options) {
    const OnLoadCore moved(target, options);
    return measure(target, client, options);
}

/// The metrics of one way to measure, named with a prefix.
class Figures {
public:
    Figures(const std::string& prefix, bool acked)
        : cpu_{.name = prefix + (acked ? "cpu_per_acked_heartbeat" : "cpu_per_heartbeat"),
               .unit = "ns",
               .bar_on = acked ? BarOn::nothing : BarOn::ratio,
               .bar = 1.25},
          user_{.name = prefix + "user_part", .unit = "ns"},
          system_{.name = prefix + "system_part", .unit = "ns"},
          sleeps_{.name = prefix + "sleeps_per_heartbeat", .unit = ""} {}

    void add(const Phase& ours, const Phase& base) {
        add_to(cpu_, ours.cpu_ns, base.cpu_ns);
        add_to(user_, ours.user_ns, base.user_ns);
        add_to(system_, ours.system_ns, base.system_ns);
        add_to(sleeps_, ours.sleeps, base.sleeps);
    }

    void move_into(std::vector<Metric>& metrics) {
        for (Metric* metric : {&cpu_, &user_, &system_, &sleeps_}) {
            metrics.push_back(std::move(*metric));
        }
    }

private:
    static void add_to(Metric& metric, double ours, double base) {
        metric.values.push_back(ours);
        metric.baselines.push_back(base);
    }

    Metric cpu_;
    Metric user_;
    Metric system_;
    Metric sleeps_;
};

}  // namespace

Report run_heartbeat(const Options& options) {
    const std::size_t connections = options.connections.value_or(9'000);
    const Target server = Target::presenced(options);
    LoadClient to_server(server.port(), "u");
    to_server.grow_to(connections);
    const std::size_t answer_bytes = all_answer(to_server, R"("type":"heartbeatAck")");

    const BareOptions bare_options =
        options.acked ? BareOptions{BareAnswer::reply, answer_bytes} : BareOptions{};
    const Target bare = Target::bare(options, bare_options);
    LoadClient to_bare(bare.port(), "u");
    to_bare.grow_to(connections);

    Figures apart("", options.acked);
    Figures gathered("gathered_", options.acked);
    for (std::size_t round = 0; round < options.rounds; ++round) {
        const Phase ours = measure(server, to_server, options);
        const Phase base = measure(bare, to_bare, options);
        apart.add(ours, base);
        const Phase ours_gathered = measure_gathered(server, to_server, options);
        const Phase base_gathered = measure_gathered(bare, to_bare, options);
        gathered.add(ours_gathered, base_gathered);
        say_progress(fmt::format("round {} of {}", round + 1, options.rounds));
    }
    all_answer(to_server, R"("type":"heartbeatAck")");
    std::vector<Metric> metrics;
    apart.move_into(metrics);
    gathered.move_into(metrics);
    return {
        options.acked ? "heartbeat_acked" : "heartbeat",
        fmt::format("{} connections, {:.0f} heartbeats a second, {} ms a phase, {} rounds",
                    connections, options.beats_per_second, options.phase.count(), options.rounds),
        std::move(metrics)};
}

}  // namespace presence::bench
