#pragma once

#include "presence/base/result.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace presence::api {

/// What stands in a request line. Paths are split first and decoded once after it, so that a name
/// may hold any character, `/` and `..` included; nothing is ever normalised. Any thread.

/// The pieces between raw slashes: "/v1/users" is {"v1", "users"}, "/" is {""}. Empty for what does
/// not begin with a slash.
[[nodiscard]] std::vector<std::string_view> split_path(std::string_view path);

/// One piece of a path, decoded. `+` is itself. Empty where a `%` is not followed by two digits.
[[nodiscard]] std::optional<std::string> decode_segment(std::string_view segment);

/// The value of the parameter `name`, decoded as browsers' forms encode it, where `+` is a space.
/// Empty: it is not there.
/// @retval ErrorCode::bad_request  It is there twice, or its escapes are broken.
[[nodiscard]] Result<std::optional<std::string>> query_value(std::string_view query,
                                                             std::string_view name);

/// Whether a parameter of that name is there, whatever its value.
[[nodiscard]] bool has_parameter(std::string_view query, std::string_view name);

}  // namespace presence::api
