#include "seeds/parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace presence::seeds {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::Field;
using ::testing::Ge;
using ::testing::Le;
using ::testing::SizeIs;

constexpr Options kQuick{.quick = true, .redis = false};

double value(const Figure& figure, std::string_view name) {
    const auto found =
        std::ranges::find(figure.values, name, &std::pair<std::string, double>::first);
    EXPECT_NE(found, figure.values.end()) << figure.what << " has no " << name;
    return found == figure.values.end() ? 0 : found->second;
}

TEST(Seeds, TwoHundredSilentDeathsAreToldWithinTtlLessIntervalAndTtl) {
    const Figures figures = detection(kQuick);

    const Figure& scaled = figures.at(0);
    EXPECT_EQ(value(scaled, "told"), 200);
    EXPECT_THAT(value(scaled, "least_s"), AllOf(Ge(2.0), Le(2.1)));
    EXPECT_THAT(value(scaled, "most_s"), AllOf(Ge(2.9), Le(3.1)));
    EXPECT_THAT(figures, Each(Field(&Figure::holds, std::optional(true))));
}

TEST(Seeds, SlackKeepsTwoLostBeatsAndALateThirdFromFlippingAnyone) {
    const Figures figures = false_flips(kQuick);

    const double exact = value(figures.at(0), "flips");
    const double slack = value(figures.at(1), "flips");
    // 0.02^2 of the beats, every other time, and 0.02^3; with slack 0.02^3 alone.
    EXPECT_THAT(exact, AllOf(Ge(50), Le(120)));
    EXPECT_THAT(slack, Le(12));
    EXPECT_LE(value(figures.at(4), "flips"), slack);
}

TEST(Seeds, GraceLeavesOutTheAnnouncementsOfThoseWhoComeBackWithinIt) {
    const Figures figures = grace(kQuick);

    ASSERT_THAT(figures, SizeIs(3));
    EXPECT_NEAR(value(figures[0], "announcements"), 200'000, 1);
    EXPECT_NEAR(value(figures[1], "announcements"), 72'000, 4'000);
    EXPECT_NEAR(value(figures[2], "announcements"), 40'000, 3'500);
    EXPECT_THAT(value(figures[1], "late_s"), AllOf(Ge(10), Le(10.1)));
    EXPECT_THAT(value(figures[2], "late_s"), AllOf(Ge(30), Le(30.1)));
}

TEST(Seeds, OnlyThoseWhoWatchAreTold) {
    const Figures figures = audience(kQuick);

    EXPECT_EQ(value(figures.at(0), "deliveries_per_s"), 600'000);
    EXPECT_EQ(value(figures.at(1), "deliveries_per_s"), 120'000);
    EXPECT_EQ(value(figures.at(2), "deliveries_per_s"), 10'000);
}

TEST(Seeds, OneRowIsWrittenForEachSessionThatEnds) {
    const Figures figures = database_writes(kQuick);

    EXPECT_NEAR(value(figures.at(0), "rows_per_s"), 333'333, 1);
    EXPECT_NEAR(value(figures.at(1), "rows_per_s"), 208'333, 1);
    EXPECT_NEAR(value(figures.at(3), "rows_per_s"), 11'574, 1);
    EXPECT_EQ(value(figures.at(3), "rows_per_session"), 1);
}

TEST(Seeds, HeartbeatsOfTheTextsCrowds) {
    const Figures figures = heartbeat_rates(kQuick);

    EXPECT_NEAR(value(figures.at(1), "per_s"), 66'667, 1);
    EXPECT_NEAR(value(figures.at(2), "per_s"), 200'000, 1);
    EXPECT_NEAR(value(figures.at(4), "per_s"), 1'666'667, 1);
}

TEST(Seeds, WithoutARedisItsFiguresAreSkippedAndSaySo) {
    const Figures figures = redis_facts(kQuick);

    EXPECT_THAT(figures, Each(Field(&Figure::how, How::skipped)));
    EXPECT_THAT(figures, Each(Field(&Figure::holds, std::nullopt)));
}

}  // namespace
}  // namespace presence::seeds
