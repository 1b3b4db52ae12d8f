#pragma once

#include "script.h"

#include <cstdint>
#include <functional>
#include <string>

namespace presence::sim {

/// How a story went.
struct Outcome {
    std::string failure;  ///< Empty: all held.
    std::uint64_t presences = 0;
    std::uint64_t checks = 0;
    std::uint64_t faults = 0;
};

/// Plays a story in a process of its own, so that a broken assertion is a failure like any other.
[[nodiscard]] Outcome play_apart(const Story& story);

/// The shortest story found that still fails in the same way: events are left out, in ever smaller
/// pieces, while it does. Plays at most `tries` stories.
[[nodiscard]] Story shorten(const Story& story, const std::string& failure, int tries);

struct Sweep {
    std::uint64_t first = 1;
    std::uint64_t seeds = 0;  ///< 0: until the time is over.
    double seconds = 0;       ///< 0: until the seeds are through.
    int jobs = 1;
    StoryOptions story;
    int shorten_tries = 200;
    bool until_failure = false;  ///< The first story that fails is the last one begun.
};
struct SweepResult {
    std::uint64_t played = 0;
    std::uint64_t failed = 0;
    Outcome sums;
};
/// Plays many stories side by side and prints those that fail.
[[nodiscard]] SweepResult sweep(const Sweep& sweep);

/// What somebody needs to know to repeat and understand a failure.
void print_failure(const Story& story, const Outcome& outcome);

}  // namespace presence::sim
