// Looks at members of rooms that take time, while rules change.

#include "unit/core/rooms.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>

namespace presence {
namespace {

using testing::Client;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::kQuiet;
using testing::World;

/// What the way to a store and back takes.
constexpr Millis kWay{10};

/// Reads of records in which `user` is.
std::size_t reads_of(World& world, const char* user) {
    const auto& asked = world.threads[0]->late.asked;
    return static_cast<std::size_t>(std::ranges::count_if(asked, [&](const auto& users) {
        return std::ranges::find(users, UserId(user)) != users.end();
    }));
}

class RoomLooks : public ::testing::Test {
protected:
    RoomLooks() : ann(world.connect("ann")), bob(world.connect("bob")) {
        world.join(ann, "hall");
        world.join(bob, "hall");
        world.run(kQuiet);
        world.told_rooms(ann);
    }

    World world;
    Client ann;
    Client bob;
};

TEST_F(RoomLooks, RulesOfStrangersMakeNoLookBeMadeAgain) {
    const Client carl = world.connect("carl");
    world.threads[0]->late.set_lateness(kWay);
    world.threads[0]->late.asked.clear();
    bool joined = false;
    for (int i = 0; i < 500; ++i) {
        world.change_contacts(("stranger" + std::to_string(i % 50)).c_str(), "friend", i < 50);
        world.run(2ms);
        if (i == 5) {
            world.join(carl, "hall");
            joined = true;
        }
    }
    ASSERT_TRUE(joined);
    // The look of the one who joined, and that of the others at it.
    EXPECT_LE(reads_of(world, "carl"), 4U);
    EXPECT_LE(reads_of(world, "bob"), 2U);
    EXPECT_THAT(world.told_rooms(ann), ElementsAre("update hall 3; joined carl online,"));
}

TEST_F(RoomLooks, EachChangeOfAMembersRulesIsLookedAtOnceHoweverManyOvertakeEachOther) {
    world.threads[0]->late.set_lateness(kWay);
    world.threads[0]->late.asked.clear();
    constexpr std::size_t kChanges = 500;
    for (std::size_t i = 0; i < kChanges; ++i) {
        world.change_contacts("bob", "friend", i % 2 == 0);
        world.run(2ms);
    }
    world.run(kQuiet);
    // As a member, as a viewer, and as one who may count.
    EXPECT_LE(reads_of(world, "bob"), 3 * kChanges);
    EXPECT_THAT(world.told_rooms(ann), IsEmpty());
}

TEST_F(RoomLooks, OneBegunBeforeARuleChangedBringsNobodyBackWhenItEndsAfterwards) {
    const Client carl = world.connect("carl");
    auto& late = world.threads[0]->late;
    late.set_lateness(3s);
    world.shard().rooms.look_at_all_again();
    world.run(100ms);
    late.set_lateness(0ms);
    world.set_online_rule("bob", Audience::nobody);
    world.run(kQuiet);
    EXPECT_THAT(world.told_rooms(ann), ElementsAre("update hall 1; left bob,"));
    EXPECT_EQ(world.join(carl, "hall").line(), "room hall 2; members ann online, carl online,");
    world.run(2 * kQuiet);
    EXPECT_THAT(world.told_rooms(ann), ElementsAre("update hall 2; joined carl online,"));
    EXPECT_EQ(world.room_facts("hall").counted, 2U);
}

TEST_F(RoomLooks, OneBegunBeforeAViewersRuleChangedGivesItNoSightBack) {
    auto& late = world.threads[0]->late;
    late.set_lateness(3s);
    world.shard().rooms.look_at_all_again();
    world.run(100ms);
    late.set_lateness(0ms);
    world.change_blocks("ann", "bob", true);
    world.run(kQuiet);
    EXPECT_THAT(world.told_rooms(ann), ElementsAre("update hall 1; left bob,"));
    world.run(2 * kQuiet);
    EXPECT_THAT(world.told_rooms(ann), IsEmpty());
    EXPECT_THAT(world.told_rooms(bob), ElementsAre("update hall 1; left ann,"));
}

TEST_F(RoomLooks, OneBegunBeforeAMemberLeftSaysNothingOfItsNextStay) {
    auto& late = world.threads[0]->late;
    late.set_lateness(6s);
    world.shard().rooms.look_at_all_again();
    world.run(100ms);
    late.set_lateness(0ms);
    world.leave(bob, "hall");
    world.run(kQuiet);
    world.set_online_rule("bob", Audience::nobody);
    world.join(bob, "hall");
    world.run(kQuiet);
    EXPECT_THAT(world.told_rooms(ann), ElementsAre("update hall 1; left bob,"));
    world.run(2 * kQuiet);
    EXPECT_THAT(world.told_rooms(ann), IsEmpty());
}

TEST_F(RoomLooks, ThoseThatFailAreMadeAgainTogetherAndSettleInTheEnd) {
    auto& late = world.threads[0]->late;
    world.sessions.set_unavailable(true);
    late.asked.clear();
    for (int i = 0; i < 20; ++i) {
        world.change_contacts("bob", "friend", i % 2 == 0);
    }
    world.set_online_rule("bob", Audience::nobody);
    const std::size_t at_first = late.asked.size();
    world.run(3s + 100ms);
    // Each second: once as a member, once as a viewer, and the looks of the user's own home.
    EXPECT_LE(reads_of(world, "ann"), 21U + 3U);
    EXPECT_GT(late.asked.size(), at_first);
    world.sessions.set_unavailable(false);
    world.run(kQuiet);
    EXPECT_THAT(world.told_rooms(ann), ElementsAre("update hall 1; left bob,"));
}

TEST_F(RoomLooks, OnesOwnStatusIsInTheAnswerRightAfterItWasDeclaredThoughOthersAreNotToldYet) {
    (void)world.declare(UserId("bob"), DeclaredStatus::away);
    (void)world.declare(UserId("bob"), DeclaredStatus::busy);  // Told others a second later.
    EXPECT_EQ(world.join(bob, "hall").line(), "room hall 2; members ann online, bob busy,");
    (void)world.declare(UserId("bob"), DeclaredStatus::away);
    EXPECT_EQ(world.join(bob, "hall").line(), "room hall 2; members ann online, bob away,");
    world.run(kQuiet);
    EXPECT_THAT(world.told_rooms(ann), ElementsAre("update hall 2; changed bob away,"));
}

}  // namespace
}  // namespace presence
