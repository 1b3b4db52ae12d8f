#pragma once

#include "presence/base/time.h"

#include <algorithm>
#include <cstdint>

namespace presence {

/// How often something may happen: `burst` at once, then `per_second`. Sixteen bytes of state, as
/// each connection has several.
class TokenBucket {
public:
    struct Rate {
        double per_second = 1;
        double burst = 1;
    };

    /// Takes `cost` if it is there. A bucket begins full.
    bool take(const Rate& rate, MonoTime now, double cost = 1) {
        refill(rate, now);
        if (spent_ + cost > rate.burst) {
            return false;
        }
        spent_ = static_cast<float>(spent_ + cost);
        return true;
    }

    /// How long until `cost` will be there; 0: now.
    [[nodiscard]] Millis wait(const Rate& rate, MonoTime now, double cost = 1) {
        refill(rate, now);
        const double missing = spent_ + cost - rate.burst;
        return missing <= 0
                   ? Millis{0}
                   : Millis{static_cast<std::int64_t>(missing / rate.per_second * 1000) + 1};
    }

private:
    void refill(const Rate& rate, MonoTime now) {
        const auto elapsed = now - refilled_;
        if (elapsed.count() > 0) {
            const double back = static_cast<double>(elapsed.count()) / 1000.0 * rate.per_second;
            spent_ = static_cast<float>(std::max(0.0, static_cast<double>(spent_) - back));
            refilled_ = now;
        }
    }

    MonoTime refilled_;
    float spent_ = 0;
};

}  // namespace presence
