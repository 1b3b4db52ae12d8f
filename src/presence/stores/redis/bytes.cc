#include "presence/stores/redis/bytes.h"

namespace presence::redis {

namespace {
constexpr unsigned kBits = 7;
constexpr std::uint8_t kMore = 0x80;
}  // namespace

void ByteWriter::number(std::uint64_t value) {
    while (value >= kMore) {
        byte(static_cast<std::uint8_t>(value | kMore));
        value >>= kBits;
    }
    byte(static_cast<std::uint8_t>(value));
}

void ByteWriter::signed_number(std::int64_t value) {
    const auto bits = static_cast<std::uint64_t>(value);
    number(value < 0 ? ~(bits << 1U) : bits << 1U);
}

void ByteWriter::text(std::string_view value) {
    number(value.size());
    out_.append(value);
}

void ByteWriter::maybe_time(const std::optional<WallTime>& value) {
    byte(value ? 1 : 0);
    if (value) {
        time(*value);
    }
}

std::uint8_t ByteReader::byte() {
    if (rest_.empty()) {
        return 0;
    }
    const auto value = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return value;
}

std::uint64_t ByteReader::number() {
    constexpr unsigned kMostShift = 63;
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift <= kMostShift; shift += kBits) {
        if (rest_.empty()) {
            broken_ = broken_ || shift > 0;
            return 0;
        }
        const std::uint8_t next = byte();
        value |= static_cast<std::uint64_t>(next & ~kMore) << shift;
        if ((next & kMore) == 0) {
            return value;
        }
    }
    broken_ = true;
    return 0;
}

std::uint64_t ByteReader::count() {
    const std::uint64_t entries = number();
    if (entries > rest_.size()) {
        broken_ = true;
        return 0;
    }
    return entries;
}

bool ByteReader::has_next(std::uint64_t& left) {
    broken_ = broken_ || (left > 0 && rest_.empty());
    if (left == 0 || broken_) {
        return false;
    }
    --left;
    return true;
}

std::int64_t ByteReader::signed_number() {
    const std::uint64_t bits = number();
    return static_cast<std::int64_t>((bits & 1U) != 0 ? ~(bits >> 1U) : bits >> 1U);
}

std::string_view ByteReader::raw(std::size_t size) {
    if (size > rest_.size()) {
        broken_ = broken_ || !rest_.empty();
        rest_ = {};
        return {};
    }
    const std::string_view value = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return value;
}

std::string_view ByteReader::text() {
    const std::uint64_t size = number();
    if (size > rest_.size()) {
        broken_ = true;
        rest_ = {};
        return {};
    }
    return raw(static_cast<std::size_t>(size));
}

std::optional<WallTime> ByteReader::maybe_time() {
    return byte() != 0 ? std::optional(time()) : std::nullopt;
}

}  // namespace presence::redis
