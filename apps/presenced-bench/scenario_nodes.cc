#include "failure.h"
#include "load_client.h"
#include "redis_target.h"
#include "scenarios.h"
#include "targets.h"
#include "wire.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace presence::bench {

namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kNodes = 3;
/// Joins that wait for their answer at a time.
constexpr std::size_t kAtOnce = 64;
/// One in so many people looks on instead of joining.
constexpr std::size_t kPeopleToAWatcher = 51;

/// Three nodes on one Redis, and people on each. Person i is on node i modulo three.
class Deployment {
public:
    Deployment(const Options& options, std::size_t people) : redis_(RedisTarget::single()) {
        for (std::size_t i = 0; i < kNodes; ++i) {
            nodes_.push_back(Target::node(options, redis_.url()));
            people_[i] = std::make_unique<LoadClient>(nodes_[i].port(), fmt::format("n{}-", i));
            people_[i]->grow_to(people / kNodes);
        }
        size_ = people / kNodes * kNodes;
    }

    [[nodiscard]] std::size_t size() const { return size_; }
    void send(std::size_t person, std::string_view message) {
        people_[person % kNodes]->send_text(person / kNodes, message);
    }
    /// Gives the person, and what it was told.
    void on_message(const std::function<void(std::size_t, std::string_view)>& handler) {
        for (std::size_t node = 0; node < kNodes; ++node) {
            people_[node]->on_message([node, handler](std::size_t at, std::string_view message) {
                if (message.find(R"("type":"error")") != std::string_view::npos) {
                    fail("refused: {}", message);
                }
                handler(at * kNodes + node, message);
            });
        }
    }
    void poll_until(const std::function<bool()>& done, std::string_view what,
                    std::chrono::milliseconds most) {
        const auto give_up = SteadyClock::now() + most;
        while (!done()) {
            if (SteadyClock::now() > give_up) {
                fail("waited {} ms for {}", most.count(), what);
            }
            for (const auto& people : people_) {
                people->poll(1ms);
            }
        }
    }
    void poll_for(std::chrono::milliseconds time) {
        const auto end = SteadyClock::now() + time;
        poll_until([&] { return SteadyClock::now() > end; }, "nothing", time + 1s);
    }

private:
    RedisTarget redis_;
    std::vector<Target> nodes_;
    std::array<std::unique_ptr<LoadClient>, kNodes> people_;
    std::size_t size_ = 0;
};

struct Storm {
    double right_after_ms = 0;  ///< From the last answer to the last right count.
    double seconds = 0;         ///< From the first request to the last answer.
    double deliveries = 0;      ///< Messages about the room to all watchers together.
};

/// Everybody but the watchers joins as fast as the servers answer, hearing nothing, then leaves;
/// the first `watchers` look on.
class StormOfJoins {
public:
    StormOfJoins(Deployment& people, std::string room, std::size_t watchers)
        : people_(people), room_(std::move(room)), watchers_(watchers), counts_(watchers, 0) {
        people_.on_message(
            [this](std::size_t person, std::string_view message) { hear(person, message); });
    }

    Storm run() {
        const std::size_t members = people_.size() - watchers_;
        ask(0, watchers_, R"("type":"join","observe":true)");
        expected_ = members;
        deliveries_ = 0;
        const auto from = SteadyClock::now();
        ask(watchers_, people_.size(), R"("type":"join","updates":false)");
        const auto answered = SteadyClock::now();
        people_.poll_until([this] { return right() == watchers_; }, "the right count everywhere",
                           30s);
        const auto done = SteadyClock::now();
        people_.poll_for(1'500ms);
        if (right() != watchers_) {
            fail("a count that was right became wrong");
        }
        Storm storm;
        storm.right_after_ms = std::chrono::duration<double, std::milli>(done - answered).count();
        storm.seconds = std::chrono::duration<double>(answered - from).count();
        storm.deliveries = static_cast<double>(deliveries_);
        leave_all();
        return storm;
    }

private:
    void hear(std::size_t person, std::string_view message) {
        if (message.find(R"("id":1,)") != std::string_view::npos ||
            message.find(R"("id":1})") != std::string_view::npos) {
            ++answers_;
        }
        if (person < watchers_ && message.find(R"("type":"room)") != std::string_view::npos) {
            ++deliveries_;
            counts_[person] = count_in(message);
        }
    }
    [[nodiscard]] std::size_t right() const {
        return static_cast<std::size_t>(std::ranges::count(counts_, expected_));
    }
    void ask(std::size_t from, std::size_t to, const char* what) {
        const std::string request = fmt::format(R"({{{},"id":1,"room":"{}"}})", what, room_);
        const std::size_t before = answers_;
        for (std::size_t person = from; person < to; ++person) {
            people_.send(person, request);
            const std::size_t asked = person + 1 - from;
            if (asked % kAtOnce == 0 || person + 1 == to) {
                people_.poll_until([&] { return answers_ - before + kAtOnce / 2 >= asked; },
                                   "answers", 60s);
            }
        }
        people_.poll_until([&] { return answers_ - before == to - from; }, "the last answers", 60s);
    }
    void leave_all() {
        ask(watchers_, people_.size(), R"("type":"leave")");
        expected_ = 0;
        people_.poll_until([this] { return right() == watchers_; }, "nobody in the room", 30s);
        ask(0, watchers_, R"("type":"leave")");
    }

    Deployment& people_;
    std::string room_;
    std::size_t watchers_;
    std::vector<std::size_t> counts_;
    std::size_t expected_ = 0;
    std::size_t answers_ = 0;
    std::size_t deliveries_ = 0;
};

}  // namespace

Report run_nodes(const Options& options) {
    const std::size_t people = options.connections.value_or(10'200) / kNodes * kNodes;
    Metric right{.name = "count_right_after", .unit = "ms", .bar_on = BarOn::value, .bar = 2'000};
    Metric few{.name = "deliveries_per_watcher", .unit = ""};
    Metric many{.name = "deliveries_per_watcher_of_twice_as_many", .unit = ""};
    Metric time{.name = "storm_took", .unit = "s"};
    const std::size_t watchers = std::max<std::size_t>(kNodes, people / kPeopleToAWatcher);
    for (std::size_t round = 0; round < options.rounds; ++round) {
        Deployment deployment(options, people);
        const Storm one = StormOfJoins(deployment, "stadium", watchers).run();
        const Storm two = StormOfJoins(deployment, "arena", watchers * 2).run();
        const double each = one.deliveries / static_cast<double>(watchers);
        const double each_of_twice = two.deliveries / static_cast<double>(watchers * 2);
        say_progress(fmt::format(
            "round {}: {} watchers: right after {:.0f} ms, {:.1f} messages "
            "each; twice as many: right after {:.0f} ms, {:.1f} each",
            round + 1, watchers, one.right_after_ms, each, two.right_after_ms, each_of_twice));
        right.values.push_back(std::max(one.right_after_ms, two.right_after_ms));
        few.values.push_back(each);
        many.values.push_back(each_of_twice);
        time.values.push_back(one.seconds);
    }
    return {"nodes",
            fmt::format("{} people on {} nodes and one Redis join one room while {} look on, {} "
                        "rounds",
                        people - watchers, kNodes, watchers, options.rounds),
            {std::move(right), std::move(few), std::move(many), std::move(time)}};
}

}  // namespace presence::bench
