#pragma once

#include "presence/base/ids.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace presence {

/// FNV-1a, 64 bits, then mixed. The same in every process and release, so that it may decide where
/// something is stored; std::hash may not.
[[nodiscard]] constexpr std::uint64_t stable_hash(std::string_view text) noexcept {
    std::uint64_t hash = 0xCBF29CE484222325U;
    for (const char byte : text) {
        hash ^= static_cast<unsigned char>(byte);
        hash *= 0x100000001B3U;
    }
    hash ^= hash >> 32U;
    hash *= 0x9E3779B97F4A7C15U;
    return hash ^ (hash >> 29U);
}

/// A share of the users that a store keeps together, `index` of `count`. By the id alone.
struct Partition {
    std::uint32_t index = 0;
    std::uint32_t count = 1;

    [[nodiscard]] static Partition of(const UserId& user, std::size_t count) noexcept {
        const auto shares = static_cast<std::uint32_t>(count);
        return {static_cast<std::uint32_t>(stable_hash(user.text) % shares), shares};
    }
    [[nodiscard]] bool holds(const UserId& user) const noexcept {
        return stable_hash(user.text) % count == index;
    }
    friend bool operator==(const Partition&, const Partition&) = default;
};

/// Some of the partitions of a store.
class PartitionSet {
public:
    /// None of `count` partitions.
    explicit PartitionSet(std::size_t count) : in_(count) {}
    [[nodiscard]] static PartitionSet all(std::size_t count) {
        PartitionSet set(count);
        set.in_.assign(count, true);
        return set;
    }
    void insert(std::uint32_t index) { in_[index] = true; }
    [[nodiscard]] bool contains(std::uint32_t index) const { return in_[index]; }
    [[nodiscard]] bool holds(const UserId& user) const {
        return in_[Partition::of(user, in_.size()).index];
    }
    [[nodiscard]] std::size_t size() const {
        return static_cast<std::size_t>(std::count(in_.begin(), in_.end(), true));
    }

private:
    std::vector<bool> in_;
};

}  // namespace presence
