#pragma once

#include "unit/core/world.h"

#include <cstddef>

namespace presence::testing {

/// A window of the keeper and one of the viewers after it.
constexpr Millis kSoon{200};
/// So long that nothing is merged with what was told before.
constexpr Millis kQuiet{2'000};

/// A node of so many threads.
inline WorldOptions threads(std::size_t count) {
    WorldOptions options;
    options.threads = count;
    return options;
}

}  // namespace presence::testing
