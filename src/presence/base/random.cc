#include "presence/base/random.h"

#include "presence/base/assert.h"

#include <sys/random.h>

namespace presence {

std::uint64_t Random::below(std::uint64_t bound) {
    PRESENCE_ASSERT(bound > 0);
    const std::uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
    for (;;) {
        const std::uint64_t drawn = next();
        if (drawn < limit) {
            return drawn % bound;
        }
    }
}

std::string Random::token(std::size_t characters) {
    static constexpr char kAlphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    std::string text(characters, 'A');
    std::uint64_t bits = 0;
    int held = 0;
    for (char& c : text) {
        if (held < 6) {
            bits = next();
            held = 64;
        }
        c = kAlphabet[bits & 63];
        bits >>= 6;
        held -= 6;
    }
    return text;
}

std::uint64_t SystemRandom::next() {
    if (used_ == kBuffered) {
        const ssize_t got = ::getrandom(buffer_, sizeof buffer_, 0);
        PRESENCE_ASSERT(got == static_cast<ssize_t>(sizeof buffer_));
        used_ = 0;
    }
    return buffer_[used_++];
}

std::uint64_t SeededRandom::next() {
    state_ += 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
}

}  // namespace presence
