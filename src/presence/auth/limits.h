#pragma once

#include "presence/base/time.h"

#include <cstddef>

namespace presence::auth {

/// Largest token, in bytes: what fits a `hello` before `welcome`.
inline constexpr std::size_t kMaxTokenBytes = 16 * 1024;

/// Nesting of the JSON in a token or a key set. Real ones need four.
inline constexpr std::size_t kMaxJsonDepth = 32;

/// Patterns in the claim `presence.rooms`; each may be as long as a room id.
inline constexpr std::size_t kMaxRoomPatterns = 100;
inline constexpr std::size_t kMaxRoomPatternBytes = 128;

/// Keys that are tried for one token that names none, so that a forged one costs little.
inline constexpr std::size_t kMaxKeysTried = 16;

/// Keys in one set; more are ignored with a warning.
inline constexpr std::size_t kMaxKeys = 100;

/// Bytes of a key set, from a file or a URL.
inline constexpr std::size_t kMaxKeySetBytes = 1024 * 1024;

/// RSA keys below this are refused.
inline constexpr int kMinRsaBits = 2048;

/// A fetch of a key set, from connecting to its last byte.
inline constexpr Millis kFetchTimeout{5'000};

/// Least time between two fetches that unknown key ids ask for (PROTOCOL.md section 5).
inline constexpr Millis kUnknownKeyPause{60'000};

/// Tokens that wait for one fetch; more are refused at once.
inline constexpr std::size_t kMaxWaiting = 10'000;

}  // namespace presence::auth
