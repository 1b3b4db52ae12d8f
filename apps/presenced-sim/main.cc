// Plays stories of whole clusters in virtual time.

#include "presence/base/log.h"

#include "plan/command.h"
#include "runner.h"
#include "seeds/command.h"
#include "world.h"

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdio>
#include <random>
#include <string>
#include <thread>
#include <utility>

namespace {

using namespace presence;

/// Prints what was told in the world of the story and, where that held, in the one in which its
/// hidden user does nothing: either may be the one that fails.
int trace_one(sim::Story story) {
    log::configure(log::Level::info, log::Format::text);
    std::string failure;
    for (const bool silent : {false, true}) {
        if (!failure.empty() || (silent && story.hiding == sim::Hiding::none)) {
            break;
        }
        story.silent = silent;
        std::string log;
        {
            sim::World world(story);
            world.write_down(&log);
            failure = world.play();
        }
        std::printf("%s%s%s\n", silent ? "where the hidden user does nothing:\n" : "", log.c_str(),
                    failure.empty() ? "all held" : failure.c_str());
    }
    return failure.empty() ? 0 : 1;
}

int play_one(std::uint64_t seed, const sim::StoryOptions& options, bool trace, int tries) {
    sim::Story story = sim::make_story(seed, options);
    if (trace) {
        return trace_one(std::move(story));
    }
    const sim::Outcome outcome = sim::play_apart(story);
    if (outcome.failure.empty()) {
        std::printf("seed %lu: all held; %zu events, %lu faults, %lu presences told, %lu checked\n",
                    seed, story.events.size(), outcome.faults, outcome.presences, outcome.checks);
        return 0;
    }
    std::printf("as it was: %s\n", outcome.failure.c_str());
    if (tries > 0) {
        story = sim::shorten(story, outcome.failure, tries);
    }
    sim::print_failure(story, sim::play_apart(story));
    return 1;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Simulates clusters of presenced in virtual time");
    app.require_subcommand(1);
    int exit_code = 0;
    seeds::add_command(app, exit_code);
    plan::add_command(app, exit_code);
    CLI::App& run = *app.add_subcommand("run", "plays the stories of seeds");
    std::uint64_t seed = 0;
    std::uint64_t seeds = 0;
    double hours = 1;
    double minutes = 0;
    bool trace = false;
    bool calm = false;
    bool first = false;
    int jobs = static_cast<int>(std::thread::hardware_concurrency());
    int tries = 200;
    run.add_option("--seed", seed, "the first seed; alone: this one story");
    run.add_option("--seeds", seeds, "how many stories");
    run.add_option("--hours", hours, "virtual hours of each story")->check(CLI::Range(0.01, 100.0));
    run.add_option("--minutes", minutes, "go on for so long, from a random seed if none is given");
    run.add_option("--jobs", jobs, "stories played side by side")->check(CLI::Range(1, 256));
    run.add_option("--tries", tries, "stories played to find a shorter one that fails; 0: none");
    run.add_flag("--trace", trace, "with one seed: prints all that was told");
    run.add_flag("--calm", calm, "without faults");
    run.add_flag("--until-failure", first, "end at the first story that fails");
    CLI11_PARSE(app, argc, argv);
    if (!run) {
        return exit_code;
    }

    sim::StoryOptions options;
    options.length = Millis{static_cast<std::int64_t>(hours * 3'600'000)};
    options.faults = !calm;
    log::configure(log::Level::off, log::Format::text);
    if (seeds == 0 && minutes == 0) {
        return play_one(seed, options, trace, tries);
    }
    if (seed == 0 && seeds == 0) {
        seed = std::random_device()() % 1'000'000'000;
    }
    const auto began = std::chrono::steady_clock::now();
    const sim::SweepResult result =
        sim::sweep({seed, seeds, minutes * 60, jobs, options, tries, first});
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    std::printf(
        "%lu stories of %.2g h from seed %lu in %.0f s: %lu failed; %lu faults, "
        "%lu presences told, %lu checked\n",
        result.played, hours, seed, took.count(), result.failed, result.sums.faults,
        result.sums.presences, result.sums.checks);
    return result.failed == 0 ? 0 : 1;
}
