#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace presence {

/// A row of things that only grows, and whose members never move: a std::vector of a million would
/// hold up to twice their memory, and three times while it grows. One thread.
template <class T>
class Chunks {
public:
    T& emplace_back() {
        if (size_ % kChunk == 0) {
            chunks_.push_back(std::make_unique<T[]>(kChunk));
        }
        return (*this)[size_++];
    }
    [[nodiscard]] T& operator[](std::uint32_t at) noexcept {
        return chunks_[at / kChunk][at % kChunk];
    }
    [[nodiscard]] const T& operator[](std::uint32_t at) const noexcept {
        return chunks_[at / kChunk][at % kChunk];
    }
    [[nodiscard]] std::uint32_t size() const noexcept { return size_; }

private:
    /// Enough that neither the list of chunks nor the allocator's share of each is felt.
    static constexpr std::uint32_t kChunk = 256;
    std::vector<std::unique_ptr<T[]>> chunks_;
    std::uint32_t size_ = 0;
};

}  // namespace presence
