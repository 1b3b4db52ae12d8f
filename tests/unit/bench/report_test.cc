#include "report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace presence::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Metric heartbeat(std::vector<double> values, std::vector<double> baselines) {
    return {.name = "cpu",
            .unit = "ns",
            .values = std::move(values),
            .baselines = std::move(baselines),
            .bar_on = BarOn::ratio,
            .bar = 1.25};
}

TEST(Statistics, AnOddNumberOfRoundsHasItsMiddleAsMedian) {
    const Spread spread = spread_of({9, 1, 2});

    EXPECT_EQ(spread.median, 2);
    EXPECT_EQ(spread.least, 1);
    EXPECT_EQ(spread.most, 9);
}

TEST(Statistics, AnEvenNumberOfRoundsTakesTheMeanOfTheMiddle) {
    EXPECT_EQ(spread_of({4, 1, 2, 100}).median, 3);
}

TEST(Statistics, ThePercentileIsTheNearestRank) {
    std::vector<double> hundred;
    for (int value = 100; value >= 1; --value) {
        hundred.push_back(value);
    }

    EXPECT_EQ(percentile(hundred, 0.5), 50);
    EXPECT_EQ(percentile(hundred, 0.99), 99);
    EXPECT_EQ(percentile(hundred, 1), 100);
    EXPECT_EQ(percentile(hundred, 0), 1);
    EXPECT_EQ(percentile({3, 1, 2}, 0.5), 2);
    EXPECT_EQ(percentile({7}, 0.99), 7);
}

TEST(Statistics, TheRatioIsThatOfEachRoundNotOfTheMedians) {
    EXPECT_THAT(ratios({2, 30, 4}, {1, 10, 4}), ElementsAre(2, 3, 1));
    EXPECT_EQ(heartbeat({2, 30, 4}, {1, 10, 4}).ratio()->median, 2);
}

TEST(Report, TheBarIsKeptUpToItsValueAndNoFurther) {
    EXPECT_EQ(heartbeat({125}, {100}).ok(), true);
    EXPECT_EQ(heartbeat({126}, {100}).ok(), false);
}

TEST(Report, ABarOnTheValueIsHeldAgainstTheMedian) {
    Metric memory{.name = "rss", .unit = "B", .values = {1'024, 5'000, 3}};
    EXPECT_EQ(memory.ok(), std::nullopt);

    memory.bar_on = BarOn::value;
    memory.bar = 1'024;
    EXPECT_EQ(memory.ok(), true);
    memory.bar = 1'023;
    EXPECT_EQ(memory.ok(), false);
}

TEST(Report, ARatioToNothingIsNoRatioAndKeepsNoBar) {
    const Metric metric = heartbeat({100}, {0});

    EXPECT_EQ(metric.ratio(), std::nullopt);
    EXPECT_EQ(metric.ok(), false);
}

TEST(Report, JsonHasTheAgreedFieldsInOneLine) {
    const Report report{"heartbeat",
                        "10 connections",
                        {heartbeat({2'000, 2'500, 3'000}, {2'000, 2'000, 2'000}),
                         {.name = "rss", .unit = "B", .values = {12.5}}}};

    EXPECT_EQ(as_json(report),
              R"({"scenario":"heartbeat","metrics":{)"
              R"("cpu":{"value":2500,"unit":"ns","baseline":2000,"ratio":1.25,"bar":1.25,)"
              R"("ok":true,"least":2000,"most":3000},)"
              R"("rss":{"value":12.5,"unit":"B","baseline":null,"ratio":null,"bar":null,)"
              R"("ok":null,"least":12.5,"most":12.5}}})");
}

TEST(Report, TheTableNamesWhatMissedItsBar) {
    const Report missed{"heartbeat", "setting", {heartbeat({200}, {100})}};

    EXPECT_THAT(as_table(missed), HasSubstr("ratio <= 1.25  NO"));
    EXPECT_FALSE(keeps_bars(missed));
    EXPECT_TRUE(keeps_bars({"heartbeat", "setting", {heartbeat({100}, {100})}}));
}

}  // namespace
}  // namespace presence::bench
