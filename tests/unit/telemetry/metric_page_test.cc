#include "presence/telemetry/metric_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace presence::telemetry {
namespace {

using ::testing::HasSubstr;

TEST(MetricPage, SamplesOfOneNameStandUnderOneHead) {
    MetricPage page;
    page.counter("a_total", "All of a.", 3, {{"kind", "x"}});
    page.counter("a_total", "All of a.", 4, {{"kind", "y"}});
    page.gauge("b", "What b is.", 0.5);

    EXPECT_EQ(page.text(),
              "# HELP a_total All of a.\n"
              "# TYPE a_total counter\n"
              "a_total{kind=\"x\"} 3\n"
              "a_total{kind=\"y\"} 4\n"
              "# HELP b What b is.\n"
              "# TYPE b gauge\n"
              "b 0.5\n");
}

TEST(MetricPage, LargeCountersKeepAllTheirDigits) {
    MetricPage page;
    page.counter("a_total", "All of a.", 9'007'199'254'740'991);

    EXPECT_THAT(page.text(), HasSubstr("a_total 9007199254740991\n"));
}

TEST(MetricPage, BucketsOfAHistogramAddUpAndAreInSeconds) {
    LatencyHistogram times;
    times.add(50);          // Bounds are inclusive.
    times.add(51);          // The next bucket.
    times.add(1'000'000);   // A second.
    times.add(60'000'000);  // Longer than the last bound.
    MetricPage page;
    page.histogram("a_seconds", "How long a took.", times);

    const std::string text = page.text();
    EXPECT_THAT(text, HasSubstr("a_seconds_bucket{le=\"5e-05\"} 1\n"));
    EXPECT_THAT(text, HasSubstr("a_seconds_bucket{le=\"0.0001\"} 2\n"));
    EXPECT_THAT(text, HasSubstr("a_seconds_bucket{le=\"0.5\"} 2\n"));
    EXPECT_THAT(text, HasSubstr("a_seconds_bucket{le=\"1\"} 3\n"));
    EXPECT_THAT(text, HasSubstr("a_seconds_bucket{le=\"10\"} 3\n"));
    EXPECT_THAT(text, HasSubstr("a_seconds_bucket{le=\"+Inf\"} 4\n"));
    EXPECT_THAT(text, HasSubstr("a_seconds_count 4\n"));
    EXPECT_THAT(text, HasSubstr("a_seconds_sum 61.000101\n"));
}

TEST(MetricPageDeathTest, ANameThatComesBackAfterAnotherIsABug) {
    MetricPage page;
    page.counter("a_total", "All of a.", 1);
    page.counter("b_total", "All of b.", 1);

    EXPECT_DEATH(page.counter("a_total", "All of a.", 1), "");
}

}  // namespace
}  // namespace presence::telemetry
