#include "presence/auth/base64url.h"

#include <array>
#include <cstdint>

namespace presence::auth {

namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

constexpr std::uint8_t kNoDigit = 0xFF;

constexpr std::array<std::uint8_t, 256> make_digits() {
    std::array<std::uint8_t, 256> digits{};
    digits.fill(kNoDigit);
    for (std::size_t i = 0; i < kAlphabet.size(); ++i) {
        digits[static_cast<unsigned char>(kAlphabet[i])] = static_cast<std::uint8_t>(i);
    }
    return digits;
}

constexpr auto kDigits = make_digits();

}  // namespace

std::string encode_base64url(std::string_view bytes) {
    std::string text;
    text.reserve((bytes.size() * 4 + 2) / 3);
    std::uint32_t held = 0;
    int bits = 0;
    for (const char c : bytes) {
        held = (held << 8) | static_cast<unsigned char>(c);
        bits += 8;
        while (bits >= 6) {
            bits -= 6;
            text += kAlphabet[(held >> bits) & 63];
        }
    }
    if (bits > 0) {
        text += kAlphabet[(held << (6 - bits)) & 63];
    }
    return text;
}

bool decode_base64url(std::string_view text, std::string& bytes) {
    const std::size_t before = bytes.size();
    std::uint32_t held = 0;
    int bits = 0;
    for (const char c : text) {
        const std::uint8_t digit = kDigits[static_cast<unsigned char>(c)];
        if (digit == kNoDigit) {
            bytes.resize(before);
            return false;
        }
        held = (held << 6) | digit;
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            bytes += static_cast<char>((held >> bits) & 0xFF);
        }
    }
    const bool leftover = bits == 6 || (held & ((1U << bits) - 1)) != 0;
    if (leftover) {
        bytes.resize(before);
    }
    return !leftover;
}

}  // namespace presence::auth
