#include "audience.h"
#include "failure.h"
#include "load_client.h"
#include "scenarios.h"
#include "targets.h"

#include <thread>

namespace presence::bench {

namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kBurst = 8;

/// The bare loop: one message in, one send() to each connection.
DeliveryCost measure_bare(const Target& bare, LoadClient& trigger, LoadClient& readers,
                          std::chrono::milliseconds duration) {
    std::size_t delivered = 0;
    readers.on_message([&delivered](std::size_t, std::string_view) { ++delivered; });
    std::vector<double> last_us;
    const CpuTime cpu = cpu_during(bare, [&] {
        auto next = SteadyClock::now();
        const auto end = next + duration;
        while (next < end) {
            const std::size_t expected = delivered + readers.size();
            const auto start = SteadyClock::now();
            trigger.send_text(0, R"({"type":"status"})");
            readers.poll_until([&] { return delivered >= expected; }, "the bare deliveries");
            last_us.push_back(
                std::chrono::duration<double, std::micro>(SteadyClock::now() - start).count());
            next += Audience::kChangeEvery / Audience::kSubjects;
            std::this_thread::sleep_until(next);
        }
    });
    readers.on_message({});
    return {each_ns(cpu.total, delivered), percentile(last_us, 0.5)};
}

}  // namespace

Report run_fanout(const Options& options) {
    const std::size_t watchers = options.connections.value_or(1'000);
    const Target server = Target::presenced(options);
    Audience audience(server.port(), watchers);
    static_cast<void>(audience.measure(server, 1, Audience::kChangeEvery));

    const Target bare = Target::bare(options, {BareAnswer::fan_out, audience.update_bytes()});
    LoadClient trigger(bare.port(), "s");
    trigger.grow_to(1);
    LoadClient readers(bare.port(), "w");
    readers.grow_to(watchers);

    Metric single{.name = "cpu_per_delivery", .unit = "ns", .bar_on = BarOn::ratio, .bar = 1.25};
    Metric burst{.name = "cpu_per_delivery_of_8", .unit = "ns", .bar_on = BarOn::ratio, .bar = 0.3};
    Metric last{.name = "last_delivery_p50", .unit = "us"};
    for (std::size_t round = 0; round < options.rounds; ++round) {
        const DeliveryCost ours = audience.measure(server, 1, options.phase);
        const DeliveryCost base = measure_bare(bare, trigger, readers, options.phase);
        const DeliveryCost eight = audience.measure(server, kBurst, options.phase);
        say_progress(
            fmt::format("round {}: {:.0f} ns a delivery, bare {:.0f} ns, eight at once "
                        "{:.0f} ns",
                        round + 1, ours.cpu_ns, base.cpu_ns, eight.cpu_ns));
        single.values.push_back(ours.cpu_ns);
        single.baselines.push_back(base.cpu_ns);
        burst.values.push_back(eight.cpu_ns);
        burst.baselines.push_back(base.cpu_ns);
        last.values.push_back(ours.last_delivery_us);
        last.baselines.push_back(base.last_delivery_us);
    }
    return {"fanout",
            fmt::format("{} watchers, updates of {} bytes, {} ms a phase, {} rounds", watchers,
                        audience.update_bytes(), options.phase.count(), options.rounds),
            {std::move(single), std::move(burst), std::move(last)}};
}

}  // namespace presence::bench
