#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace presence {

/// A copy of at most `most` of `all`, from the place `from` on, which is not beyond the end.
template <class T>
[[nodiscard]] std::vector<T> slice(const std::vector<T>& all, std::size_t from, std::size_t most) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(from);
    return {begin, begin + static_cast<std::ptrdiff_t>(std::min(most, all.size() - from))};
}

}  // namespace presence
