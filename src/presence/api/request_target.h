#pragma once

#include "presence/base/ids.h"
#include "presence/base/result.h"

#include <cstddef>
#include <cstdint>
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

/// The users in the parameter `name`: split at raw commas, then decoded, so that an id may hold a
/// comma (`%2C`). In that order, each once.
/// @retval ErrorCode::bad_request     It is missing or given twice, or holds what is no id.
/// @retval ErrorCode::limit_exceeded  More than `most`.
[[nodiscard]] Result<std::vector<UserId>> query_users(std::string_view query, std::string_view name,
                                                      std::size_t most);

/// The whole number in the parameter `name`; empty: it is not there.
/// @retval ErrorCode::bad_request  It is none, or lies outside `least` to `most`.
[[nodiscard]] Result<std::optional<std::int64_t>> query_integer(std::string_view query,
                                                                std::string_view name,
                                                                std::int64_t least,
                                                                std::int64_t most);

/// Whether a parameter of that name is there, whatever its value.
[[nodiscard]] bool has_parameter(std::string_view query, std::string_view name);

}  // namespace presence::api
