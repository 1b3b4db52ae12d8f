#pragma once

#include <cstdint>

namespace presence {

/// Why a session's connection must go. The gateway turns it into a close code.
enum class EndReason : std::uint8_t { replaced, displaced, silence, kicked, erased, revoked };
inline constexpr int kEndReasons = 6;

}  // namespace presence
