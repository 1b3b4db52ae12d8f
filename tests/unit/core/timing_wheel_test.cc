#include "presence/core/timing_wheel.h"

#include <gtest/gtest.h>

#include <vector>

namespace presence {
namespace {

constexpr MonoTime kStart{Millis{1'000'000}};
constexpr Millis kTick{50};

struct Visit {
    int item = 0;
    MonoTime at;
};

/// A wheel that is turned a tick at a time, and what it showed.
struct Turned {
    TimingWheel<int> wheel;
    std::vector<Visit> visits;
    MonoTime now = kStart;

    explicit Turned(std::size_t buckets = 4096) : wheel(kTick, kStart, buckets) {}
    void turn_to(MonoTime end) {
        while (now < end) {
            now = std::min(now + kTick, end);
            wheel.advance(now, [&](int item, std::uint32_t) { visits.push_back({item, now}); });
        }
    }
};

TEST(TimingWheel, AnItemIsVisitedAtItsDeadlineAndNotBefore) {
    Turned turned;
    (void)turned.wheel.file(7, kStart + 200ms);

    turned.turn_to(kStart + 199ms);
    EXPECT_TRUE(turned.visits.empty());
    turned.turn_to(kStart + 200ms);

    ASSERT_EQ(turned.visits.size(), 1U);
    EXPECT_EQ(turned.visits[0].item, 7);
    EXPECT_EQ(turned.wheel.size(), 0U);
}

TEST(TimingWheel, ManyOfOneTickAreVisitedInTheOrderInWhichTheyWereFiled) {
    Turned turned;
    constexpr int kMany = 1000;  // More than are kept together.
    for (int item = 0; item < kMany; ++item) {
        (void)turned.wheel.file(item, kStart + 200ms);
    }

    turned.turn_to(kStart + 200ms);

    ASSERT_EQ(turned.visits.size(), static_cast<std::size_t>(kMany));
    for (int item = 0; item < kMany; ++item) {
        EXPECT_EQ(turned.visits[static_cast<std::size_t>(item)].item, item);
    }
    EXPECT_EQ(turned.wheel.size(), 0U);
    (void)turned.wheel.file(7, turned.now + 100ms);  // The emptied wheel takes more.
    turned.turn_to(turned.now + 100ms);
    EXPECT_EQ(turned.visits.back().item, 7);
}

TEST(TimingWheel, ADeadlineBetweenTicksIsVisitedAtTheNextTick) {
    Turned turned;
    (void)turned.wheel.file(1, kStart + 201ms);

    turned.turn_to(kStart + 249ms);
    EXPECT_TRUE(turned.visits.empty());
    turned.turn_to(kStart + 250ms);
    EXPECT_EQ(turned.visits.size(), 1U);
}

TEST(TimingWheel, ADeadlineInThePastIsVisitedAtTheNextTick) {
    Turned turned;
    turned.turn_to(kStart + 500ms);
    (void)turned.wheel.file(1, kStart - 10s);
    (void)turned.wheel.file(2, kStart + 500ms);

    turned.turn_to(kStart + 550ms);
    EXPECT_EQ(turned.visits.size(), 2U);
}

TEST(TimingWheel, ADeadlineBeyondTheSpanIsVisitedAtTheFarEndToBeFiledAgain) {
    Turned turned(16);
    const MonoTime deadline = kStart + 10s;
    (void)turned.wheel.file(1, deadline);
    std::vector<MonoTime> looks;
    while (turned.now < kStart + 11s) {
        turned.now = turned.now + kTick;
        turned.wheel.advance(turned.now, [&](int item, std::uint32_t) {
            looks.push_back(turned.now);
            if (turned.now < deadline) {
                (void)turned.wheel.file(item, deadline);
            }
        });
    }
    ASSERT_FALSE(looks.empty());
    EXPECT_EQ(looks.back(), deadline);
    // The span is 15 ticks, so no more looks than that asks for.
    EXPECT_EQ(looks.size(), 14U);
    EXPECT_EQ(turned.wheel.size(), 0U);
}

TEST(TimingWheel, ADeadlineInTheYear9999NeitherOverflowsNorFiresAtOnce) {
    Turned turned;
    (void)turned.wheel.file(1, kStart + Millis{253'402'300'799'000});
    turned.turn_to(kStart + 200s);
    EXPECT_TRUE(turned.visits.empty());
    EXPECT_EQ(turned.wheel.size(), 1U);
}

TEST(TimingWheel, ItemsComeInTheOrderOfTheirTicksAlsoAfterAStallLongerThanTheSpan) {
    TimingWheel<int> wheel(kTick, kStart, 16);
    for (int item = 10; item > 0; --item) {
        (void)wheel.file(item, kStart + item * kTick);
    }
    std::vector<int> order;
    wheel.advance(kStart + 1h, [&](int item, std::uint32_t) { order.push_back(item); });
    EXPECT_EQ(order, (std::vector{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
}

TEST(TimingWheel, WhatAVisitFilesForAMomentAlreadyReachedIsVisitedInTheSameTurn) {
    TimingWheel<int> wheel(kTick, kStart, 16);
    (void)wheel.file(1, kStart + kTick);
    std::vector<int> order;
    wheel.advance(kStart + 1s, [&](int item, std::uint32_t) {
        order.push_back(item);
        if (item < 4) {
            (void)wheel.file(item + 1, kStart);
        }
    });
    EXPECT_EQ(order, (std::vector{1, 2, 3, 4}));
}

TEST(TimingWheel, TheTickTellsTheNewestFilingFromOlderOnesOfTheSameItem) {
    TimingWheel<int> wheel(kTick, kStart);
    const std::uint32_t first = wheel.file(1, kStart + 100ms);
    const std::uint32_t second = wheel.file(1, kStart + 300ms);
    EXPECT_NE(first, second);
    std::vector<std::uint32_t> ticks;
    wheel.advance(kStart + 1s, [&](int, std::uint32_t tick) { ticks.push_back(tick); });
    EXPECT_EQ(ticks, (std::vector{first, second}));
}

}  // namespace
}  // namespace presence
