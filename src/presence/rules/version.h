#pragma once

#include "presence/base/ids.h"
#include "presence/base/time.h"

#include <cstdint>

namespace presence::rules {

/// Hours since 2020-01-01 UTC times 2^33: a version never told before, for a user of whom nothing
/// is known (RULINGS 3). 0 for times before 2020; below 2^53 until the year 2139.
[[nodiscard]] std::uint64_t version_floor(WallTime now);

/// The same without the cut: 2^33 / 3,600,000 = 2,386 a millisecond on top of the hour's. For where
/// more may have been told than is known (docs/adr/0009): above a version that was at or below this
/// floor `t` ms ago, and has grown since by less than 2,386 x t: by one as often as any user can
/// change, and by kIncarnationStep less than once in 440 ms. Below the floor of the next hour.
/// It says when it was taken: for a public version that must have been a moment of the node's, and
/// not one of the user's.
[[nodiscard]] std::uint64_t version_floor_of_moment(WallTime now);

/// Added where a store or a process began a new life within the same hour.
inline constexpr std::uint64_t kIncarnationStep = std::uint64_t{1} << 20;

/// max(previous + 1, floor). Reaching 2^53 is an assertion.
[[nodiscard]] Version next_version(Version previous, std::uint64_t floor);

}  // namespace presence::rules
