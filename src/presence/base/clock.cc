#include "presence/base/clock.h"

#include "presence/base/latency.h"

namespace presence {

MonoTime SystemClock::now() const noexcept {
    return {
        std::chrono::duration_cast<Millis>(std::chrono::steady_clock::now().time_since_epoch())};
}

WallTime SystemClock::wall_now() const noexcept {
    return {
        std::chrono::duration_cast<Millis>(std::chrono::system_clock::now().time_since_epoch())};
}

std::uint64_t stopwatch_us() noexcept {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

}  // namespace presence
