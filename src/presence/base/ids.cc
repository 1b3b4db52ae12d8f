#include "presence/base/ids.h"

#include "presence/base/utf8.h"

namespace presence {

namespace {

constexpr std::size_t kMaxIdBytes = 128;

bool is_control(char32_t c) {
    return c <= 0x1F || (c >= 0x7F && c <= 0x9F);
}

bool is_direction_control(char32_t c) {
    return c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) ||
           (c >= 0x2066 && c <= 0x2069);
}

/// White space and marks that show nothing (Unicode White_Space, plus zero-width characters).
bool is_blank(char32_t c) {
    return c == 0x20 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200D) || c == 0x2028 ||
           c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x2060 || c == 0x3000 || c == 0xFEFF ||
           c == 0x00AD || c == 0x034F || c == 0x180E;
}

}  // namespace

const char* check_id(std::string_view text) noexcept {
    if (text.empty()) {
        return "is empty, least is 1 byte";
    }
    if (text.size() > kMaxIdBytes) {
        return "is longer than 128 bytes";
    }
    bool blank = true;
    for (std::size_t position = 0; position < text.size();) {
        const auto point = next_code_point(text, position);
        if (!point) {
            return "is not valid UTF-8";
        }
        if (is_control(*point)) {
            return "holds a control character";
        }
        if (is_direction_control(*point)) {
            return "holds a direction control";
        }
        blank = blank && is_blank(*point);
    }
    return blank ? "is blank" : nullptr;
}

}  // namespace presence
