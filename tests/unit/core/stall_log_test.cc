#include "presence/core/stall_log.h"

#include <gtest/gtest.h>

namespace presence {
namespace {

constexpr MonoTime kStart{Millis{1'000'000}};

TEST(StallLog, TicksInTimeAreNoStallAndSilenceIsThePlainDifference) {
    StallLog stalls(kStart);
    for (int i = 1; i <= 100; ++i) {
        EXPECT_FALSE(stalls.tick(kStart + i * 50ms));
    }
    EXPECT_EQ(stalls.silence(kStart, kStart + 5s), 5s);
    EXPECT_EQ(stalls.deadline(kStart, 100s), kStart + 100s);
    EXPECT_EQ(stalls.count(), 0U);
}

TEST(StallLog, AGapOfExactlyTheLongestNormalOneIsNoStallAndOneMoreMillisecondIs) {
    StallLog stalls(kStart, 400ms);
    EXPECT_FALSE(stalls.tick(kStart + 400ms));
    EXPECT_TRUE(stalls.tick(kStart + 801ms));
    EXPECT_EQ(stalls.count(), 1U);
}

TEST(StallLog, AStallInTheMiddleOfASilenceIsNotCountedAsSilence) {
    StallLog stalls(kStart);
    ASSERT_FALSE(stalls.tick(kStart + 100ms));
    ASSERT_TRUE(stalls.tick(kStart + 100ms + 20s));
    EXPECT_EQ(stalls.silence(kStart, kStart + 30s), 10s);
    EXPECT_EQ(stalls.deadline(kStart, 100s), kStart + 120s);
}

TEST(StallLog, OfAStallOnlyThePartAfterTheLastSignOfLifeCounts) {
    StallLog stalls(kStart);
    ASSERT_TRUE(stalls.tick(kStart + 20s));
    // Heard in the middle of it, as after a clock that ran on: the rest of the stall is excused.
    EXPECT_EQ(stalls.silence(kStart + 15s, kStart + 30s), 10s);
    EXPECT_EQ(stalls.silence(kStart + 25s, kStart + 30s), 5s);
    EXPECT_EQ(stalls.deadline(kStart + 25s, 100s), kStart + 125s);
}

TEST(StallLog, SeveralStallsAddUp) {
    StallLog stalls(kStart);
    MonoTime now = kStart;
    for (int i = 0; i < 10; ++i) {
        now = now + 50ms;
        ASSERT_FALSE(stalls.tick(now));
        now = now + 2s;
        ASSERT_TRUE(stalls.tick(now));
    }
    EXPECT_EQ(stalls.silence(kStart, now), 500ms);
    EXPECT_EQ(stalls.count(), 10U);
}

}  // namespace
}  // namespace presence
