#pragma once

#include <cstddef>
#include <string_view>

namespace presence::net {

/// How many bytes at the front of `text` are whole, valid characters (RFC 3629). Fast for ASCII.
[[nodiscard]] std::size_t valid_utf8_size(std::string_view text) noexcept;

/// Whether `text` is valid, or could be if more came behind it.
[[nodiscard]] bool may_become_valid_utf8(std::string_view text) noexcept;

/// Where the last character of `text` begins, be it whole or not; 0 for none. What comes behind a
/// text that may become valid is judged from there on.
[[nodiscard]] std::size_t last_character_at(std::string_view text) noexcept;

}  // namespace presence::net
