#include "presence/base/clock.h"

namespace presence {

MonoTime SystemClock::now() const noexcept {
    return {
        std::chrono::duration_cast<Millis>(std::chrono::steady_clock::now().time_since_epoch())};
}

WallTime SystemClock::wall_now() const noexcept {
    return {
        std::chrono::duration_cast<Millis>(std::chrono::system_clock::now().time_since_epoch())};
}

}  // namespace presence
