#pragma once

#include "presence/base/time.h"

#include <atomic>
#include <cstdint>
#include <limits>

namespace presence {

/// The only way to learn the time. Handed in everywhere, so that a whole cluster can run in
/// virtual time. Any thread.
class Clock {
public:
    virtual ~Clock() = default;
    [[nodiscard]] virtual MonoTime now() const noexcept = 0;
    [[nodiscard]] virtual WallTime wall_now() const noexcept = 0;
};

/// The machine's clocks: CLOCK_MONOTONIC and CLOCK_REALTIME. The one file that reads them is
/// clock.cc.
class SystemClock final : public Clock {
public:
    [[nodiscard]] MonoTime now() const noexcept override;
    [[nodiscard]] WallTime wall_now() const noexcept override;
};

/// The nodes that share a store go by the store's clock (DESIGN rule 36): its last reading, and
/// what has passed since by the monotonic clock. A step of the machine's wall clock does not change
/// it. Until the first reading it is the machine's. Any thread.
class ReferenceClock final : public Clock {
public:
    explicit ReferenceClock(const Clock& own) : own_(own) {}
    [[nodiscard]] MonoTime now() const noexcept override { return own_.now(); }
    [[nodiscard]] WallTime wall_now() const noexcept override {
        const std::int64_t base = base_ms_.load();
        return base == kUnread ? own_.wall_now() : WallTime{Millis{base} + own_.now().since_start};
    }
    /// From now on it is `off` later than it was.
    void put_right(Millis off) noexcept {
        base_ms_ = (wall_now().since_epoch - own_.now().since_start + off).count();
    }
    [[nodiscard]] bool was_read() const noexcept { return base_ms_.load() != kUnread; }
    /// By how much the machine's wall clock is ahead of it.
    [[nodiscard]] Millis machine_ahead() const noexcept { return own_.wall_now() - wall_now(); }

private:
    static constexpr std::int64_t kUnread = std::numeric_limits<std::int64_t>::min();

    const Clock& own_;
    std::atomic<std::int64_t> base_ms_ = kUnread;  ///< Its time when the monotonic clock began.
};

}  // namespace presence
