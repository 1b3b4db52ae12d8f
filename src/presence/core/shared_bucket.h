#pragma once

#include "presence/base/time.h"
#include "presence/core/token_bucket.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>

namespace presence {

/// A TokenBucket that many threads take from: how often something may happen on all of them
/// together. Its whole state is one number, the moment at which it will be full again, so a lost
/// race is simply tried again. Any thread.
class SharedBucket {
public:
    /// Takes one if it is there. A bucket begins full.
    bool take(const TokenBucket::Rate& rate, MonoTime now) { return take(full_at_, rate, now); }

    /// The same of a bucket that is kept as its number alone; 0 is full.
    static bool take(std::atomic<std::int64_t>& full_at, const TokenBucket::Rate& rate,
                     MonoTime now) {
        constexpr std::int64_t kNanosInMilli = 1'000'000;
        constexpr double kNanosInSecond = 1e9;
        const std::int64_t present = now.since_start.count() * kNanosInMilli;
        const auto one = std::llround(kNanosInSecond / rate.per_second);
        const auto all = std::llround(static_cast<double>(one) * rate.burst);
        std::int64_t before = full_at.load(std::memory_order_relaxed);
        std::int64_t after = 0;
        do {
            after = std::max(before, present) + one;
            if (after - present > all) {
                return false;
            }
        } while (!full_at.compare_exchange_weak(before, after, std::memory_order_relaxed));
        return true;
    }

private:
    std::atomic<std::int64_t> full_at_{0};
};

}  // namespace presence
