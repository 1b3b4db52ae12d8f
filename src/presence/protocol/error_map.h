#pragma once

#include "presence/base/result.h"

#include <string_view>

namespace presence::protocol {

/// The HTTP status that an error is answered with (RULINGS 40). Words and `temporary` are those of
/// base/result.h, wire_name and is_temporary.
[[nodiscard]] int http_status(ErrorCode code) noexcept;

/// The code that `word` names, or null: for clients and tests.
[[nodiscard]] const ErrorCode* error_code_named(std::string_view word) noexcept;

}  // namespace presence::protocol
