#pragma once

#include "statistics.h"

#include <optional>
#include <string>
#include <vector>

namespace presence::bench {

/// What a bar of the design is a bar on.
enum class BarOn { nothing, value, ratio };

/// One figure of a scenario, one entry a round. With baselines the ratio is that of each round.
struct Metric {
    std::string name;  ///< snake_case, stable: tools read it.
    std::string unit;
    std::vector<double> values{};
    std::vector<double> baselines{};  ///< Of the bare loop, in the same rounds; empty: has none.
    BarOn bar_on = BarOn::nothing;
    double bar = 0;  ///< Most that the median may be.

    /// Nothing without a baseline, or where one is too small to be seen.
    [[nodiscard]] std::optional<Spread> ratio() const;
    /// Whether the bar is kept; nothing where there is none.
    [[nodiscard]] std::optional<bool> ok() const;
};

/// What a scenario found.
struct Report {
    std::string scenario;
    std::string setting;  ///< One line for people: how much of what was done.
    std::vector<Metric> metrics;
};

/// For people: a line a metric, medians with their spread.
[[nodiscard]] std::string as_table(const Report& report);

/// For programs: one line,
/// {"scenario", "metrics": {name: {"value", "unit", "baseline", "ratio", "bar", "ok"}}}, with null
/// where there is none; `least` and `most` are the ends of the value over the rounds.
[[nodiscard]] std::string as_json(const Report& report);

/// Whether every bar is kept.
[[nodiscard]] bool keeps_bars(const Report& report);

}  // namespace presence::bench
