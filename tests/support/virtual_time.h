#pragma once

#include "presence/base/assert.h"
#include "presence/base/clock.h"
#include "presence/base/scheduler.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace presence::testing {

/// A clock that stands still until somebody moves it. Share one between all schedulers and flows
/// of a test. One thread.
class VirtualClock final : public Clock {
public:
    /// 2025-01-01 00:00:00 UTC, unless the test wants another day.
    static constexpr WallTime kStart = WallTime::from_ms(1'735'689'600'000);

    explicit VirtualClock(WallTime wall = kStart) : wall_(wall) {}

    [[nodiscard]] MonoTime now() const noexcept override { return now_; }
    [[nodiscard]] WallTime wall_now() const noexcept override { return wall_; }

    /// Lets time pass without running anything: a process that was stopped. Never back.
    void pass(Millis time) {
        PRESENCE_ASSERT(time >= Millis{0});
        now_ = now_ + time;
        wall_ = wall_ + time;
    }

    /// Somebody sets the clock on the wall, forward or back; the monotonic time does not notice.
    void step_wall(Millis by) { wall_ = wall_ + by; }

private:
    MonoTime now_{Millis{1'000'000}};  // Not 0, so that "never set" differs from "at the start".
    WallTime wall_;
};

/// Runs work in virtual time: deterministic, equal deadlines in the order in which they were
/// armed, posted work as if armed for now. One thread; nothing runs but within the run functions.
class VirtualScheduler final : public Scheduler {
public:
    explicit VirtualScheduler(VirtualClock& clock) : clock_(clock) {}
    VirtualScheduler(const VirtualScheduler&) = delete;
    VirtualScheduler& operator=(const VirtualScheduler&) = delete;

    void post(Work work) override { arm(Millis{0}, std::move(work)); }
    TimerId after(Millis delay, Work work) override { return arm(delay, std::move(work)); }
    void cancel(TimerId timer) override {
        const auto found = deadlines_.find(timer.value);
        if (found != deadlines_.end()) {
            queue_.erase(Key{found->second, timer.value});
            deadlines_.erase(found);
        }
    }

    /// Runs what is due now, and what that makes due now. Time does not move.
    /// @return How many pieces of work ran.
    std::size_t run_ready() {
        std::size_t ran = 0;
        while (!queue_.empty() && queue_.begin()->first.deadline <= clock_.now()) {
            run_first();
            PRESENCE_ASSERT(++ran < kMostAtOnce);  // Work that posts itself for ever.
        }
        return ran;
    }

    /// Lets `time` pass, running each piece of work at its own moment.
    std::size_t advance(Millis time) { return advance_to(clock_.now() + time); }
    std::size_t advance_to(MonoTime end) {
        std::size_t ran = run_ready();
        while (!queue_.empty() && queue_.begin()->first.deadline <= end) {
            clock_.pass(queue_.begin()->first.deadline - clock_.now());
            ran += run_ready();
        }
        clock_.pass(std::max(end - clock_.now(), Millis{0}));
        return ran;
    }

    /// Moves to the next deadline and runs what is due then. False: nothing is armed.
    bool run_next() {
        if (queue_.empty()) {
            return false;
        }
        clock_.pass(std::max(queue_.begin()->first.deadline - clock_.now(), Millis{0}));
        run_ready();
        return true;
    }

    /// Timers and posted work that have not run.
    [[nodiscard]] std::size_t pending() const { return queue_.size(); }
    [[nodiscard]] std::optional<MonoTime> next_deadline() const {
        return queue_.empty() ? std::nullopt : std::optional(queue_.begin()->first.deadline);
    }
    [[nodiscard]] VirtualClock& clock() { return clock_; }

private:
    static constexpr std::size_t kMostAtOnce = 10'000'000;

    struct Key {
        MonoTime deadline;
        std::uint64_t order = 0;
        friend auto operator<=>(const Key&, const Key&) = default;
    };

    TimerId arm(Millis delay, Work work) {
        const Key key{clock_.now() + std::max(delay, Millis{0}), ++armed_};
        queue_.emplace(key, std::move(work));
        deadlines_.emplace(key.order, key.deadline);
        return TimerId{key.order};
    }

    void run_first() {
        auto node = queue_.extract(queue_.begin());
        deadlines_.erase(node.key().order);
        node.mapped()();
    }

    VirtualClock& clock_;
    std::uint64_t armed_ = 0;
    std::map<Key, Work> queue_;
    std::map<std::uint64_t, MonoTime> deadlines_;
};

}  // namespace presence::testing
