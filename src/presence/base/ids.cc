#include "presence/base/ids.h"

#include "presence/base/utf8.h"

#include <algorithm>
#include <array>

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

struct Range {
    char32_t first;
    char32_t last;
};

/// White space and marks that show nothing: Unicode White_Space and Default_Ignorable_Code_Point,
/// with the Hangul fillers, variation selectors and tags among them.
constexpr std::array<Range, 22> kBlank{{
    {0x20, 0x20},       {0xA0, 0xA0},       {0xAD, 0xAD},     {0x34F, 0x34F},   {0x61C, 0x61C},
    {0x115F, 0x1160},   {0x1680, 0x1680},   {0x17B4, 0x17B5}, {0x180B, 0x180F}, {0x2000, 0x200D},
    {0x2028, 0x2029},   {0x202F, 0x202F},   {0x205F, 0x2065}, {0x206A, 0x206F}, {0x3000, 0x3000},
    {0x3164, 0x3164},   {0xFE00, 0xFE0F},   {0xFEFF, 0xFEFF}, {0xFFA0, 0xFFA0}, {0xFFF0, 0xFFF8},
    {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF},
}};

bool is_blank(char32_t c) {
    return std::ranges::any_of(
        kBlank, [c](const Range& range) { return c >= range.first && c <= range.last; });
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
