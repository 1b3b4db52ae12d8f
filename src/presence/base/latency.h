#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace presence {

/// Microseconds on a clock that only moves forward. To measure how long work took, and for nothing
/// else: nothing is ever decided by it, so it is the machine's also where time is virtual.
[[nodiscard]] std::uint64_t stopwatch_us() noexcept;

/// How long something took, counted into fixed buckets. Plain numbers of one thread; copies may be
/// summed elsewhere.
struct LatencyHistogram {
    /// Upper bounds in microseconds, inclusive; what took longer is in the last bucket.
    static constexpr std::array<std::uint64_t, 17> kBoundsUs{
        50,     100,     250,     500,     1'000,     2'500,     5'000,     10'000,    25'000,
        50'000, 100'000, 250'000, 500'000, 1'000'000, 2'500'000, 5'000'000, 10'000'000};

    std::array<std::uint64_t, kBoundsUs.size() + 1> counts{};  ///< Each for its bucket alone.
    std::uint64_t sum_us = 0;

    void add(std::uint64_t took_us) noexcept {
        const auto bound = std::ranges::lower_bound(kBoundsUs, took_us);
        ++counts[static_cast<std::size_t>(bound - kBoundsUs.begin())];
        sum_us += took_us;
    }
};

/// Counts the time from its making to its end into a histogram that outlives it.
class Timed {
public:
    explicit Timed(LatencyHistogram& histogram) noexcept
        : histogram_(histogram), began_us_(stopwatch_us()) {}
    ~Timed() { histogram_.add(stopwatch_us() - began_us_); }
    Timed(const Timed&) = delete;
    Timed& operator=(const Timed&) = delete;

private:
    LatencyHistogram& histogram_;
    std::uint64_t began_us_;
};

}  // namespace presence
