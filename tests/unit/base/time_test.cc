#include "presence/base/time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

namespace presence {
namespace {

constexpr WallTime at(std::int64_t ms) {
    return WallTime::from_ms(ms);
}

static_assert(sizeof(MaybeTime) == sizeof(WallTime));

TEST(MaybeTime, SaysTheSameAsAnOptional) {
    MaybeTime time;
    EXPECT_FALSE(time);
    EXPECT_EQ(std::optional<WallTime>(time), std::nullopt);
    EXPECT_EQ(time.value_or(at(7)), at(7));

    time = at(0);  // The epoch is a time as any other.
    EXPECT_TRUE(time);
    EXPECT_EQ(*time, at(0));
    EXPECT_EQ(std::optional<WallTime>(time), at(0));
    EXPECT_EQ(time.value_or(at(7)), at(0));

    time = std::optional<WallTime>();
    EXPECT_FALSE(time);
    time = std::optional(at(-5));
    EXPECT_EQ(time->ms(), -5);
    time.reset();
    EXPECT_EQ(time, MaybeTime(std::nullopt));
}

TEST(MaybeTime, NoneIsBeforeAllTimes) {
    EXPECT_LT(MaybeTime(), MaybeTime(at(-1'000'000)));
    EXPECT_EQ(std::max(MaybeTime(at(3)), MaybeTime()), MaybeTime(at(3)));
    EXPECT_LT(MaybeTime(at(3)), MaybeTime(at(4)));
}

}  // namespace
}  // namespace presence
