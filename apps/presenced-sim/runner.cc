#include "runner.h"

#include "twins.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <map>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace presence::sim {

namespace {

using SteadyClock = std::chrono::steady_clock;

/// A story that is being played by another process.
struct Playing {
    Story story;
    int pipe = -1;
};

/// A story that takes longer than that, in real time, goes round in circles.
constexpr unsigned kMostSeconds = 300;

pid_t start(const Story& story, int& pipe_end) {
    int ends[2];
    PRESENCE_ASSERT(pipe(ends) == 0);
    std::fflush(nullptr);
    const pid_t child = fork();
    PRESENCE_ASSERT(child >= 0);
    if (child > 0) {
        close(ends[1]);
        pipe_end = ends[0];
        return child;
    }
    close(ends[0]);
    alarm(kMostSeconds);
    World::Figures figures;
    const std::string failure = play_story(story, figures);
    const std::string answer =
        fmt::format("{} {} {}\n{}", figures.presences, figures.checks, figures.faults, failure);
    std::size_t written = 0;
    while (written < answer.size()) {
        const ssize_t now = write(ends[1], answer.data() + written, answer.size() - written);
        if (now <= 0) {
            break;
        }
        written += static_cast<std::size_t>(now);
    }
    _exit(0);
}

Outcome read_outcome(int pipe_end, int status) {
    std::string text;
    char buffer[4096];
    ssize_t got = 0;
    while ((got = read(pipe_end, buffer, sizeof buffer)) > 0) {
        text.append(buffer, static_cast<std::size_t>(got));
    }
    close(pipe_end);
    Outcome outcome;
    if (WIFSIGNALED(status)) {
        outcome.failure = WTERMSIG(status) == SIGALRM
                              ? fmt::format("took longer than {} s", kMostSeconds)
                              : fmt::format("the process died of signal {}", WTERMSIG(status));
        return outcome;
    }
    const std::size_t end = text.find('\n');
    if (end == std::string::npos || std::sscanf(text.c_str(), "%lu %lu %lu", &outcome.presences,
                                                &outcome.checks, &outcome.faults) != 3) {
        outcome.failure = fmt::format("the process ended without a word (status {})", status);
        return outcome;
    }
    outcome.failure = text.substr(end + 1);
    return outcome;
}

/// Which rules it names: a shorter story may fail in another way, which is another story.
std::string_view kind_of(std::string_view failure) {
    const std::size_t at = failure.rfind("(rule");
    return at == std::string_view::npos ? failure.substr(0, failure.find('\n'))
                                        : failure.substr(at, failure.find(')', at) - at);
}

}  // namespace

Outcome play_apart(const Story& story) {
    int pipe_end = -1;
    const pid_t child = start(story, pipe_end);
    // What it says fits into the pipe.
    int status = 0;
    waitpid(child, &status, 0);
    return read_outcome(pipe_end, status);
}

Story shorten(const Story& story, const std::string& failure, int tries) {
    Story best = story;
    const std::string_view kind = kind_of(failure);
    const auto still_fails = [&](const Story& shorter) {
        --tries;
        const Outcome outcome = play_apart(shorter);
        return !outcome.failure.empty() && kind_of(outcome.failure) == kind;
    };
    for (std::size_t piece = std::max<std::size_t>(best.events.size() / 2, 1);;) {
        bool shorter_found = false;
        for (std::size_t at = 0; at < best.events.size() && tries > 0;) {
            Story shorter = best;
            const auto begin = shorter.events.begin() + static_cast<std::ptrdiff_t>(at);
            const auto count = std::min(piece, shorter.events.size() - at);
            shorter.events.erase(begin, begin + static_cast<std::ptrdiff_t>(count));
            if (!shorter.events.empty()) {
                shorter.length = std::min(shorter.length, shorter.events.back().at + Millis{1'000});
            }
            if (still_fails(shorter)) {
                best = std::move(shorter);
                shorter_found = true;
            } else {
                at += piece;
            }
        }
        if (tries <= 0 || (piece == 1 && !shorter_found)) {
            return best;
        }
        piece = std::max<std::size_t>(piece / 2, 1);
    }
}

void print_failure(const Story& story, const Outcome& outcome) {
    std::printf("seed %lu: %s\n", story.seed, outcome.failure.c_str());
    std::printf("  %u machines, %u users, %u devices that watch %u users each; %zu events:\n",
                story.machines, story.users, story.devices, story.watched, story.events.size());
    constexpr std::size_t kMostLines = 60;
    for (std::size_t i = 0; i < std::min(story.events.size(), kMostLines); ++i) {
        std::printf("  %s\n", to_text(story.events[i]).c_str());
    }
    if (story.events.size() > kMostLines) {
        std::printf("  and %zu more\n", story.events.size() - kMostLines);
    }
    std::fflush(stdout);
}

SweepResult sweep(const Sweep& sweep) {
    SweepResult result;
    std::map<pid_t, Playing> playing;
    std::uint64_t next = sweep.first;
    const auto began = SteadyClock::now();
    const auto is_over = [&] {
        const std::chrono::duration<double> ran = SteadyClock::now() - began;
        return (sweep.until_failure && result.failed > 0) ||
               (sweep.seeds > 0 && next >= sweep.first + sweep.seeds) ||
               (sweep.seconds > 0 && ran.count() >= sweep.seconds);
    };
    while (!is_over() || !playing.empty()) {
        while (!is_over() && playing.size() < static_cast<std::size_t>(sweep.jobs)) {
            Playing one{make_story(next++, sweep.story), -1};
            const pid_t child = start(one.story, one.pipe);
            playing.emplace(child, std::move(one));
        }
        int status = 0;
        const pid_t child = wait(&status);
        const auto found = playing.find(child);
        if (found == playing.end()) {
            continue;
        }
        const Playing one = std::move(found->second);
        playing.erase(found);
        const Outcome outcome = read_outcome(one.pipe, status);
        ++result.played;
        result.sums.presences += outcome.presences;
        result.sums.checks += outcome.checks;
        result.sums.faults += outcome.faults;
        if (outcome.failure.empty()) {
            continue;
        }
        ++result.failed;
        const Story shortest = sweep.shorten_tries > 0
                                   ? shorten(one.story, outcome.failure, sweep.shorten_tries)
                                   : one.story;
        const Outcome again = play_apart(shortest);
        print_failure(shortest, again.failure.empty() ? outcome : again);
    }
    return result;
}

}  // namespace presence::sim
