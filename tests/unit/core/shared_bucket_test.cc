#include "presence/core/shared_bucket.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace presence {
namespace {

constexpr MonoTime kNow{Millis{1'000'000}};
constexpr TokenBucket::Rate kRate{.per_second = 2, .burst = 5};

int taken(SharedBucket& bucket, const TokenBucket::Rate& rate, MonoTime now, int tries) {
    int taken = 0;
    for (int i = 0; i < tries; ++i) {
        taken += bucket.take(rate, now) ? 1 : 0;
    }
    return taken;
}

TEST(SharedBucket, GivesItsBurstAtOnceThenWhatComesBack) {
    SharedBucket bucket;
    EXPECT_EQ(taken(bucket, kRate, kNow, 10), 5);
    EXPECT_EQ(taken(bucket, kRate, kNow + 499ms, 10), 0);
    EXPECT_EQ(taken(bucket, kRate, kNow + 500ms, 10), 1);
    EXPECT_EQ(taken(bucket, kRate, kNow + 2'000ms, 10), 3);
}

TEST(SharedBucket, FillsNoFurtherThanItsBurst) {
    SharedBucket bucket;
    EXPECT_EQ(taken(bucket, kRate, kNow, 3), 3);
    EXPECT_EQ(taken(bucket, kRate, kNow + 1h, 10), 5);
}

TEST(SharedBucket, ARateThatDividesNoSecondGivesItsWholeBurst) {
    SharedBucket bucket;
    EXPECT_EQ(taken(bucket, {.per_second = 7, .burst = 1'000}, kNow, 2'000), 1'000);
}

TEST(SharedBucket, ThreadsTogetherGetWhatOneWould) {
    SharedBucket bucket;
    constexpr TokenBucket::Rate kMany{.per_second = 1, .burst = 10'000};
    std::atomic<int> all = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] { all += taken(bucket, kMany, kNow, 5'000); });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(all, 10'000);
}

}  // namespace
}  // namespace presence
