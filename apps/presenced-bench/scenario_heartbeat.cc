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
    if (load.stalled > options.phase) {
        fail("the load stood still for {} ms of a phase: the machine is too busy to measure",
             load.stalled / 1ms);
    }
    return {each_ns(cpu.total, load.sent), each_ns(cpu.user, load.sent),
            each_ns(cpu.system, load.sent)};
}

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

    Metric total{.name = options.acked ? "cpu_per_acked_heartbeat" : "cpu_per_heartbeat",
                 .unit = "ns",
                 .bar_on = options.acked ? BarOn::nothing : BarOn::ratio,
                 .bar = 1.25};
    Metric user{.name = "user_part", .unit = "ns"};
    Metric system{.name = "system_part", .unit = "ns"};
    for (std::size_t round = 0; round < options.rounds; ++round) {
        const Phase ours = measure(server, to_server, options);
        const Phase base = measure(bare, to_bare, options);
        say_progress(fmt::format("round {}: {:.0f} ns, bare {:.0f} ns", round + 1, ours.cpu_ns,
                                 base.cpu_ns));
        total.values.push_back(ours.cpu_ns);
        total.baselines.push_back(base.cpu_ns);
        user.values.push_back(ours.user_ns);
        user.baselines.push_back(base.user_ns);
        system.values.push_back(ours.system_ns);
        system.baselines.push_back(base.system_ns);
    }
    all_answer(to_server, R"("type":"heartbeatAck")");
    return {
        options.acked ? "heartbeat_acked" : "heartbeat",
        fmt::format("{} connections, {:.0f} heartbeats a second, {} ms a phase, {} rounds",
                    connections, options.beats_per_second, options.phase.count(), options.rounds),
        {std::move(total), std::move(user), std::move(system)}};
}

}  // namespace presence::bench
