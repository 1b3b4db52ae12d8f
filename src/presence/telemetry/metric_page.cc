#include "presence/telemetry/metric_page.h"

#include "presence/base/assert.h"

#include <algorithm>
#include <prometheus/text_serializer.h>

namespace presence::telemetry {

namespace {

constexpr double kMicrosInSecond = 1e6;

void set_labels(prometheus::ClientMetric& sample, const std::vector<Label>& labels) {
    for (const auto& [name, value] : labels) {
        prometheus::ClientMetric::Label label;
        label.name = name;
        label.value = value;
        sample.label.push_back(std::move(label));
    }
}

}  // namespace

prometheus::ClientMetric& MetricPage::sample(std::string_view name, std::string_view help,
                                             prometheus::MetricType type) {
    if (families_.empty() || families_.back().name != name) {
        // Prometheus refuses a page on which a name comes back.
        PRESENCE_ASSERT(std::ranges::none_of(
            families_, [&](const auto& family) { return family.name == name; }));
        prometheus::MetricFamily family;
        family.name = name;
        family.help = help;
        family.type = type;
        families_.push_back(std::move(family));
    }
    return families_.back().metric.emplace_back();
}

void MetricPage::counter(std::string_view name, std::string_view help, double value,
                         const std::vector<Label>& labels) {
    prometheus::ClientMetric& made = sample(name, help, prometheus::MetricType::Counter);
    made.counter.value = value;
    set_labels(made, labels);
}

void MetricPage::gauge(std::string_view name, std::string_view help, double value,
                       const std::vector<Label>& labels) {
    prometheus::ClientMetric& made = sample(name, help, prometheus::MetricType::Gauge);
    made.gauge.value = value;
    set_labels(made, labels);
}

void MetricPage::histogram(std::string_view name, std::string_view help,
                           const LatencyHistogram& times) {
    prometheus::ClientMetric& made = sample(name, help, prometheus::MetricType::Histogram);
    std::uint64_t so_far = 0;
    for (std::size_t i = 0; i < LatencyHistogram::kBoundsUs.size(); ++i) {
        so_far += times.counts[i];
        const double bound = static_cast<double>(LatencyHistogram::kBoundsUs[i]) / kMicrosInSecond;
        made.histogram.bucket.push_back({so_far, bound});
    }
    made.histogram.sample_count = so_far + times.counts.back();
    made.histogram.sample_sum = static_cast<double>(times.sum_us) / kMicrosInSecond;
}

std::string MetricPage::text() const {
    return prometheus::TextSerializer().Serialize(families_);
}

}  // namespace presence::telemetry
