#pragma once

#include "presence/base/result.h"

#include <array>
#include <optional>
#include <string_view>

namespace presence::protocol {

/// All codes. Their words and whether they are `temporary` are in base/result.h.
inline constexpr std::array kErrorCodes{
    ErrorCode::bad_request,  ErrorCode::unauthorized, ErrorCode::forbidden,
    ErrorCode::not_found,    ErrorCode::too_large,    ErrorCode::limit_exceeded,
    ErrorCode::rate_limited, ErrorCode::conflict,     ErrorCode::unavailable,
    ErrorCode::internal,
};

/// The HTTP status that an error is answered with (RULINGS 40).
[[nodiscard]] int http_status(ErrorCode code) noexcept;

/// The code that `word` names on the wire.
[[nodiscard]] std::optional<ErrorCode> error_code_named(std::string_view word) noexcept;

}  // namespace presence::protocol
