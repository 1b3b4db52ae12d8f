#include "presence/core/slot_pool.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace presence {
namespace {

TEST(SlotPool, ALateNameOfAPlaceThatWasGivenAwayAgainFindsNothing) {
    SlotPool<std::string> pool;
    const SlotId first = pool.create("first");
    pool.destroy(first);
    const SlotId second = pool.create("second");

    ASSERT_EQ(second.slot, first.slot);
    EXPECT_EQ(pool.find(first), nullptr);
    EXPECT_EQ(pool.at(second), "second");
    EXPECT_EQ(pool.size(), 1U);
}

TEST(SlotPool, TheEmptyNameAndOneBeyondTheEndFindNothing) {
    SlotPool<int> pool;
    EXPECT_FALSE(SlotId{});
    EXPECT_EQ(pool.find({}), nullptr);
    EXPECT_EQ(pool.find({77, 1}), nullptr);
    EXPECT_EQ(pool.in(77).first, nullptr);
}

TEST(SlotPool, ThingsStayWhereTheyAreWhileOthersCome) {
    SlotPool<int> pool;
    const SlotId id = pool.create(1);
    const int* const place = &pool.at(id);
    for (int i = 0; i < 10'000; ++i) {
        (void)pool.create(i);
    }
    EXPECT_EQ(&pool.at(id), place);
    EXPECT_EQ(pool.size(), 10'001U);
}

TEST(SlotPool, AVisitSeesWhatIsThereAndNothingElse) {
    SlotPool<int> pool;
    const SlotId one = pool.create(1);
    (void)pool.create(2);
    (void)pool.create(3);
    pool.destroy(one);
    std::vector<int> seen;
    pool.for_each([&](SlotId id, int value) {
        EXPECT_EQ(pool.at(id), value);
        seen.push_back(value);
    });
    EXPECT_EQ(seen, (std::vector{2, 3}));
}

TEST(SlotPool, InNamesWhatStandsAtASlotNow) {
    SlotPool<int> pool;
    const SlotId id = pool.create(5);
    const auto [value, name] = pool.in(id.slot);
    ASSERT_NE(value, nullptr);
    EXPECT_EQ(name, id);
    pool.destroy(id);
    EXPECT_EQ(pool.in(id.slot).first, nullptr);
}

}  // namespace
}  // namespace presence
