#include "presence/base/utf8.h"

namespace presence {

std::optional<char32_t> next_code_point(std::string_view text, std::size_t& position) noexcept {
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
    const unsigned char lead = byte(position);
    if (lead < 0x80) {
        ++position;
        return lead;
    }
    std::size_t length = 0;
    char32_t point = 0;
    char32_t least = 0;
    if ((lead & 0xE0) == 0xC0) {
        length = 2, point = lead & 0x1F, least = 0x80;
    } else if ((lead & 0xF0) == 0xE0) {
        length = 3, point = lead & 0x0F, least = 0x800;
    } else if ((lead & 0xF8) == 0xF0) {
        length = 4, point = lead & 0x07, least = 0x10000;
    } else {
        return std::nullopt;
    }
    if (position + length > text.size()) {
        return std::nullopt;
    }
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(position + i) & 0xC0) != 0x80) {
            return std::nullopt;
        }
        point = (point << 6) | (byte(position + i) & 0x3F);
    }
    if (point < least || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF)) {
        return std::nullopt;
    }
    position += length;
    return point;
}

std::optional<std::size_t> count_code_points(std::string_view text) noexcept {
    std::size_t count = 0;
    for (std::size_t position = 0; position < text.size(); ++count) {
        if (!next_code_point(text, position)) {
            return std::nullopt;
        }
    }
    return count;
}

}  // namespace presence
