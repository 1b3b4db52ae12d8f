#pragma once

#include "presence/base/result.h"
#include "presence/base/scheduler.h"
#include "presence/base/task.h"

#include <atomic>
#include <cstdint>
#include <string>

namespace presence {

/// How a store in memory can be told to fail, so that degraded modes can be tried. Any thread.
class StoreFaults {
public:
    /// Every call fails with `unavailable` and changes nothing.
    void set_unavailable(bool unavailable) { unavailable_ = unavailable; }
    /// Writes are done, and yet answered with `unavailable`: the outcome is unknown.
    void set_loses_answers(bool loses) { loses_answers_ = loses; }
    /// Only what ends presences is written; all else fails with `unavailable`.
    void set_refuses_writes(bool refuses) { refuses_writes_ = refuses; }
    void count_refusal() { ++writes_refused_; }
    [[nodiscard]] std::uint64_t writes_refused() const { return writes_refused_; }
    /// Every call waits that long before it does anything. Zero: none.
    void set_delay(Millis delay) { delay_ms_ = delay.count(); }

    [[nodiscard]] bool unavailable() const { return unavailable_; }
    [[nodiscard]] bool loses_answers() const { return loses_answers_; }
    [[nodiscard]] bool refuses_writes() const { return refuses_writes_; }
    [[nodiscard]] Millis delay() const { return Millis{delay_ms_}; }

    [[nodiscard]] static Error error(const char* store) {
        return Error{ErrorCode::unavailable, std::string(store) + " was told to fail", 1000, 0};
    }

private:
    std::atomic<bool> unavailable_ = false;
    std::atomic<bool> loses_answers_ = false;
    std::atomic<bool> refuses_writes_ = false;
    std::atomic<std::uint32_t> writes_refused_ = 0;
    std::atomic<std::int64_t> delay_ms_ = 0;
};

/// Completes after `delay`.
[[nodiscard]] inline Task<bool> wait_for(Scheduler& scheduler, Millis delay) {
    Completion<bool> waited([&](auto done) {
        scheduler.after(delay, [done = std::move(done)]() mutable { done(true); });
    });
    const bool over = co_await waited;
    co_return over;
}

}  // namespace presence
