#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace presence::api {

// Cursors of lists that are given page by page, in order of ids: the id behind which the next page
// begins, in a form that nobody takes for one.

/// Says how the rest is made: another release may do it another way.
inline constexpr char kPageCursorForm = '1';

[[nodiscard]] inline std::string encode_page_cursor(std::string_view last) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string cursor(1, kPageCursorForm);
    for (const char c : last) {
        const auto byte = static_cast<unsigned char>(c);
        cursor += kDigits[byte >> 4U];
        cursor += kDigits[byte & 15U];
    }
    return cursor;
}

/// Nothing where it is no cursor of ours: then the list is given from its beginning (RULINGS 42).
[[nodiscard]] inline std::optional<std::string> decode_page_cursor(std::string_view cursor) {
    if (cursor.size() < 3 || cursor.front() != kPageCursorForm || cursor.size() % 2 == 0) {
        return std::nullopt;
    }
    std::string last;
    for (cursor.remove_prefix(1); !cursor.empty(); cursor.remove_prefix(2)) {
        unsigned char byte = 0;
        const char* const end = cursor.data() + 2;
        const auto read = std::from_chars(cursor.data(), end, byte, 16);
        if (read.ec != std::errc() || read.ptr != end) {
            return std::nullopt;
        }
        last += static_cast<char>(byte);
    }
    return last;
}

}  // namespace presence::api
