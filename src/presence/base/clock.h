#pragma once

#include "presence/base/time.h"

#include <atomic>
#include <cstdint>

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

/// A clock whose wall time is put right by that of others: the nodes that share a store go by the
/// store's (DESIGN rule 36). Any thread.
class ReferenceClock final : public Clock {
public:
    explicit ReferenceClock(const Clock& own) : own_(own) {}
    [[nodiscard]] MonoTime now() const noexcept override { return own_.now(); }
    [[nodiscard]] WallTime wall_now() const noexcept override { return own_.wall_now() + offset(); }
    /// What is added to the own clock.
    void set_offset(Millis offset) noexcept { offset_ms_ = offset.count(); }
    [[nodiscard]] Millis offset() const noexcept { return Millis{offset_ms_.load()}; }

private:
    const Clock& own_;
    std::atomic<std::int64_t> offset_ms_ = 0;
};

}  // namespace presence
