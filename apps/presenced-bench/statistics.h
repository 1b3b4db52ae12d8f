#pragma once

#include <cstddef>
#include <vector>

namespace presence::bench {

/// Middle and ends of some repetitions of one measurement.
struct Spread {
    double median = 0;
    double least = 0;
    double most = 0;
};

/// The value below which `part` (0 to 1) of the values lie, by nearest rank; of [1, 2, 3] the half
/// is 2. `values` must not be empty; their order is free.
[[nodiscard]] double percentile(std::vector<double> values, double part);

/// Median and ends; an even number of values takes the mean of the two in the middle. `values`
/// must not be empty.
[[nodiscard]] Spread spread_of(std::vector<double> values);

/// Each value over the baseline of its own round, so that what disturbs a round disturbs both.
/// Both must have the same size.
[[nodiscard]] std::vector<double> ratios(const std::vector<double>& values,
                                         const std::vector<double>& baselines);

}  // namespace presence::bench
