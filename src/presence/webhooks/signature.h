#pragma once

#include "presence/base/result.h"
#include "presence/base/time.h"

#include <span>
#include <string>
#include <string_view>

namespace presence::webhooks {

/// The bytes of a secret `whsec_…`.
struct Secret {
    std::string key;
};

/// @retval ErrorCode::bad_request  It is not `whsec_` and base64 of 24 to 64 bytes. The message
///                                 does not hold it.
[[nodiscard]] Result<Secret> parse_secret(std::string_view text);

/// The header `webhook-signature` of Standard Webhooks for one attempt: a signature by each secret,
/// parted by spaces, so that a receiver accepts it by the old or by the new one.
/// @param at  Of the attempt; goes out as `webhook-timestamp`, in seconds.
[[nodiscard]] std::string sign(std::span<const Secret> secrets, std::string_view id, WallTime at,
                               std::string_view body);

}  // namespace presence::webhooks
