#include "command.h"

#include "presence/base/log.h"

#include "failure.h"
#include "parts.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <functional>
#include <iterator>
#include <memory>

namespace presence::seeds {

namespace {

struct Chosen {
    Options options;
    bool json = false;
    bool without_redis = false;
    double redis_seconds = 30;
};

int run(const Chosen& chosen) {
    Options options = chosen.options;
    options.redis = !chosen.without_redis;
    options.redis_patience = Millis{static_cast<std::int64_t>(chosen.redis_seconds * 1000)};
    if (options.quick) {
        options.redis_patience = std::min(options.redis_patience, Millis{2'000});
    }
    log::configure(log::Level::off, log::Format::text);
    Figures figures;
    try {
        for (const auto& part : {detection, false_flips, grace, audience, database_writes,
                                 heartbeat_rates, redis_facts}) {
            Figures more = part(options);
            figures.insert(figures.end(), std::make_move_iterator(more.begin()),
                           std::make_move_iterator(more.end()));
        }
    } catch (const bench::BenchFailure& failure) {
        fmt::print(stderr, "presenced-sim: {}\n", failure.what());
        return 2;
    }
    fmt::print("{}\n", chosen.json ? as_json(figures) : as_table(figures));
    return all_hold(figures) ? 0 : 1;
}

}  // namespace

void add_command(CLI::App& app, int& exit_code) {
    CLI::App& command = *app.add_subcommand(
        "seeds",
        "prints the figures of three published texts on presence, and beside each what comes out "
        "here.\nExit: 0 all hold, 1 one does not, 2 redis-server did not do as it was told");
    const auto chosen = std::make_shared<Chosen>();
    command.add_option("--seed", chosen->options.seed, "of all chance")->capture_default_str();
    command.add_flag("--quick", chosen->options.quick,
                     "seconds instead of minutes: the same code, rougher figures");
    command.add_flag("--json", chosen->json, "one JSON object on one line");
    command.add_flag("--no-redis", chosen->without_redis, "asks no redis-server");
    command
        .add_option("--redis-seconds", chosen->redis_seconds,
                    "how long to wait for Redis to tell of expired keys")
        ->check(CLI::Range(0.1, 3'600.0))
        ->capture_default_str();
    command.callback([chosen, &exit_code] { exit_code = run(*chosen); });
}

}  // namespace presence::seeds
