#pragma once

#include "presence/base/random.h"
#include "presence/base/time.h"

#include <algorithm>
#include <cstdint>

namespace presence {

/// How long to wait before the next attempt after `failures` in a row (1 or more): even over
/// [0, first x 2^(failures - 1)], at most `most`. The whole span is left to chance, so that many
/// who failed together do not come back together.
[[nodiscard]] inline Millis backoff(Random& random, int failures, Millis first, Millis most) {
    constexpr int kMostDoublings = 30;
    const int doublings = std::clamp(failures - 1, 0, kMostDoublings);
    const Millis span = std::min(most, first * (std::int64_t{1} << doublings));
    return Millis{
        static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(span.count()) + 1))};
}

}  // namespace presence
