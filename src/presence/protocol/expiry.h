#pragma once

#include "presence/base/result.h"
#include "presence/base/time.h"

#include <optional>
#include <string_view>
#include <variant>

namespace presence::protocol {

/// When something ends, as the request said it: not at all, at a time (`expiresAt`), or after a
/// while (`expiresInMs`, 1 and more). Parsing knows no clock, so the receiver resolves it.
using Expiry = std::variant<std::monostate, WallTime, Millis>;

/// The moment that `expiry` means at `now`; empty: never.
///
/// @param field  Where the expiry stood, for the message: "", or "customStatus.".
/// @retval ErrorCode::bad_request  It is not in the future, or beyond 2^53 - 1 ms.
[[nodiscard]] Result<std::optional<WallTime>> resolve(const Expiry& expiry, WallTime now,
                                                      std::string_view field = "");

}  // namespace presence::protocol
