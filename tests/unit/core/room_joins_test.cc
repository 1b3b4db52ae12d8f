// Joins that are overtaken: by the end of the connection, of the session, by an outage.

#include "unit/core/world.h"

#include <gmock/gmock.h>

namespace presence {
namespace {

using testing::Client;
using ::testing::IsEmpty;
using testing::start_task;
using testing::World;

constexpr Millis kQuiet{2'000};

RoomJoin join_of(const Client& client, bool observe) {
    return {client->connection, client->id, client->user, RoomId("hall"), "", observe, true, 1};
}

TEST(RoomJoins, TheAnswerNeverGoesToALaterConnectionInTheSamePlace) {
    World world;
    world.join(world.connect("bob"), "hall");
    const Client ann = world.connect("ann");
    world.threads[0]->late.set_lateness(50ms);
    const auto joining = start_task(world.rooms(ann).join(join_of(ann, false)));
    world.run(10ms);
    ASSERT_FALSE(joining->has_value());
    World::fall_silent(ann);
    world.gateway(ann->user).forget(ann->connection);
    world.threads[0]->late.set_lateness(0ms);
    const Client later = world.connect("ann");
    ASSERT_EQ(later->connection.slot, ann->connection.slot);
    world.run(kQuiet);
    ASSERT_TRUE(joining->has_value());
    EXPECT_FALSE((*joining)->has_value());
    EXPECT_THAT(world.told_rooms(later), IsEmpty());
}

TEST(RoomJoins, AFailedObserveBringsBackNoStayOfASessionThatHasEnded) {
    World world;
    world.join(world.connect("bob"), "hall");
    const Client ann = world.connect("ann");
    world.join(ann, "hall", {.hears = false});
    world.run(kQuiet);
    ASSERT_EQ(world.room_facts("hall").members, 2U);
    world.threads[0]->late.set_lateness(50ms);
    world.sessions.set_unavailable(true);
    const auto joining = start_task(world.rooms(ann).join(join_of(ann, true)));
    world.run(10ms);
    ASSERT_FALSE(joining->has_value());
    world.sessions.set_unavailable(false);
    world.threads[0]->late.set_lateness(0ms);
    world.bye(ann);
    world.run(kQuiet);
    ASSERT_TRUE(joining->has_value());
    EXPECT_FALSE((*joining)->has_value());
    EXPECT_EQ(world.room_facts("hall").members, 1U);
    EXPECT_EQ(world.shard().rooms.stay_count(), 1U);
}

TEST(RoomJoins, AFailedObserveLeavesWhoWasInWhereItWas) {
    World world;
    world.join(world.connect("bob"), "hall");
    const Client ann = world.connect("ann");
    world.join(ann, "hall", {.hears = false});
    world.sessions.set_unavailable(true);
    EXPECT_FALSE(world.try_join(ann, "hall", {.observe = true}));
    world.sessions.set_unavailable(false);
    world.run(kQuiet);
    EXPECT_EQ(world.room_facts("hall").members, 2U);
}

TEST(RoomJoins, ASessionTakenOverDuringAnOutageIsFollowedAndCountedOnceItIsOver) {
    World world;
    const Client ann = world.connect("ann");
    world.sessions.set_unavailable(true);
    world.rooms(ann).take_over(
        {NodeId{}, ann->user, ann->id, {{RoomId("hall"), "", world.clock.wall_now()}}});
    world.run(kQuiet);
    EXPECT_EQ(world.room_facts("hall").members, 1U);
    EXPECT_EQ(world.room_facts("hall").counted, 0U);
    world.sessions.set_unavailable(false);
    world.run(kQuiet);
    EXPECT_EQ(world.room_facts("hall").counted, 1U);
    world.set_online_rule("ann", Audience::nobody);
    world.run(kQuiet);
    EXPECT_EQ(world.room_facts("hall").counted, 0U);
}

TEST(RoomJoins, OneThatWaitsForAnothersLookIsCountedThoughThatFails) {
    World world;
    const Client ann = world.connect("ann");
    world.threads[0]->late.set_lateness(50ms);
    world.sessions.set_unavailable(true);
    const auto failing = start_task(world.rooms(ann).join(join_of(ann, false)));
    world.sessions.set_unavailable(false);
    RoomJoin other = join_of(ann, false);
    other.room = RoomId("yard");
    const auto joining = start_task(world.rooms(ann).join(std::move(other)));
    world.run(2 * kQuiet);
    ASSERT_TRUE(failing->has_value() && joining->has_value());
    EXPECT_FALSE((*failing)->has_value());
    EXPECT_TRUE((*joining)->has_value());
    EXPECT_EQ(world.room_facts("hall").members, 0U);
    EXPECT_EQ(world.room_facts("yard").counted, 1U);
}

}  // namespace
}  // namespace presence
