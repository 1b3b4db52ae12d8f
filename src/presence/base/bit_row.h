#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace presence {

/// A row of bits that grows as places are set; what was never set is false.
class BitRow {
public:
    void set(std::size_t place, bool value) {
        const std::size_t word = place / kBits;
        if (word >= words_.size()) {
            if (!value) {
                return;
            }
            words_.resize(word + 1);
        }
        const std::uint64_t bit = std::uint64_t{1} << (place % kBits);
        words_[word] = value ? words_[word] | bit : words_[word] & ~bit;
    }
    [[nodiscard]] bool test(std::size_t place) const {
        const std::size_t word = place / kBits;
        return word < words_.size() && ((words_[word] >> (place % kBits)) & 1U) != 0;
    }
    /// Its memory too.
    void clear() { words_ = {}; }
    [[nodiscard]] std::size_t bytes() const noexcept {
        return words_.capacity() * sizeof(std::uint64_t);
    }

private:
    static constexpr std::size_t kBits = 64;
    std::vector<std::uint64_t> words_;
};

}  // namespace presence
