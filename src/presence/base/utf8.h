#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace presence {

/// The next code point of `text` at `position`, which moves behind it; nothing where the bytes are
/// not valid UTF-8 (RFC 3629: no overlong forms, no surrogates, at most U+10FFFF).
[[nodiscard]] std::optional<char32_t> next_code_point(std::string_view text,
                                                      std::size_t& position) noexcept;

/// Number of code points, or nothing where `text` is not valid UTF-8.
[[nodiscard]] std::optional<std::size_t> count_code_points(std::string_view text) noexcept;

}  // namespace presence
