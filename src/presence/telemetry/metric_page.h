#pragma once

#include "presence/base/latency.h"

#include <prometheus/metric_family.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace presence::telemetry {

/// A word of this program beside its name, never one of a client's (DESIGN rule 38).
using Label = std::pair<std::string_view, std::string_view>;

/// One answer to a scrape, in Prometheus' text format: filled with sums, written once, thrown away.
/// Samples of one name follow each other. One thread.
class MetricPage {
public:
    /// @param name  Ends in `_total`. @param help  One sentence, with the unit if there is one.
    void counter(std::string_view name, std::string_view help, double value,
                 const std::vector<Label>& labels = {});
    void gauge(std::string_view name, std::string_view help, double value,
               const std::vector<Label>& labels = {});
    /// @param name  Ends in `_seconds`.
    void histogram(std::string_view name, std::string_view help, const LatencyHistogram& times);

    [[nodiscard]] std::string text() const;

private:
    prometheus::ClientMetric& sample(std::string_view name, std::string_view help,
                                     prometheus::MetricType type);

    std::vector<prometheus::MetricFamily> families_;
};

}  // namespace presence::telemetry
