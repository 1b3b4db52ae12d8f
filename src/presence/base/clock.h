#pragma once

#include "presence/base/time.h"

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

}  // namespace presence
