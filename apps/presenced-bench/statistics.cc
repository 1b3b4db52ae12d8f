#include "statistics.h"

#include "presence/base/assert.h"

#include <algorithm>
#include <cmath>

namespace presence::bench {

double percentile(std::vector<double> values, double part) {
    PRESENCE_ASSERT(!values.empty() && part >= 0 && part <= 1);
    const auto count = static_cast<double>(values.size());
    const auto rank = static_cast<std::size_t>(std::ceil(part * count));
    const std::size_t at = rank == 0 ? 0 : rank - 1;
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at),
                     values.end());
    return values[at];
}

Spread spread_of(std::vector<double> values) {
    PRESENCE_ASSERT(!values.empty());
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    const double median =
        values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
    return {median, values.front(), values.back()};
}

std::vector<double> ratios(const std::vector<double>& values,
                           const std::vector<double>& baselines) {
    PRESENCE_ASSERT(values.size() == baselines.size());
    std::vector<double> result;
    for (std::size_t round = 0; round < values.size(); ++round) {
        result.push_back(values[round] / baselines[round]);
    }
    return result;
}

}  // namespace presence::bench
