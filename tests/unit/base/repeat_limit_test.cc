#include "presence/base/repeat_limit.h"

#include <gtest/gtest.h>

namespace presence::log {
namespace {

MonoTime at(Millis time) {
    return MonoTime{time};
}

TEST(RepeatLimit, OfEachEventSoManyAreWrittenInASecond) {
    RepeatLimit limit;
    int written = 0;
    for (int i = 0; i < 10; ++i) {
        written += limit.admit("storm", 3, at(Millis{100 + i})) ? 1 : 0;
    }
    EXPECT_EQ(written, 3);
    EXPECT_TRUE(limit.admit("calm", 3, at(105ms)));
    EXPECT_TRUE(limit.admit("storm", 3, at(1100ms)));
}

TEST(RepeatLimit, WhatWasLeftOutIsSaidOnceWhenTheSecondIsOver) {
    RepeatLimit limit;
    for (int i = 0; i < 10; ++i) {
        (void)limit.admit("storm", 3, at(0ms));
    }
    EXPECT_TRUE(limit.holds_any());
    EXPECT_TRUE(limit.take(at(999ms)).empty());
    const auto over = limit.take(at(1000ms));
    ASSERT_EQ(over.size(), 1U);
    EXPECT_EQ(over[0].event, "storm");
    EXPECT_EQ(over[0].count, 7U);
    EXPECT_FALSE(limit.holds_any());
    EXPECT_TRUE(limit.take(at(2000ms)).empty());
}

TEST(RepeatLimit, ANextSecondOfTheSameEventLosesNothingOfTheOneBefore) {
    RepeatLimit limit;
    for (const Millis second : {0ms, 1000ms, 2000ms}) {
        for (int i = 0; i < 5; ++i) {
            (void)limit.admit("storm", 3, at(second));
        }
    }
    std::uint64_t left_out = 0;
    for (const RepeatLimit::LeftOut& one : limit.take(at(3000ms))) {
        left_out += one.count;
    }
    EXPECT_EQ(left_out, 6U);
    EXPECT_FALSE(limit.holds_any());
}

TEST(RepeatLimit, MoreEventsThanAProgramHasAreNotRemembered) {
    RepeatLimit limit;
    for (int i = 0; i < 2'000; ++i) {
        EXPECT_TRUE(limit.admit("event" + std::to_string(i), 1, at(0ms)));
    }
    EXPECT_FALSE(limit.admit("event0", 1, at(0ms)));
    EXPECT_TRUE(limit.admit("event1999", 1, at(0ms)));
}

}  // namespace
}  // namespace presence::log
