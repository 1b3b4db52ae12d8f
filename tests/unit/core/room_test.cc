// Rooms: members listed live, each viewer's list by what it may see (DESIGN rules 26 and 28).

#include "unit/core/rooms.h"

#include <gmock/gmock.h>

namespace presence {
namespace {

using testing::Client;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::kQuiet;
using testing::kSoon;
using testing::threads;
using testing::ToldRoom;
using testing::World;
using testing::WorldOptions;

TEST(Rooms, TheAnswerListsAllMembersAtOnceAndOthersHearOfTheJoin) {
    for (const std::size_t count : {1U, 3U}) {
        World world(threads(count));
        const Client ann = world.connect("ann");
        const Client bob = world.connect("bob");
        EXPECT_EQ(world.join(ann, "hall").line(), "room hall 1; members ann online,");
        // Nothing stands in between: whoever has its answer is in the next one's list.
        EXPECT_EQ(world.join(bob, "hall", {.meta = R"({"x":1})"}).line(),
                  R"(room hall 2; members ann online, bob online{"x":1},)");
        world.run(kSoon);
        EXPECT_THAT(world.told_rooms(ann),
                    ElementsAre(R"(update hall 2; joined bob online{"x":1},)"));
        EXPECT_THAT(world.told_rooms(bob), IsEmpty());
        world.run(kQuiet);
        world.leave(ann, "hall");
        world.run(kSoon);
        EXPECT_THAT(world.told_rooms(bob), ElementsAre("update hall 1; left ann,"));
        EXPECT_THAT(world.told_rooms(ann), IsEmpty());
    }
}

TEST(Rooms, AStatusIsAChangeAndAnEndOfPresenceALeave) {
    World world(threads(2));
    const Client ann = world.connect("ann");
    const Client bob = world.connect("bob");
    world.join(ann, "hall");
    world.join(bob, "hall");
    world.run(kQuiet);
    (void)world.told_rooms(ann);
    (void)world.declare(UserId("bob"), DeclaredStatus::busy);
    world.run(kSoon);
    EXPECT_THAT(world.told_rooms(ann), ElementsAre("update hall 2; changed bob busy,"));
    world.run(kQuiet);
    (void)world.say(UserId("bob"), "a text that no list shows");
    world.run(kQuiet);
    EXPECT_THAT(world.told_rooms(ann), IsEmpty());
    world.bye(bob);
    world.run(kQuiet);
    EXPECT_THAT(world.told_rooms(ann), ElementsAre("update hall 1; left bob,"));
}

TEST(Rooms, FO030AnUpdateIsNoLeaveAndJoin) {
    World world;
    const Client ann = world.connect("ann");
    const Client bob = world.connect("bob");
    world.join(ann, "hall");
    world.join(bob, "hall", {.meta = "1"});
    world.run(kQuiet);
    (void)world.told_rooms(ann);
    for (int i = 0; i < 20; ++i) {
        world.join(bob, "hall", {.meta = std::to_string(i)});
        world.run(100ms);
    }
    world.run(kQuiet);
    const std::vector<ToldRoom> told = world.connection(ann).rooms;
    ASSERT_FALSE(told.empty());
    EXPECT_LE(told.size(), 5U);
    for (const ToldRoom& one : told) {
        EXPECT_EQ(one.joined.size() + one.left.size(), 0U) << one;
        EXPECT_EQ(one.count, 2U);
    }
    EXPECT_THAT(told.back().changed, ElementsAre("bob online19"));
}

TEST(Rooms, FO031WhoHasLeftIsNotBroughtBackByNews) {
    World world(threads(2));
    const Client ann = world.connect("ann");
    const Client bob = world.connect("bob");
    const Client elsewhere = world.connect("bob");
    world.join(ann, "hall");
    world.join(bob, "hall");
    world.run(kQuiet);
    (void)world.told_rooms(ann);
    EXPECT_TRUE(*world.wait(world.service(UserId("bob")).kick(UserId("bob"), bob->id)));
    (void)world.declare_on(elsewhere, DeclaredStatus::away);
    world.run(kQuiet);
    EXPECT_THAT(world.told_rooms(ann), ElementsAre("update hall 1; left bob,"));
    (void)world.declare(UserId("bob"), DeclaredStatus::busy);
    world.bye(elsewhere);
    world.run(kQuiet);
    EXPECT_THAT(world.told_rooms(ann), IsEmpty());
}

TEST(Rooms, FO011SeveralDevicesAreOneMember) {
    World world;
    const Client ann = world.connect("ann");
    world.join(ann, "hall");
    const Client first = world.connect("bob");
    const Client second = world.connect("bob");
    world.join(first, "hall", {.meta = "1"});
    EXPECT_EQ(world.join(second, "hall", {.meta = "2"}).line(),
              "room hall 2; members ann online, bob online2,");
    world.run(kQuiet);
    EXPECT_THAT(world.told_rooms(ann), ElementsAre("update hall 2; joined bob online2,"));
    world.bye(second);
    world.run(kQuiet);
    EXPECT_THAT(world.told_rooms(ann), ElementsAre("update hall 2; changed bob online1,"));
    world.leave(first, "hall");
    world.leave(first, "hall");
    world.run(kQuiet);
    EXPECT_THAT(world.told_rooms(ann), ElementsAre("update hall 1; left bob,"));
    EXPECT_EQ(world.room_facts("hall").members, 1U);
}

TEST(Rooms, AMemberInGraceStaysAndOneWhoResumesHearsAfterANewJoin) {
    World world;
    const Client ann = world.connect("ann");
    const Client bob = world.connect("bob");
    world.join(ann, "hall");
    world.join(bob, "hall", {.meta = "7"});
    world.run(kQuiet);
    (void)world.told_rooms(ann);
    world.lose(bob);
    world.run(5s);
    const Client back = world.resume(bob);
    ASSERT_TRUE(back->resumed);
    const Client carl = world.connect("carl");
    world.join(carl, "hall");
    world.run(kQuiet);
    EXPECT_THAT(world.told_rooms(ann), ElementsAre("update hall 3; joined carl online,"));
    EXPECT_THAT(world.told_rooms(back), IsEmpty());
    world.join(back, "hall", {.meta = "7"});
    world.run(kQuiet);
    EXPECT_THAT(world.told_rooms(ann), IsEmpty());
    world.bye(carl);
    world.run(kQuiet);
    EXPECT_THAT(world.told_rooms(back), ElementsAre("update hall 2; left carl,"));
    world.lose(back);
    world.run(world.config.heartbeat.grace + 1s);
    EXPECT_THAT(world.told_rooms(ann),
                ElementsAre("update hall 2; left carl,", "update hall 1; left bob,"));
    EXPECT_EQ(world.room_facts("hall").members, 1U);
}

TEST(Rooms, ObserversSeeAndAreNotInItAndWhoWantsNoUpdatesIsInItAndHearsNothing) {
    World world;
    const Client ann = world.connect("ann");
    const Client bob = world.connect("bob");
    const Client carl = world.connect("carl");
    EXPECT_EQ(world.join(ann, "hall", {.observe = true}).line(), "room hall 0");
    EXPECT_EQ(world.join(bob, "hall", {.hears = false}).line(), "room hall 1; members bob online,");
    world.join(carl, "hall");
    world.run(kQuiet);
    EXPECT_THAT(world.told_rooms(ann),
                ElementsAre("update hall 2; joined bob online, carl online,"));
    EXPECT_THAT(world.told_rooms(bob), IsEmpty());
    EXPECT_EQ(world.room_facts("hall").members, 2U);
    // A new join says it all anew.
    world.join(carl, "hall", {.observe = true});
    world.run(kQuiet);
    EXPECT_THAT(world.told_rooms(ann), ElementsAre("update hall 1; left carl,"));
    EXPECT_THAT(world.told_rooms(carl), IsEmpty());
    EXPECT_EQ(world.room_facts("hall").members, 1U);
}

TEST(Rooms, FO046FO049TheInvisibleAreInNoListAndInNoCount) {
    World world(threads(2));
    const Client ann = world.connect("ann");
    const Client ivy = world.connect("ivy");
    const Client offline = world.connect("off", {.observe = true});
    (void)world.declare(UserId("ivy"), DeclaredStatus::invisible);
    world.run(kQuiet);
    world.join(ann, "hall");
    EXPECT_EQ(world.join(ivy, "hall").line(), "room hall 2; members ann online, ivy invisible,");
    EXPECT_EQ(world.join(offline, "hall").line(), "room hall 1; members ann online,");
    world.leave(ivy, "hall");
    world.join(ivy, "hall", {.meta = "1"});
    world.signal(ivy, "hall");
    world.run(kQuiet);
    EXPECT_THAT(world.told_rooms(ann), IsEmpty());
    const Client late = world.connect("late");
    EXPECT_EQ(world.join(late, "hall").line(), "room hall 2; members ann online, late online,");
    world.run(kQuiet);
    (void)world.told_rooms(ann);
    (void)world.declare(UserId("ivy"), DeclaredStatus::automatic);
    world.run(kQuiet);
    EXPECT_THAT(world.told_rooms(ann), ElementsAre("update hall 3; joined ivy online1,"));
    (void)world.declare(UserId("ivy"), DeclaredStatus::invisible);
    world.run(kQuiet);
    EXPECT_THAT(world.told_rooms(ann), ElementsAre("update hall 2; left ivy,"));
    world.bye(ivy);
    world.run(kQuiet);
    EXPECT_THAT(world.told_rooms(ann), IsEmpty());
    EXPECT_EQ(world.room_facts("hall").counted, 2U);
}

TEST(Rooms, FO051BlocksAndRulesTakeSightAndGiveItBackBothWays) {
    World world(threads(2));
    const Client ann = world.connect("ann");
    const Client bob = world.connect("bob");
    world.join(ann, "hall");
    world.join(bob, "hall");
    world.run(kQuiet);
    (void)world.told_rooms(ann);
    (void)world.told_rooms(bob);
    world.change_blocks("ann", "bob", true);
    world.run(2s);
    EXPECT_THAT(world.told_rooms(ann), ElementsAre("update hall 1; left bob,"));
    EXPECT_THAT(world.told_rooms(bob), ElementsAre("update hall 1; left ann,"));
    world.signal(bob, "hall");
    (void)world.declare(UserId("bob"), DeclaredStatus::away);
    world.join(bob, "hall", {.meta = "2"});
    world.run(kQuiet);
    EXPECT_THAT(world.told_rooms(ann), IsEmpty());
    (void)world.told_rooms(bob);
    world.change_blocks("ann", "bob", false);
    world.run(2s);
    EXPECT_THAT(world.told_rooms(ann), ElementsAre("update hall 2; joined bob away2,"));
    EXPECT_THAT(world.told_rooms(bob), ElementsAre("update hall 2; joined ann online,"));
    world.set_online_rule("bob", Audience::only, {UserId("carl")});
    world.run(2s);
    EXPECT_THAT(world.told_rooms(ann), ElementsAre("update hall 1; left bob,"));
    // Reciprocity: who hides from ann does not see ann.
    EXPECT_THAT(world.told_rooms(bob), ElementsAre("update hall 1; left ann,"));
    const Client carl = world.connect("carl");
    EXPECT_EQ(world.join(carl, "hall").line(),
              "room hall 3; members ann online, bob away2, carl online,");
}

TEST(Rooms, FO032AWatchTellsAndTheRoomsDoNotRepeatIt) {
    World world;
    const Client ann = world.connect("ann");
    const Client bob = world.connect("bob");
    for (const char* room : {"one", "two", "three"}) {
        world.join(ann, room);
        world.join(bob, room);
    }
    world.watch(ann, {"bob"});
    world.run(kQuiet);
    (void)world.told_rooms(ann);
    (void)world.declare(UserId("bob"), DeclaredStatus::busy);
    world.run(kQuiet);
    EXPECT_EQ(world.told(ann).size(), 1U);
    EXPECT_THAT(world.told_rooms(ann), IsEmpty());
    // Who stops watching knows where the members stand.
    world.unwatch(ann, {"bob"});
    world.run(kQuiet);
    EXPECT_EQ(world.told_rooms(ann).size(), 3U);
    (void)world.declare(UserId("bob"), DeclaredStatus::away);
    world.run(kQuiet);
    EXPECT_EQ(world.told_rooms(ann).size(), 3U);
    world.watch(ann, {"bob"});
    (void)world.declare(UserId("bob"), DeclaredStatus::invisible);
    world.run(kQuiet);
    EXPECT_EQ(world.told_rooms(ann).size(), 3U);  // That it has left is the rooms' to tell.
}

}  // namespace
}  // namespace presence
