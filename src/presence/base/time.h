#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <limits>
#include <optional>

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

/// A WallTime or none, in the 8 bytes of a WallTime: for what there is one of for each user or
/// session. To the outside it is a std::optional.
class MaybeTime {
public:
    constexpr MaybeTime() noexcept = default;
    constexpr MaybeTime(std::nullopt_t) noexcept {}               // NOLINT(*-explicit-*)
    constexpr MaybeTime(WallTime time) noexcept : time_(time) {}  // NOLINT(*-explicit-*)
    constexpr MaybeTime(std::optional<WallTime> time) noexcept    // NOLINT(*-explicit-*)
        : time_(time.value_or(kNone)) {}
    constexpr operator std::optional<WallTime>() const noexcept {  // NOLINT(*-explicit-*)
        return has_value() ? std::optional(time_) : std::nullopt;
    }

    [[nodiscard]] constexpr bool has_value() const noexcept { return time_ != kNone; }
    constexpr explicit operator bool() const noexcept { return has_value(); }
    constexpr const WallTime& operator*() const noexcept { return time_; }
    constexpr const WallTime* operator->() const noexcept { return &time_; }
    [[nodiscard]] constexpr WallTime value_or(WallTime other) const noexcept {
        return has_value() ? time_ : other;
    }
    constexpr void reset() noexcept { time_ = kNone; }

    /// As of optionals: none is before all times.
    friend constexpr auto operator<=>(const MaybeTime&, const MaybeTime&) = default;

private:
    static constexpr WallTime kNone{Millis::min()};
    WallTime time_ = kNone;
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
