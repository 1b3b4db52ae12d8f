#include "presence/rules/version.h"

#include "presence/base/assert.h"

#include <algorithm>
#include <chrono>

namespace presence::rules {

namespace {

constexpr WallTime kEpochOfVersions = WallTime::from_ms(1'577'836'800'000);  // 2020-01-01 UTC
constexpr unsigned kHourShift = 33;
/// What a JSON number can hold exactly everywhere.
constexpr std::uint64_t kVersionEnd = std::uint64_t{1} << 53;

}  // namespace

std::uint64_t version_floor(WallTime now) {
    if (now <= kEpochOfVersions) {
        return 0;
    }
    const auto hours = std::chrono::floor<std::chrono::hours>(now - kEpochOfVersions).count();
    return static_cast<std::uint64_t>(hours) << kHourShift;
}

std::uint64_t version_floor_of_moment(WallTime now) {
    if (now <= kEpochOfVersions) {
        return 0;
    }
    using Hour = std::chrono::hours;
    const Millis into_hour = (now - kEpochOfVersions) % Hour{1};
    const auto ms = static_cast<std::uint64_t>(into_hour.count());
    return version_floor(now) + (ms << kHourShift) / Millis{Hour{1}}.count();
}

Version next_version(Version previous, std::uint64_t floor) {
    const std::uint64_t next = std::max(previous.value + 1, floor);
    PRESENCE_ASSERT(next < kVersionEnd);
    return Version{next};
}

}  // namespace presence::rules
