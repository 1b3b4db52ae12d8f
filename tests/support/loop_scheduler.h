#pragma once

#include "presence/base/scheduler.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace presence::testing {

/// A small real scheduler for tests of adapters that complete from other threads: the test's
/// thread calls `run_until`, anybody posts.
class LoopScheduler final : public Scheduler {
public:
    LoopScheduler() = default;
    LoopScheduler(const LoopScheduler&) = delete;
    LoopScheduler& operator=(const LoopScheduler&) = delete;

    void post(Work work) override { arm(Millis{0}, std::move(work)); }
    TimerId after(Millis delay, Work work) override { return arm(delay, std::move(work)); }
    void cancel(TimerId timer) override {
        const std::lock_guard lock(mutex_);
        for (auto entry = queue_.begin(); entry != queue_.end(); ++entry) {
            if (entry->first.second == timer.value) {
                queue_.erase(entry);
                return;
            }
        }
    }

    /// Runs work on the calling thread until `done()` holds, which is looked at after each piece.
    /// False: `most` has passed before.
    template <class Predicate>
    bool run_until(Predicate done, Millis most = std::chrono::seconds{60}) {
        const auto end = SteadyClock::now() + most;
        while (!done()) {
            std::optional<Work> work = next(end);
            if (!work) {
                return done();
            }
            (*work)();
        }
        return true;
    }

    /// Runs what is due now and returns.
    void run_ready() {
        while (std::optional<Work> work = next(SteadyClock::now())) {
            (*work)();
        }
    }

private:
    using SteadyClock = std::chrono::steady_clock;
    using Key = std::pair<SteadyClock::time_point, std::uint64_t>;

    TimerId arm(Millis delay, Work work) {
        const std::lock_guard lock(mutex_);
        const Key key{SteadyClock::now() + delay, ++armed_};
        queue_.emplace(key, std::move(work));
        changed_.notify_one();
        return TimerId{key.second};
    }

    std::optional<Work> next(SteadyClock::time_point end) {
        std::unique_lock lock(mutex_);
        while (true) {
            const auto now = SteadyClock::now();
            if (!queue_.empty() && queue_.begin()->first.first <= now) {
                return std::move(queue_.extract(queue_.begin()).mapped());
            }
            if (now >= end) {
                return std::nullopt;
            }
            const auto wake = queue_.empty() ? end : std::min(end, queue_.begin()->first.first);
            changed_.wait_until(lock, wake);
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<Key, Work> queue_;
    std::uint64_t armed_ = 0;
};

}  // namespace presence::testing
