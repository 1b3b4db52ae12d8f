#include "failure.h"
#include "load_client.h"
#include "scenarios.h"
#include "targets.h"

#include <thread>

namespace presence::bench {

namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kSubjects = 16;
constexpr std::size_t kBurst = 8;
/// Above the second within which further changes of one user are merged.
constexpr std::chrono::milliseconds kChangeEvery{1'200};

std::size_t count_of(std::string_view text, std::string_view part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string_view::npos;
         at = text.find(part, at + part.size())) {
        ++count;
    }
    return count;
}

struct Phase {
    double cpu_ns = 0;            ///< Per delivery.
    double last_delivery_us = 0;  ///< Median time from the change to the last watcher.
};

/// Subjects whose changes watchers hear, all on one server.
class Audience {
public:
    Audience(std::uint16_t port, std::size_t watchers)
        : subjects_(port, "s"), watchers_(port, "w"), watcher_count_(watchers) {
        subjects_.grow_to(kSubjects);
        watchers_.grow_to(watchers);
        watch();
    }

    /// Changes `burst` subjects at once, each time after the last delivery of those before.
    Phase measure(const Target& target, std::size_t burst, std::chrono::milliseconds duration) {
        const auto step = kChangeEvery * burst / kSubjects;
        // No subject may still be inside its window when the phase begins.
        std::this_thread::sleep_for(kChangeEvery);
        std::vector<double> last_us;
        const std::size_t before = delivered_;
        const CpuTime cpu = cpu_during(target, [&] {
            auto next = SteadyClock::now();
            const auto end = next + duration;
            while (next < end) {
                last_us.push_back(change(burst));
                next += step;
                std::this_thread::sleep_until(next);
            }
        });
        return {each_ns(cpu.total, delivered_ - before), percentile(last_us, 0.5)};
    }

    /// Payload bytes of an update that tells of one change.
    [[nodiscard]] std::size_t update_bytes() const noexcept { return update_bytes_; }

private:
    void watch() {
        std::string users;
        for (std::size_t at = 0; at < kSubjects; ++at) {
            users += fmt::format(R"({}"{}")", at == 0 ? "" : ",", subjects_.user(at));
        }
        std::size_t snapshots = 0;
        watchers_.on_message([&snapshots](std::size_t, std::string_view message) {
            snapshots += count_of(message, R"("type":"snapshot")");
        });
        for (std::size_t at = 0; at < watcher_count_; ++at) {
            watchers_.send_text(at, fmt::format(R"({{"type":"watch","users":[{}]}})", users));
            watchers_.poll(0ms);
        }
        watchers_.poll_until([&] { return snapshots == watcher_count_; }, "snapshots");
        watchers_.on_message([this](std::size_t, std::string_view message) {
            if (message.find(R"("type":"update")") == std::string_view::npos) {
                fail("a watcher was sent {}", message);
            }
            const std::size_t changes = count_of(message, R"("userId")");
            delivered_ += changes;
            if (changes == 1) {
                update_bytes_ = message.size();
            }
        });
        subjects_.on_message([](std::size_t, std::string_view message) {
            if (message.find(R"("type":"error")") != std::string_view::npos) {
                fail("a status was refused: {}", message);
            }
        });
    }

    /// Gives the microseconds until the last watcher has heard of all of it.
    double change(std::size_t burst) {
        const std::size_t expected = delivered_ + burst * watcher_count_;
        const auto start = SteadyClock::now();
        for (std::size_t at = 0; at < burst; ++at) {
            const bool away = (turn_ / kSubjects) % 2 == 0;
            subjects_.send_text(
                turn_ % kSubjects,
                fmt::format(R"({{"type":"status","scope":"session","status":"{}"}})",
                            away ? "away" : "busy"));
            ++turn_;
        }
        watchers_.poll_until([&] { return delivered_ >= expected; }, "all deliveries of a change");
        const auto took = SteadyClock::now() - start;
        subjects_.poll(0ms);
        if (delivered_ != expected) {
            fail("{} deliveries too many", delivered_ - expected);
        }
        return std::chrono::duration<double, std::micro>(took).count();
    }

    LoadClient subjects_;
    LoadClient watchers_;
    std::size_t watcher_count_;
    std::size_t turn_ = 0;
    std::size_t delivered_ = 0;
    std::size_t update_bytes_ = 0;
};

/// The bare loop: one message in, one send() to each connection.
Phase measure_bare(const Target& bare, LoadClient& trigger, LoadClient& readers,
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
            next += kChangeEvery / kSubjects;
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
    static_cast<void>(audience.measure(server, 1, kChangeEvery));

    const Target bare = Target::bare(options, {BareAnswer::fan_out, audience.update_bytes()});
    LoadClient trigger(bare.port(), "s");
    trigger.grow_to(1);
    LoadClient readers(bare.port(), "w");
    readers.grow_to(watchers);

    Metric single{.name = "cpu_per_delivery", .unit = "ns", .bar_on = BarOn::ratio, .bar = 1.25};
    Metric burst{.name = "cpu_per_delivery_of_8", .unit = "ns", .bar_on = BarOn::ratio, .bar = 0.3};
    Metric last{.name = "last_delivery_p50", .unit = "us"};
    for (std::size_t round = 0; round < options.rounds; ++round) {
        const Phase ours = audience.measure(server, 1, options.phase);
        const Phase base = measure_bare(bare, trigger, readers, options.phase);
        const Phase eight = audience.measure(server, kBurst, options.phase);
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
