#include "failure.h"
#include "fleet.h"
#include "load_client.h"
#include "scenarios.h"
#include "targets.h"
#include "wire.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace presence::bench {

namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kWatchedEach = 500;
/// The grace, which is longer than a lease, and what DESIGN rule 32 adds.
constexpr double kMostMs = 11'000;
/// Within that long of the kill, people are back before anybody may call them gone.
constexpr auto kBackWithin = 7s;

/// Three nodes, people on the first, watchers on the others. The first half of the people come back
/// after its death.
class Widowed {
public:
    Widowed(const Options& options, std::size_t people)
        : redis_(RedisTarget::single()), people_count_(people), resume_(people) {
        for (std::size_t at = 0; at < 3; ++at) {
            nodes_.push_back(std::make_unique<Target>(Target::node(options, redis_.url())));
        }
        people_ = std::make_unique<LoadClient>(nodes_[0]->port(), "u");
        people_->on_welcome([this](std::size_t at, std::string_view welcome) {
            resume_[at] = text_of(welcome, "resume");
        });
        people_->grow_to(people);
        for (std::size_t first = 0; first < people; first += kWatchedEach) {
            watch(first, std::min(kWatchedEach, people - first));
        }
    }

    struct Outcome {
        std::size_t announced = 0;  ///< Of those who came back.
        double settled_ms = 0;      ///< From the kill to the last who is gone.
        double commands = 0;
    };

    Outcome die() {
        for (std::size_t at = 0; at < people_count_; ++at) {
            people_->fall_silent(at);
        }
        const auto killed = SteadyClock::now();
        nodes_[0].reset();
        LoadClient returned(nodes_[1]->port(), "u");
        returned.set_hello_fields(
            [this](std::size_t at) { return fmt::format(R"(,"resume":"{}")", resume_[at]); });
        returned.on_welcome([](std::size_t, std::string_view welcome) {
            if (welcome.find(R"("resumed":true)") == std::string_view::npos) {
                fail("a session was not resumed: {}", welcome);
            }
        });
        returned.grow_to(people_count_ / 2);
        if (SteadyClock::now() - killed > kBackWithin) {
            fail("the machine is too slow: {} people took over {} s to come back",
                 people_count_ / 2, kBackWithin.count());
        }
        const std::map<std::string, double> before = redis_.command_calls();
        const std::size_t gone = people_count_ - people_count_ / 2;
        while (offline_.size() < gone) {
            for (const auto& watcher : watchers_) {
                watcher->poll(1ms);
            }
            returned.poll(0ms);
            if (SteadyClock::now() - killed > 30s) {
                fail("{} of {} are not known to be gone", gone - offline_.size(), gone);
            }
        }
        Outcome outcome;
        outcome.settled_ms =
            std::chrono::duration<double, std::milli>(SteadyClock::now() - killed).count();
        std::this_thread::sleep_for(1s);
        for (const auto& watcher : watchers_) {
            watcher->poll(10ms);
        }
        outcome.commands = store_use(before, redis_.command_calls()).commands;
        for (std::size_t at = 0; at < people_count_ / 2; ++at) {
            outcome.announced += offline_.contains(returned.user(at)) ? 1U : 0U;
        }
        return outcome;
    }

private:
    void watch(std::size_t first, std::size_t count) {
        const std::size_t node = 1 + watchers_.size() % 2;
        watchers_.push_back(std::make_unique<LoadClient>(nodes_[node]->port(),
                                                         fmt::format("w{}-", watchers_.size())));
        LoadClient& watcher = *watchers_.back();
        watcher.grow_to(1);
        watcher.watch(0, people_->user_list(first, count));
        watcher.on_message([this](std::size_t, std::string_view message) {
            for_each_status(message, [this](std::string_view user, std::string_view status) {
                if (status == "offline") {
                    offline_.emplace(user);
                }
            });
        });
    }

    RedisTarget redis_;
    std::size_t people_count_;
    std::vector<std::unique_ptr<Target>> nodes_;
    std::unique_ptr<LoadClient> people_;
    std::vector<std::unique_ptr<LoadClient>> watchers_;
    std::vector<std::string> resume_;
    std::set<std::string> offline_;  ///< Who was told to be.
};

}  // namespace

Report run_node_death(const Options& options) {
    const std::size_t people = options.connections.value_or(5'000);
    Widowed nodes(options, people);
    const Widowed::Outcome outcome = nodes.die();
    return {"node-death",
            fmt::format("three nodes, {} sessions on the one that is killed, half of them come "
                        "back elsewhere; one run",
                        people),
            {{.name = "announced_of_those_who_came_back",
              .unit = "users",
              .values = {static_cast<double>(outcome.announced)},
              .bar_on = BarOn::value,
              .bar = 0},
             {.name = "settled_after_kill",
              .unit = "ms",
              .values = {outcome.settled_ms},
              .bar_on = BarOn::value,
              .bar = kMostMs},
             {.name = "store_commands_per_session",
              .unit = "",
              .values = {outcome.commands / static_cast<double>(people)}}}};
}

}  // namespace presence::bench
