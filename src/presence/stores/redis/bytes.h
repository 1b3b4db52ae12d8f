#pragma once

#include "presence/base/time.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace presence::redis {

/// Puts values one behind the other: numbers in seven bits a byte, texts with their length before
/// them, structures in a frame that says how long it is, so that they can grow at their ends.
class ByteWriter {
public:
    void byte(std::uint8_t value) { out_.push_back(static_cast<char>(value)); }
    void number(std::uint64_t value);
    /// Small also where it is a little below zero.
    void signed_number(std::int64_t value);
    void text(std::string_view value);
    void raw(std::string_view value) { out_.append(value); }
    void time(WallTime value) { signed_number(value.ms()); }
    void maybe_time(const std::optional<WallTime>& value);

    /// What `write(writer)` puts there, in a frame.
    template <class Write>
    void frame(Write&& write) {
        ByteWriter inner;
        write(inner);
        text(inner.out_);
    }

    [[nodiscard]] std::string take() && { return std::move(out_); }

private:
    std::string out_;
};

/// Takes values out again. What is not there any more reads as zero or empty, as in a structure
/// that was written before it grew; `broken` tells of what cannot have been written.
class ByteReader {
public:
    explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

    [[nodiscard]] std::uint8_t byte();
    [[nodiscard]] std::uint64_t number();
    [[nodiscard]] std::int64_t signed_number();
    [[nodiscard]] std::string_view text();
    [[nodiscard]] std::string_view raw(std::size_t size);
    [[nodiscard]] WallTime time() { return WallTime::from_ms(signed_number()); }
    [[nodiscard]] std::optional<WallTime> maybe_time();
    /// How many entries of a list follow. Each has a byte at least, so more of them than there are
    /// bytes is broken, and read as none: nobody makes us hold what was not sent.
    [[nodiscard]] std::uint64_t count();
    /// Goes through a list of `left` entries, each of which is a byte at least: that one is missing
    /// is no older format, but broken.
    [[nodiscard]] bool has_next(std::uint64_t& left);
    /// A reader of the next frame alone.
    [[nodiscard]] ByteReader frame() { return ByteReader(text()); }
    /// An enumerator of `Enum` below `end`; else broken.
    template <class Enum>
    [[nodiscard]] Enum enumerator(Enum last) {
        const std::uint8_t value = byte();
        broken_ = broken_ || value > static_cast<std::uint8_t>(last);
        return broken_ ? Enum{} : static_cast<Enum>(value);
    }

    [[nodiscard]] bool at_end() const noexcept { return rest_.empty(); }
    [[nodiscard]] bool broken() const noexcept { return broken_; }
    void mark_broken() noexcept { broken_ = true; }

private:
    std::string_view rest_;
    bool broken_ = false;
};

}  // namespace presence::redis
