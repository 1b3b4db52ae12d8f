#include "presence/net/partial_utf8.h"

#include "presence/base/utf8.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace presence::net {
namespace {

constexpr std::size_t kLongest = 4;

}  // namespace

std::size_t valid_utf8_size(std::string_view text) noexcept {
    constexpr std::uint64_t kHighBits = 0x8080'8080'8080'8080;
    std::size_t at = 0;
    while (at < text.size()) {
        std::uint64_t word = 0;
        if (text.size() - at >= sizeof word) {
            std::memcpy(&word, text.data() + at, sizeof word);
            if ((word & kHighBits) == 0) {
                at += sizeof word;
                continue;
            }
        }
        if (static_cast<std::uint8_t>(text[at]) < 0x80) {
            ++at;
        } else if (!next_code_point(text, at)) {
            break;
        }
    }
    return at;
}

bool may_become_valid_utf8(std::string_view text) noexcept {
    const std::string_view rest = text.substr(valid_utf8_size(text));
    if (rest.empty()) {
        return true;
    }
    if (rest.size() >= kLongest) {
        return false;
    }
    // Whatever a character lacks, one of the two outermost continuations fits, if any does.
    for (const char outermost : {'\x80', '\xBF'}) {
        char bytes[kLongest];
        std::fill_n(bytes, kLongest, outermost);
        rest.copy(bytes, kLongest);
        std::size_t end = 0;
        if (next_code_point({bytes, kLongest}, end) && end > rest.size()) {
            return true;
        }
    }
    return false;
}

std::size_t last_character_at(std::string_view text) noexcept {
    std::size_t at = text.size();
    for (std::size_t back = 0; back < kLongest && at > 0; ++back) {
        --at;
        if ((static_cast<std::uint8_t>(text[at]) & 0xC0) != 0x80) {
            break;
        }
    }
    return at;
}

}  // namespace presence::net
