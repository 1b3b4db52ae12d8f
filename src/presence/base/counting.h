#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace presence {

/// The numbers of a struct that holds nothing but std::uint64_t, in order.
template <class Counters>
using RawCounters = std::array<std::uint64_t, sizeof(Counters) / sizeof(std::uint64_t)>;

/// Adds the counters of one thread to a sum. `Counters` must hold nothing but std::uint64_t, arrays
/// and structs of it.
template <class Counters>
requires std::is_trivially_copyable_v<Counters> &&
    (alignof(Counters) == alignof(std::uint64_t)) void add_counters(Counters& sum,
                                                                    const Counters& one) {
    auto numbers = std::bit_cast<RawCounters<Counters>>(sum);
    const auto added = std::bit_cast<RawCounters<Counters>>(one);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        numbers[i] += added[i];
    }
    sum = std::bit_cast<Counters>(numbers);
}

}  // namespace presence
