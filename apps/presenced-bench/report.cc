#include "report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace presence::bench {

namespace {

/// Enough digits to compare, few enough to read.
std::string rounded(double value) {
    const double size = std::abs(value);
    if (size >= 100) {
        return fmt::format("{:.0f}", value);
    }
    return size >= 10 ? fmt::format("{:.1f}", value) : fmt::format("{:.2f}", value);
}

std::string with_ends(const std::optional<Spread>& spread) {
    if (!spread) {
        return "-";
    }
    return fmt::format("{} [{}-{}]", rounded(spread->median), rounded(spread->least),
                       rounded(spread->most));
}

std::optional<Spread> baseline_of(const Metric& metric) {
    if (metric.baselines.empty()) {
        return std::nullopt;
    }
    return spread_of(metric.baselines);
}

std::string bar_text(const Metric& metric) {
    switch (metric.bar_on) {
        case BarOn::nothing:
            return "-";
        case BarOn::value:
            return fmt::format("<= {} {}", metric.bar, metric.unit);
        case BarOn::ratio:
            return fmt::format("ratio <= {}", metric.bar);
    }
    return "-";
}

std::string json_number(double value) {
    return std::isfinite(value) ? fmt::format("{:.6g}", value) : "null";
}

std::string json_median(const std::optional<Spread>& spread) {
    return spread ? json_number(spread->median) : "null";
}

}  // namespace

std::optional<Spread> Metric::ratio() const {
    const auto vanishes = [](double baseline) { return baseline <= 0; };
    if (baselines.empty() || std::ranges::any_of(baselines, vanishes)) {
        return std::nullopt;
    }
    return spread_of(ratios(values, baselines));
}

std::optional<bool> Metric::ok() const {
    switch (bar_on) {
        case BarOn::nothing:
            return std::nullopt;
        case BarOn::value:
            return spread_of(values).median <= bar;
        case BarOn::ratio: {
            const std::optional<Spread> found = ratio();
            return found && found->median <= bar;
        }
    }
    return std::nullopt;
}

std::string as_table(const Report& report) {
    std::string table = fmt::format("{}: {}\n", report.scenario, report.setting);
    const auto line = [&table](std::string_view name, std::string_view unit, std::string_view value,
                               std::string_view bare, std::string_view ratio, std::string_view bar,
                               std::string_view ok) {
        table += fmt::format("  {:<34} {:<4} {:<24} {:<24} {:<20} {:<14} {}\n", name, unit, value,
                             bare, ratio, bar, ok);
    };
    line("metric", "unit", "presenced", "bare loop", "ratio", "bar", "kept");
    for (const Metric& metric : report.metrics) {
        const std::optional<bool> ok = metric.ok();
        line(metric.name, metric.unit, with_ends(spread_of(metric.values)),
             with_ends(baseline_of(metric)), with_ends(metric.ratio()), bar_text(metric),
             !ok   ? "-"
             : *ok ? "yes"
                   : "NO");
    }
    return table;
}

std::string as_json(const Report& report) {
    std::string json = fmt::format(R"({{"scenario":"{}","metrics":{{)", report.scenario);
    std::string_view comma;
    for (const Metric& metric : report.metrics) {
        const Spread value = spread_of(metric.values);
        const std::optional<bool> ok = metric.ok();
        json += fmt::format(
            R"({}"{}":{{"value":{},"unit":"{}","baseline":{},"ratio":{},"bar":{},"ok":{},)"
            R"("least":{},"most":{}}})",
            comma, metric.name, json_number(value.median), metric.unit,
            json_median(baseline_of(metric)), json_median(metric.ratio()),
            metric.bar_on == BarOn::nothing ? "null" : json_number(metric.bar),
            !ok   ? "null"
            : *ok ? "true"
                  : "false",
            json_number(value.least), json_number(value.most));
        comma = ",";
    }
    return json + "}}";
}

bool keeps_bars(const Report& report) {
    return std::ranges::all_of(report.metrics,
                               [](const Metric& metric) { return metric.ok().value_or(true); });
}

}  // namespace presence::bench
