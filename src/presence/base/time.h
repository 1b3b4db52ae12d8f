#pragma once

#include <chrono>
#include <compare>
#include <cstdint>

namespace presence {

using Millis = std::chrono::milliseconds;
using namespace std::chrono_literals;

/// A moment on the server's wall clock, since the Unix epoch. Goes on the wire and into stores;
/// it may be stepped, so nothing expires by it but what people set by the clock on the wall.
struct WallTime {
    Millis since_epoch{0};

    [[nodiscard]] constexpr std::int64_t ms() const noexcept { return since_epoch.count(); }
    [[nodiscard]] static constexpr WallTime from_ms(std::int64_t ms) noexcept {
        return WallTime{Millis{ms}};
    }

    friend constexpr auto operator<=>(const WallTime&, const WallTime&) = default;
    friend constexpr WallTime operator+(WallTime t, Millis d) { return {t.since_epoch + d}; }
    friend constexpr WallTime operator-(WallTime t, Millis d) { return {t.since_epoch - d}; }
    friend constexpr Millis operator-(WallTime a, WallTime b) {
        return a.since_epoch - b.since_epoch;
    }
};

/// A moment on a clock that only moves forward and that nobody steps. Liveness is measured on it;
/// it has no meaning outside this process.
struct MonoTime {
    Millis since_start{0};

    friend constexpr auto operator<=>(const MonoTime&, const MonoTime&) = default;
    friend constexpr MonoTime operator+(MonoTime t, Millis d) { return {t.since_start + d}; }
    friend constexpr MonoTime operator-(MonoTime t, Millis d) { return {t.since_start - d}; }
    friend constexpr Millis operator-(MonoTime a, MonoTime b) {
        return a.since_start - b.since_start;
    }
};

}  // namespace presence
