#include "presence/stores/redis/slots.h"

#include <array>
#include <cstddef>

namespace presence::redis {

namespace {

constexpr std::array<std::uint16_t, 256> make_table() {
    constexpr unsigned kPolynomial = 0x1021;
    constexpr unsigned kTop = 0x8000;
    std::array<std::uint16_t, 256> table{};
    for (unsigned byte = 0; byte < table.size(); ++byte) {
        unsigned crc = byte << 8U;
        for (int bit = 0; bit < 8; ++bit) {
            crc = (crc & kTop) != 0 ? (crc << 1U) ^ kPolynomial : crc << 1U;
        }
        table[byte] = static_cast<std::uint16_t>(crc);
    }
    return table;
}

constexpr std::array<std::uint16_t, 256> kTable = make_table();

}  // namespace

std::uint16_t crc16(std::string_view bytes) noexcept {
    unsigned crc = 0;
    for (const char byte : bytes) {
        const unsigned index = ((crc >> 8U) ^ static_cast<unsigned char>(byte)) & 0xFFU;
        crc = ((crc << 8U) ^ kTable[index]) & 0xFFFFU;
    }
    return static_cast<std::uint16_t>(crc);
}

std::uint16_t slot_of(std::string_view key) noexcept {
    if (const std::size_t open = key.find('{'); open != std::string_view::npos) {
        const std::size_t close = key.find('}', open + 1);
        if (close != std::string_view::npos && close > open + 1) {
            key = key.substr(open + 1, close - open - 1);
        }
    }
    return static_cast<std::uint16_t>(crc16(key) % kSlots);
}

}  // namespace presence::redis
