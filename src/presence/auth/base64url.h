#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace presence::auth {

/// Base64 with `-` and `_` and without padding, as in JWTs (RFC 4648 section 5).
[[nodiscard]] std::string encode_base64url(std::string_view bytes);

/// Appends the bytes of `text` to `bytes`. Strict, so that each value has one spelling: padding,
/// white space and leftover bits are refused.
/// @return False if `text` is no base64url; `bytes` is then as it was.
[[nodiscard]] bool decode_base64url(std::string_view text, std::string& bytes);

}  // namespace presence::auth
