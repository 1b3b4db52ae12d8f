#pragma once

#include "presence/base/ids.h"

#include <cstddef>

namespace presence {

/// Which of so many threads a user lives on, or a room is kept on. Whoever has to know asks here,
/// so that buses deliver where the core has its home.
template <class Id>
[[nodiscard]] std::size_t home_thread(const Id& id, std::size_t threads) noexcept {
    return IdHash{}(id) % threads;
}

}  // namespace presence
