#include "failure.h"
#include "load_client.h"
#include "scenarios.h"
#include "targets.h"
#include "wire.h"

namespace presence::bench {

namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kUsers = 100;

struct Phase {
    double cpu_us = 0;
    double p50_us = 0;
    double p99_us = 0;
    std::size_t answer_bytes = 0;
};

/// Calls one after the other, each after the answer to the one before.
Phase measure(const Target& target, LoadClient& viewer, const std::string& call,
              std::chrono::milliseconds duration) {
    std::size_t answers = 0;
    Phase phase;
    viewer.on_message([&](std::size_t, std::string_view message) {
        ++answers;
        phase.answer_bytes = message.size();
        if (message.find(R"("type":"error")") != std::string_view::npos) {
            fail("a get was refused: {}", message);
        }
    });
    std::vector<double> took_us;
    const CpuTime cpu = cpu_during(target, [&] {
        const auto end = SteadyClock::now() + duration;
        while (SteadyClock::now() < end) {
            const auto start = SteadyClock::now();
            viewer.send_text(0, call);
            viewer.poll_until([&] { return answers > took_us.size(); }, "a snapshot");
            took_us.push_back(
                std::chrono::duration<double, std::micro>(SteadyClock::now() - start).count());
        }
    });
    viewer.on_message({});
    phase.cpu_us = each_ns(cpu.total, took_us.size()) / 1'000;
    phase.p50_us = percentile(took_us, 0.5);
    phase.p99_us = percentile(took_us, 0.99);
    return phase;
}

/// Before anything is timed: the answer names all users and finds them online.
void check_answer(LoadClient& viewer, const std::string& call) {
    std::string answer;
    viewer.on_message([&](std::size_t, std::string_view message) { answer = message; });
    viewer.send_text(0, call);
    viewer.poll_until([&] { return !answer.empty(); }, "a snapshot");
    const std::size_t online = count_of(answer, R"("status":"online")");
    if (online != kUsers) {
        fail("a snapshot of {} online users shows {} online: {}", kUsers, online,
             answer.substr(0, 500));
    }
}

}  // namespace

Report run_snapshot(const Options& options) {
    const Target server = Target::presenced(options);
    LoadClient people(server.port(), "p");
    people.grow_to(std::max(options.connections.value_or(1'000), kUsers));
    LoadClient viewer(server.port(), "v");
    viewer.grow_to(1);
    std::string users;
    for (std::size_t at = 0; at < kUsers; ++at) {
        users +=
            fmt::format(R"({}"{}")", at == 0 ? "" : ",", people.user(at * people.size() / kUsers));
    }
    const std::string call = fmt::format(R"({{"type":"get","id":1,"users":[{}]}})", users);
    check_answer(viewer, call);
    const Phase warm = measure(server, viewer, call, 200ms);

    const Target bare = Target::bare(options, {BareAnswer::reply, warm.answer_bytes});
    LoadClient to_bare(bare.port(), "v");
    to_bare.grow_to(1);
    Metric p50{.name = "snapshot_p50", .unit = "us"};
    Metric p99{.name = "snapshot_p99", .unit = "us", .bar_on = BarOn::value, .bar = 1'000};
    Metric cpu{.name = "cpu_per_snapshot", .unit = "us"};
    for (std::size_t round = 0; round < options.rounds; ++round) {
        const Phase ours = measure(server, viewer, call, options.phase);
        const Phase base = measure(bare, to_bare, call, options.phase);
        say_progress(fmt::format("round {}: p99 {:.0f} us, bare {:.0f} us", round + 1, ours.p99_us,
                                 base.p99_us));
        p50.values.push_back(ours.p50_us);
        p50.baselines.push_back(base.p50_us);
        p99.values.push_back(ours.p99_us);
        p99.baselines.push_back(base.p99_us);
        cpu.values.push_back(ours.cpu_us);
        cpu.baselines.push_back(base.cpu_us);
    }
    return {
        "snapshot",
        fmt::format("get of {} of {} users, answer of {} bytes, {} ms a phase, {} rounds", kUsers,
                    people.size(), warm.answer_bytes, options.phase.count(), options.rounds),
        {std::move(p50), std::move(p99), std::move(cpu)}};
}

}  // namespace presence::bench
