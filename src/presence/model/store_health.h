#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace presence {

/// Whether the shared store can be worked with. PROTOCOL.md, `health`.
enum class StoreHealth : std::uint8_t {
    ok,
    degraded,  ///< It answers, but refuses writes.
    down,
};

[[nodiscard]] constexpr std::string_view wire_name(StoreHealth health) noexcept {
    constexpr std::array<std::string_view, 3> kNames{"ok", "degraded", "down"};
    return kNames[static_cast<std::size_t>(health)];
}

}  // namespace presence
