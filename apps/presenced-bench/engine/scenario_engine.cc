// `engine`: what the core costs by itself, from a thousand sessions on to ten million.

#include "cpu_clock.h"
#include "engine/engine.h"
#include "failure.h"
#include "scenarios.h"
#include "targets.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <numeric>
#include <sys/wait.h>
#include <unistd.h>

namespace presence::bench {

namespace {

constexpr std::size_t kWatchesEach = 40;
constexpr std::size_t kLookedAt = 100;

/// What one crowd costs, each figure by itself.
struct Costs {
    double session_bytes = 0;
    double attach_ns = 0;
    double beat_ns = 0;
    double bare_beat_ns = 0;  ///< The same moments written into a plain array, in the same order.
    double look_ns = 0;       ///< For each user looked at.
    double watch_bytes = 0;
    double watch_ns = 0;
    double expiry_ns = 0;
};

template <class Work>
double cpu_ns(std::size_t times, Work&& work) {
    const CpuTime before = cpu_time(::getpid());
    work();
    const CpuTime spent = cpu_time(::getpid()) - before;
    return static_cast<double>(spent.total.count()) / static_cast<double>(times);
}

std::vector<std::uint32_t> shuffled(std::uint32_t people) {
    std::vector<std::uint32_t> order(people);
    std::iota(order.begin(), order.end(), 0U);
    SeededRandom random(2);
    for (std::uint32_t left = people; left > 1; --left) {
        std::swap(order[left - 1], order[random.below(left)]);
    }
    return order;
}

/// Of `order`, from a place on and round its end.
std::vector<std::uint32_t> some_of(const std::vector<std::uint32_t>& order, std::size_t from,
                                   std::size_t count) {
    std::vector<std::uint32_t> some;
    some.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        some.push_back(order[(from + i) % order.size()]);
    }
    return some;
}

double resident() {
    return process_memory(::getpid()).resident;
}

Costs measure(std::uint32_t people) {
    Costs costs;
    Engine engine;
    const std::vector<std::uint32_t> order = shuffled(people);
    const double empty = resident();
    costs.attach_ns = cpu_ns(people, [&] { engine.attach(people); });
    const double full = resident();
    costs.session_bytes = (full - empty) / people;

    // So often that a small crowd is measured, too.
    const std::size_t rounds = std::max<std::size_t>(1, 2'000'000 / people);
    costs.beat_ns = cpu_ns(rounds * people, [&] {
        for (std::size_t round = 0; round < rounds; ++round) {
            engine.beat(order);
        }
    });
    std::vector<std::int64_t> bare(people, 1);
    costs.bare_beat_ns = cpu_ns(rounds * people, [&] {
        for (std::size_t round = 0; round < rounds; ++round) {
            for (const std::uint32_t number : order) {
                bare[number] = static_cast<std::int64_t>(round);
            }
            asm volatile("" ::"r"(bare.data()) : "memory");  // Each round is to be done.
        }
    });

    const std::size_t looks = std::clamp<std::size_t>(people / kLookedAt, 1'000, 5'000);
    costs.look_ns = cpu_ns(looks * kLookedAt, [&] {
        for (std::size_t look = 0; look < looks; ++look) {
            engine.look(some_of(order, look * kLookedAt, kLookedAt));
        }
    });

    const double before_watches = resident();
    const auto viewers = static_cast<std::uint32_t>(people / 10);
    const std::size_t edges = viewers * kWatchesEach;
    costs.watch_ns = cpu_ns(edges, [&] {
        for (std::uint32_t viewer = 0; viewer < viewers; ++viewer) {
            engine.watch(viewer, some_of(order, viewer * kWatchesEach, kWatchesEach));
        }
    });
    costs.watch_bytes = (resident() - before_watches) / static_cast<double>(edges);
    for (std::uint32_t viewer = 0; viewer < viewers; ++viewer) {
        engine.unwatch_all(viewer);
    }

    costs.expiry_ns = cpu_ns(people, [&] { engine.expire(); });
    return costs;
}

/// In a process of its own, so that each crowd starts with an empty heap.
Costs measure_apart(std::uint32_t people) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) {
        fail_system("pipe");
    }
    const pid_t child = ::fork();
    if (child < 0) {
        fail_system("fork");
    }
    if (child == 0) {
        int code = 1;
        try {
            const Costs costs = measure(people);
            code = ::write(ends[1], &costs, sizeof costs) == sizeof costs ? 0 : 1;
        } catch (const std::exception& error) {
            fmt::print(stderr, "presenced-bench: {}\n", error.what());
        }
        ::_exit(code);
    }
    ::close(ends[1]);
    Costs costs;
    const bool whole = ::read(ends[0], &costs, sizeof costs) == sizeof costs;
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (!whole || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fail("the engine with {} sessions did not get to its end", people);
    }
    return costs;
}

}  // namespace

Report run_engine(const Options& options) {
    constexpr std::size_t kMost = 1'000'000;  // Ten million take some minutes: by --connections.
    const std::size_t most = options.connections.value_or(kMost);
    Report report{"engine",
                  fmt::format("no sockets, up to {} sessions, {} rounds", most, options.rounds),
                  {}};
    for (std::size_t people = 1'000; people <= std::max<std::size_t>(most, 1'000); people *= 10) {
        const bool largest = people * 10 > most;
        const auto named = [&](const char* what, const char* unit, double bar = 0) {
            return Metric{.name = fmt::format("{}_{}", what, people),
                          .unit = unit,
                          .bar_on = largest && bar > 0 ? BarOn::value : BarOn::nothing,
                          .bar = bar};
        };
        Metric bytes = named("bytes_per_session", "B", 200);
        Metric attach = named("cpu_per_attach", "ns");
        Metric beat = named("cpu_per_heartbeat", "ns", 100);
        Metric look = named("cpu_per_look", "ns");
        Metric watch_bytes = named("bytes_per_watch", "B");
        Metric watch = named("cpu_per_watch", "ns");
        Metric expiry = named("cpu_per_expiry", "ns");
        for (std::size_t round = 0; round < options.rounds; ++round) {
            const Costs costs = measure_apart(static_cast<std::uint32_t>(people));
            say_progress(fmt::format("{} sessions: {:.0f} B, {:.0f} ns a heartbeat", people,
                                     costs.session_bytes, costs.beat_ns));
            bytes.values.push_back(costs.session_bytes);
            attach.values.push_back(costs.attach_ns);
            beat.values.push_back(costs.beat_ns);
            beat.baselines.push_back(costs.bare_beat_ns);
            look.values.push_back(costs.look_ns);
            watch_bytes.values.push_back(costs.watch_bytes);
            watch.values.push_back(costs.watch_ns);
            expiry.values.push_back(costs.expiry_ns);
        }
        for (Metric* const metric :
             {&bytes, &attach, &beat, &look, &watch_bytes, &watch, &expiry}) {
            report.metrics.push_back(std::move(*metric));
        }
    }
    return report;
}

}  // namespace presence::bench
