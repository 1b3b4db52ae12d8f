#pragma once

#include "presence/base/ids.h"
#include "presence/base/result.h"
#include "presence/base/time.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace presence {

/// What the holder of a token may do, PROTOCOL.md section 5. A claim that is missing narrows
/// nothing.
struct TokenRights {
    std::optional<std::vector<std::string>> rooms;  ///< Patterns; empty optional: any room.
    bool watch = true;    ///< Look at others.
    bool status = true;   ///< Change the own status.
    bool privacy = true;  ///< Change the own rules and blocks.
};

/// What a valid token says.
struct TokenClaims {
    UserId user;
    std::optional<WallTime> expires_at;  ///< `exp`, without leeway.
    std::optional<WallTime> issued_at;   ///< `iat`.
    TokenRights rights;
};

/// Tells whether a token is genuine and in force. Any thread; quick (no I/O: keys that come over
/// the network are fetched in the background).
class TokenVerifier {
public:
    virtual ~TokenVerifier() = default;

    /// @retval ErrorCode::unauthorized  Refused, always with the same message, whatever was wrong.
    [[nodiscard]] virtual Result<TokenClaims> verify(std::string_view token) const = 0;

    /// How long after `exp` a token is still taken, for clocks that differ.
    [[nodiscard]] virtual Millis leeway() const = 0;

    /// Whether `key` is one of the configured API keys, compared in constant time.
    [[nodiscard]] virtual bool is_api_key(std::string_view key) const = 0;
};

}  // namespace presence
