#pragma once

#include <cstdint>
#include <string_view>

namespace presence::redis {

inline constexpr std::uint16_t kSlots = 16384;

/// CRC16/XMODEM, by which Redis Cluster spreads its keys.
[[nodiscard]] std::uint16_t crc16(std::string_view bytes) noexcept;

/// The slot of a key or a sharded channel: of what stands between the first `{` and the next `}`
/// if that is anything, else of the whole.
[[nodiscard]] std::uint16_t slot_of(std::string_view key) noexcept;

}  // namespace presence::redis
