#include "audience.h"

#include "failure.h"
#include "statistics.h"
#include "wire.h"

#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace presence::bench {

namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

}  // namespace

Audience::Audience(std::uint16_t port, std::size_t watchers)
    : subjects_(port, "s"), watchers_(port, "w"), watcher_count_(watchers) {
    subjects_.grow_to(kSubjects);
    watchers_.grow_to(watchers);
    watch();
}

DeliveryCost Audience::measure(const Target& target, std::size_t burst,
                               std::chrono::milliseconds duration) {
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

void Audience::watch() {
    std::size_t snapshots = 0;
    watchers_.on_message([&snapshots](std::size_t, std::string_view message) {
        snapshots += count_of(message, R"("type":"snapshot")");
    });
    for (std::size_t at = 0; at < watcher_count_; ++at) {
        watchers_.send_text(at, fmt::format(R"({{"type":"watch","users":[{}]}})",
                                            subjects_.user_list(0, kSubjects)));
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

double Audience::change(std::size_t burst) {
    const std::size_t expected = delivered_ + burst * watcher_count_;
    const auto start = SteadyClock::now();
    for (std::size_t at = 0; at < burst; ++at) {
        const bool away = (turn_ / kSubjects) % 2 == 0;
        subjects_.send_text(turn_ % kSubjects,
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

}  // namespace presence::bench
