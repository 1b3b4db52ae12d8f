#include "presence/rules/version.h"

#include <gtest/gtest.h>

namespace presence::rules {
namespace {

constexpr WallTime kStartOf2020 = WallTime::from_ms(1'577'836'800'000);
constexpr std::uint64_t kHour = std::uint64_t{1} << 33;

TEST(VersionFloor, CountsHoursSince2020) {
    EXPECT_EQ(version_floor(kStartOf2020), 0U);
    EXPECT_EQ(version_floor(kStartOf2020 + 1h - 1ms), 0U);
    EXPECT_EQ(version_floor(kStartOf2020 + 1h), kHour);
    EXPECT_EQ(version_floor(kStartOf2020 + 24h), 24 * kHour);
}

TEST(VersionFloor, IsZeroBefore2020) {
    EXPECT_EQ(version_floor(WallTime{}), 0U);
    EXPECT_EQ(version_floor(kStartOf2020 - 1ms), 0U);
}

TEST(VersionFloor, StaysBelow2To53UntilTheYear2139) {
    const WallTime start_of_2139 = WallTime::from_ms(5'333'126'400'000);
    EXPECT_LT(version_floor(start_of_2139), std::uint64_t{1} << 53);
}

TEST(VersionFloor, OfAMomentIsAboveManyChangesAndNewLivesASecondBefore) {
    const WallTime begun = kStartOf2020 + 1h + 17min;
    const std::uint64_t told = version_floor_of_moment(begun) + 2 * kIncarnationStep + 100'000;
    EXPECT_GT(version_floor_of_moment(begun + 1s), told);
    EXPECT_LT(version_floor(begun + 1s), told);
    EXPECT_EQ(version_floor_of_moment(begun + 1ms) - version_floor_of_moment(begun), 2386U);
}

TEST(VersionFloor, OfAMomentFitsBetweenThoseOfTheHours) {
    EXPECT_EQ(version_floor_of_moment(kStartOf2020 + 1h), kHour);
    EXPECT_EQ(version_floor_of_moment(kStartOf2020 + 90min), kHour + kHour / 2);
    EXPECT_LT(version_floor_of_moment(kStartOf2020 + 2h - 1ms), 2 * kHour);
    EXPECT_EQ(version_floor_of_moment(kStartOf2020 - 1ms), 0U);
}

TEST(NextVersion, IsOneMoreUnlessTheFloorIsHigher) {
    EXPECT_EQ(next_version(Version{0}, 0), Version{1});
    EXPECT_EQ(next_version(Version{41}, 0), Version{42});
    EXPECT_EQ(next_version(Version{41}, 42), Version{42});
    EXPECT_EQ(next_version(Version{41}, 1'000), Version{1'000});
    EXPECT_EQ(next_version(Version{1'000}, 1'000), Version{1'001});
}

TEST(NextVersion, ANewLifeWithinTheSameHourStartsAboveTheOldOne) {
    const std::uint64_t floor = version_floor(kStartOf2020 + 1h);
    const Version busy_hour{floor + 1'000'000};
    EXPECT_GT(next_version(Version{}, floor + kIncarnationStep), busy_hour);
}

TEST(NextVersionDeathTest, TwoTo53IsNeverReached) {
    constexpr std::uint64_t kEnd = std::uint64_t{1} << 53;
    EXPECT_EQ(next_version(Version{kEnd - 2}, 0), Version{kEnd - 1});
    EXPECT_DEATH((void)next_version(Version{kEnd - 1}, 0), "assertion failed");
    EXPECT_DEATH((void)next_version(Version{}, kEnd), "assertion failed");
}

}  // namespace
}  // namespace presence::rules
