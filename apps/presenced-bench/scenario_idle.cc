#include "failure.h"
#include "load_client.h"
#include "scenarios.h"
#include "targets.h"

#include <algorithm>
#include <thread>

namespace presence::bench {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t kWatchesEach = 40;

struct Slopes {
    double resident = 0;
    double private_dirty = 0;
    double login_us = 0;
    double watch_bytes = 0;
    double watch_us = 0;
};

void settle(const Target& target, const Options& options) {
    std::this_thread::sleep_for(options.settle);
    wait_until_quiet(target.process());
}

/// Every connection watches the 40 users after it, so that each user also has 40 watchers.
void watch_neighbours(LoadClient& client) {
    std::size_t answers = 0;
    client.on_message([&](std::size_t, std::string_view message) {
        if (message.find(R"("type":"snapshot")") != std::string_view::npos) {
            ++answers;
        } else if (message.find(R"("type":"error")") != std::string_view::npos) {
            fail("a watch was refused: {}", message);
        }
    });
    for (std::size_t at = 0; at < client.size(); ++at) {
        std::string users;
        for (std::size_t step = 1; step <= kWatchesEach; ++step) {
            users += fmt::format(R"({}"{}")", step == 1 ? "" : ",",
                                 client.user((at + step) % client.size()));
        }
        client.send_text(at, fmt::format(R"({{"type":"watch","users":[{}]}})", users));
        client.poll_until([&] { return answers + 32 > at; }, "snapshots");
    }
    client.poll_until([&] { return answers == client.size(); }, "the last snapshots");
    client.on_message({});
}

Slopes measure(const Target& target, std::size_t few, std::size_t many, bool with_watches,
               const Options& options) {
    LoadClient client(target.port(), "u");
    client.grow_to(few);
    settle(target, options);
    const ProcessMemory before = process_memory(target.process());
    const CpuTime login = cpu_during(target, [&] { client.grow_to(many); });
    settle(target, options);
    const ProcessMemory after = process_memory(target.process());

    Slopes slopes;
    const auto grown = static_cast<double>(many - few);
    slopes.resident = (after.resident - before.resident) / grown;
    slopes.private_dirty = (after.private_dirty - before.private_dirty) / grown;
    slopes.login_us = each_ns(login.total, many - few) / 1'000;
    if (with_watches) {
        const CpuTime watch = cpu_during(target, [&] { watch_neighbours(client); });
        settle(target, options);
        const ProcessMemory watched = process_memory(target.process());
        const std::size_t watches = many * kWatchesEach;
        slopes.watch_bytes = (watched.resident - after.resident) / static_cast<double>(watches);
        slopes.watch_us = each_ns(watch.total, many) / 1'000;
    }
    return slopes;
}

}  // namespace

Report run_idle(const Options& options) {
    const std::size_t many = options.connections.value_or(15'000);
    const std::size_t few = std::max<std::size_t>(many * 2 / 15, 1);
    Metric resident{.name = "rss_per_session", .unit = "B", .bar_on = BarOn::value, .bar = 1'024};
    Metric dirty{
        .name = "private_dirty_per_session", .unit = "B", .bar_on = BarOn::value, .bar = 1'024};
    Metric login{.name = "cpu_per_login", .unit = "us"};
    Metric watch{.name = "rss_per_watch", .unit = "B", .bar_on = BarOn::value, .bar = 64};
    Metric watch_call{.name = "cpu_per_watch_of_40", .unit = "us"};
    for (std::size_t round = 0; round < options.rounds; ++round) {
        const Slopes ours = measure(Target::presenced(options), few, many, true, options);
        const Slopes base = measure(Target::bare(options, {}), few, many, false, options);
        say_progress(fmt::format("round {}: {:.0f} B a session, bare {:.0f} B, {:.0f} B a watch",
                                 round + 1, ours.resident, base.resident, ours.watch_bytes));
        resident.values.push_back(ours.resident);
        resident.baselines.push_back(base.resident);
        dirty.values.push_back(ours.private_dirty);
        dirty.baselines.push_back(base.private_dirty);
        login.values.push_back(ours.login_us);
        login.baselines.push_back(base.login_us);
        watch.values.push_back(ours.watch_bytes);
        watch_call.values.push_back(ours.watch_us);
    }
    return {"idle",
            fmt::format("slope from {} to {} sessions, then {} watches each, {} rounds", few, many,
                        kWatchesEach, options.rounds),
            {std::move(resident), std::move(dirty), std::move(login), std::move(watch),
             std::move(watch_call)}};
}

}  // namespace presence::bench
