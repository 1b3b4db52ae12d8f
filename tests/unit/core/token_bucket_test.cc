#include "presence/core/token_bucket.h"

#include <gtest/gtest.h>

namespace presence {
namespace {

constexpr MonoTime kNow{Millis{1'000'000}};
constexpr TokenBucket::Rate kRate{.per_second = 2, .burst = 5};

TEST(TokenBucket, GivesItsBurstAtOnceAndThenNothing) {
    TokenBucket bucket;
    for (int i = 0; i < 5; ++i) {
        EXPECT_TRUE(bucket.take(kRate, kNow));
    }
    EXPECT_FALSE(bucket.take(kRate, kNow));
}

TEST(TokenBucket, RefillsAtItsRateAndNotBeyondItsBurst) {
    TokenBucket bucket;
    ASSERT_TRUE(bucket.take(kRate, kNow, 5));
    EXPECT_FALSE(bucket.take(kRate, kNow + 499ms));
    EXPECT_TRUE(bucket.take(kRate, kNow + 500ms));
    EXPECT_TRUE(bucket.take(kRate, kNow + 1h, 5));
    EXPECT_FALSE(bucket.take(kRate, kNow + 1h));
}

TEST(TokenBucket, ARefusalCostsNothing) {
    TokenBucket bucket;
    ASSERT_TRUE(bucket.take(kRate, kNow, 5));
    for (int i = 0; i < 100; ++i) {
        EXPECT_FALSE(bucket.take(kRate, kNow));
    }
    EXPECT_TRUE(bucket.take(kRate, kNow + 500ms));
}

TEST(TokenBucket, TheWaitIsAsLongAsTheRefillNeeds) {
    TokenBucket bucket;
    EXPECT_EQ(bucket.wait(kRate, kNow), 0ms);
    ASSERT_TRUE(bucket.take(kRate, kNow, 5));
    const Millis wait = bucket.wait(kRate, kNow);
    EXPECT_GE(wait, 500ms);
    EXPECT_LE(wait, 502ms);
    EXPECT_TRUE(bucket.take(kRate, kNow + wait));
}

TEST(TokenBucket, AClockThatStandsStillGivesNothingBack) {
    TokenBucket bucket;
    ASSERT_TRUE(bucket.take(kRate, kNow, 5));
    EXPECT_FALSE(bucket.take(kRate, kNow));
    EXPECT_FALSE(bucket.take(kRate, kNow - 10s));
}

}  // namespace
}  // namespace presence
