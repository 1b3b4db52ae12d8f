#include "failure.h"
#include "load_client.h"
#include "scenarios.h"
#include "targets.h"
#include "wire.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace presence::bench {

namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;
using Ms = std::chrono::duration<double, std::milli>;

constexpr auto kInterval = 1s;
constexpr auto kTtl = 3s;
/// Last heartbeats fall evenly into that long.
constexpr auto kDying = 2s;
constexpr std::size_t kWatchedEach = 500;

/// People who fall silent one after the other, and watchers who wait for it.
class Mourners {
public:
    Mourners(std::uint16_t port, std::size_t people, std::size_t round)
        : people_(port, fmt::format("d{}-", round)),
          watchers_(port, fmt::format("m{}-", round)),
          last_beat_(people) {
        people_.grow_to(people);
        for (std::size_t at = 0; at < people; ++at) {
            number_of_.emplace(people_.user(at), at);
        }
        watchers_.grow_to((people + kWatchedEach - 1) / kWatchedEach);
        watch();
    }

    /// Milliseconds after the ttl, one for each of them.
    std::vector<double> wait_for_all() {
        const std::string beat = client_frame(Opcode::pong, {});
        const auto start = SteadyClock::now();
        auto next_beat = start;
        std::size_t dead = 0;
        while (late_ms_.size() < last_beat_.size()) {
            const auto now = SteadyClock::now();
            if (now - start > kDying + kTtl + 5s) {
                fail("{} of {} are not known to be gone", last_beat_.size() - late_ms_.size(),
                     last_beat_.size());
            }
            if (now >= next_beat) {
                next_beat += kInterval / 2;
                for (std::size_t at = 0; at < watchers_.size(); ++at) {
                    watchers_.send(at, beat);
                }
            }
            const auto due = static_cast<std::size_t>(std::min(1.0, Ms(now - start) / Ms(kDying)) *
                                                      static_cast<double>(last_beat_.size()));
            for (; dead < due; ++dead) {
                last_beat_[dead] = SteadyClock::now();
                people_.send(dead, beat);
                people_.fall_silent(dead);
            }
            people_.poll(0ms);
            watchers_.poll(1ms);
        }
        return late_ms_;
    }

private:
    void watch() {
        for (std::size_t at = 0; at < watchers_.size(); ++at) {
            const std::size_t first = at * kWatchedEach;
            const std::size_t count = std::min(kWatchedEach, people_.size() - first);
            watchers_.watch(at, people_.user_list(first, count));
        }
        watchers_.on_message([this](std::size_t, std::string_view message) {
            for_each_status(message, [this](std::string_view user, std::string_view status) {
                hear(std::string(user), status);
            });
        });
    }

    void hear(const std::string& user, std::string_view status) {
        const auto now = SteadyClock::now();
        const auto found = number_of_.find(user);
        if (found == number_of_.end() || status != "offline") {
            fail("a watcher was told that {} is {}", user, status);
        }
        const Ms late = now - last_beat_[found->second] - kTtl;
        if (last_beat_[found->second] == SteadyClock::time_point{} || late < Ms(0)) {
            fail("{} was shown offline {} ms early", user, -late.count());
        }
        late_ms_.push_back(late.count());
    }

    LoadClient people_;
    LoadClient watchers_;
    std::unordered_map<std::string, std::size_t> number_of_;
    std::vector<SteadyClock::time_point> last_beat_;
    std::vector<double> late_ms_;
};

}  // namespace

Report run_silent_death(const Options& options) {
    const std::size_t people = options.connections.value_or(2'000);
    Options quick = options;
    quick.server_sets.insert(quick.server_sets.begin(),
                             {"heartbeat.interval=1s", "heartbeat.ttl=3s", "heartbeat.grace=1s"});
    const Target server = Target::presenced(quick);
    Metric p50{.name = "lateness_p50", .unit = "ms"};
    Metric p999{.name = "lateness_p999", .unit = "ms", .bar_on = BarOn::value, .bar = 500};
    for (std::size_t round = 0; round < options.rounds; ++round) {
        Mourners mourners(server.port(), people, round);
        const std::vector<double> late = mourners.wait_for_all();
        p50.values.push_back(percentile(late, 0.5));
        p999.values.push_back(percentile(late, 0.999));
        say_progress(fmt::format("round {}: p50 {:.0f} ms, p99.9 {:.0f} ms", round + 1,
                                 p50.values.back(), p999.values.back()));
    }
    return {"silent-death",
            fmt::format("{} sessions with a ttl of 3 s fall silent within 2 s, {} rounds", people,
                        options.rounds),
            {std::move(p50), std::move(p999)}};
}

}  // namespace presence::bench
