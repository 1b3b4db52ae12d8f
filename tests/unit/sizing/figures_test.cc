#include "seeds/figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace presence::seeds {
namespace {

using ::testing::HasSubstr;

Figure figure(std::string part, std::string what, std::optional<bool> holds) {
    return {std::move(part), 'A',   std::move(what), "about 5", "5",
            How::simulated,  holds, {{"count", 5}}};
}

TEST(Figures, NumbersAreGroupedByThousands) {
    EXPECT_EQ(grouped(0), "0");
    EXPECT_EQ(grouped(999), "999");
    EXPECT_EQ(grouped(1'000), "1,000");
    EXPECT_EQ(grouped(1'666'667), "1,666,667");
    EXPECT_EQ(grouped(-1'000), "-1,000");
    EXPECT_EQ(grouped(-100), "-100");
}

TEST(Figures, APartHasOneHeadingAndItsRowsStandInColumns) {
    const std::string table =
        as_table({figure("a part", "short", true), figure("a part", "a longer one", {})});

    EXPECT_EQ(table.find("a part"), table.rfind("a part"));
    EXPECT_THAT(table, HasSubstr("  A    short         about 5  5     simulated  yes\n"));
    EXPECT_THAT(table, HasSubstr("  A    a longer one  about 5  5     simulated  -\n"));
}

TEST(Figures, OneThatMayNotBeFailsTheRun) {
    EXPECT_TRUE(all_hold({figure("p", "a", true), figure("p", "b", {})}));
    EXPECT_FALSE(all_hold({figure("p", "a", true), figure("p", "b", false)}));
}

TEST(Figures, JsonHasEachFigureWithItsNumbers) {
    EXPECT_EQ(as_json({figure("p", "say \"a\"", true), figure("p", "b", {})}),
              R"({"figures":[{"part":"p","text":"A","figure":"say \"a\"","theirs":"about 5",)"
              R"("ours":"5","how":"simulated","holds":true,"values":{"count":5}},)"
              R"({"part":"p","text":"A","figure":"b","theirs":"about 5","ours":"5",)"
              R"("how":"simulated","holds":null,"values":{"count":5}}]})");
}

}  // namespace
}  // namespace presence::seeds
