#pragma once

#include "presence/base/time.h"

#include <cstdint>

namespace presence {

/// A moment in four bytes, for what there is one of for each user. Of how long ago it was, whole
/// turns of 49 days are lost: for what may seem to have just happened once in so long.
class ShortMoment {
public:
    ShortMoment() = default;
    explicit ShortMoment(MonoTime moment) : low_ms_(low_ms(moment)) {}

    [[nodiscard]] Millis ago(MonoTime now) const { return Millis{low_ms(now) - low_ms_}; }

private:
    [[nodiscard]] static std::uint32_t low_ms(MonoTime moment) {
        return static_cast<std::uint32_t>(moment.since_start.count());
    }

    std::uint32_t low_ms_ = 0;
};

}  // namespace presence
