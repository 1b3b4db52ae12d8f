// Rooms: what goes out when, to slow readers, in storms and over limits; signals (DESIGN rules 21,
// 28 and 29).

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

TEST(Rooms, SlowReadersGetAWholeRoomInThePlaceOfWhatTheyMissed) {
    World world;
    const Client ann = world.connect("ann");
    const Client bob = world.connect("bob");
    world.join(ann, "hall");
    world.join(bob, "hall");
    world.run(kQuiet);
    (void)world.told_rooms(ann);
    world.set_takes(ann, false);
    for (int i = 0; i < 10; ++i) {
        world.leave(bob, "hall");
        world.run(kQuiet);
        world.join(bob, "hall", {.meta = std::to_string(i)});
        world.run(kQuiet);
    }
    EXPECT_THAT(world.told_rooms(ann), IsEmpty());
    world.set_takes(ann, true);
    EXPECT_THAT(world.told_rooms(ann),
                ElementsAre("room hall 2; members ann online, bob online9,"));
    world.leave(bob, "hall");
    world.run(kSoon);
    EXPECT_THAT(world.told_rooms(ann), ElementsAre("update hall 1; left bob,"));
    // Nothing missed, nothing told.
    world.set_takes(ann, false);
    world.run(kQuiet);
    world.set_takes(ann, true);
    EXPECT_THAT(world.told_rooms(ann), IsEmpty());
}

TEST(Rooms, TheFirstChangeIsToldAtOnceAndAStormOnceASecond) {
    World world;
    const Client ann = world.connect("ann");
    world.join(ann, "hall");
    world.run(kQuiet);
    (void)world.told_rooms(ann);
    const MonoTime start = world.clock.now();
    for (int i = 0; i < 50; ++i) {
        world.join(world.connect(UserId("user" + std::to_string(i))), "hall", {.hears = false});
        world.run(100ms);
    }
    world.run(kQuiet);
    const std::vector<ToldRoom> told = world.connection(ann).rooms;
    ASSERT_GE(told.size(), 5U);
    EXPECT_LE(told.size(), 7U);
    EXPECT_LE(told[0].at - start, 200ms);
    std::size_t joined = 0;
    for (std::size_t i = 0; i < told.size(); ++i) {
        joined += told[i].joined.size();
        EXPECT_TRUE(i == 0 || told[i].at - told[i - 1].at >= 1s) << i;
    }
    EXPECT_EQ(joined, 50U);
    EXPECT_EQ(told.back().count, 51U);
}

TEST(Rooms, FO033FO043NothingIsLeftOfRoomsThatAllHaveLeft) {
    World world(threads(2));
    for (int round = 0; round < 20; ++round) {
        const Client ann = world.connect("ann");
        const Client bob = world.connect("bob");
        world.join(ann, "hall");
        world.join(bob, "hall");
        world.join(bob, "garden", {.observe = true});
        world.run(50ms);
        world.leave(ann, "hall");
        world.leave(ann, "hall");
        world.leave(ann, "never joined by anybody");
        world.bye(ann);
        if (round % 2 == 0) {
            world.lose(bob);
        } else {
            world.bye(bob);
        }
        world.run(world.config.heartbeat.grace + kQuiet);
        EXPECT_EQ(world.room_facts("hall").members, 0U);
        for (const auto& thread : world.threads) {
            const RoomDesk& desk = thread->shard.rooms;
            EXPECT_EQ(desk.replica_count(), 0U);
            EXPECT_EQ(desk.subject_count(), 0U);
            EXPECT_EQ(desk.stay_count(), 0U);
            EXPECT_EQ(desk.subscription_count(), 0U);
            EXPECT_EQ(desk.keeper().room_count(), 0U);
        }
        for (std::size_t index = 0; index < world.bus.endpoints(); ++index) {
            EXPECT_EQ(world.bus.subscribed_users(index), 0U);
            EXPECT_EQ(world.bus.subscribed_rooms(index), 0U);
        }
    }
}

TEST(Rooms, LimitsAreToldAndChangeNothing) {
    WorldOptions options;
    options.limits.rooms_per_connection = 2;
    options.limits.room_total = 2;
    options.limits.rooms = 3;
    World world(options);
    const Client ann = world.connect("ann");
    const Client bob = world.connect("bob");
    const Client carl = world.connect("carl");
    world.join(ann, "one");
    world.join(ann, "two", {.observe = true});
    Result<ToldRoom> third = world.try_join(ann, "three");
    ASSERT_FALSE(third);
    EXPECT_EQ(third.error().code, ErrorCode::limit_exceeded);
    EXPECT_EQ(third.error().limit, 2);
    world.join(ann, "two");  // Not another room.
    world.join(bob, "one");
    Result<ToldRoom> full = world.try_join(carl, "one");
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().code, ErrorCode::limit_exceeded);
    EXPECT_EQ(world.room_facts("one").members, 2U);
    EXPECT_FALSE(world.rooms(carl).is_member(UserId("carl"), RoomId("one"), carl->id));
    world.join(bob, "one", {.meta = "1"});  // Who is in stays.
    world.join(carl, "four");
    Result<ToldRoom> another = world.try_join(carl, "five");
    ASSERT_FALSE(another);
    EXPECT_EQ(another.error().code, ErrorCode::limit_exceeded);
    EXPECT_GE(world.counters().rooms_refused, 3U);
    world.run(kQuiet);
    world.bye(carl);
    world.run(kQuiet);
    EXPECT_EQ(world.shard().rooms.keeper().room_count(), 2U);
}

TEST(Rooms, SignalsReachWhoHearsTheRoom) {
    World world(threads(3));
    const Client ann = world.connect("ann");
    const Client bob = world.connect("bob");
    const Client observer = world.connect("olga");
    const Client deaf = world.connect("dora");
    world.join(ann, "hall");
    world.join(observer, "hall", {.observe = true});
    world.join(deaf, "hall", {.hears = false});
    world.join(bob, "hall");
    // At once: before the statement of the join has come through.
    world.signal(bob, "hall");
    EXPECT_THAT(world.told_rooms(ann), ElementsAre("signal hall 0; joined bob typing,"));
    EXPECT_THAT(world.told_rooms(observer), ElementsAre("signal hall 0; joined bob typing,"));
    EXPECT_THAT(world.told_rooms(deaf), IsEmpty());
    world.run(kQuiet);
    (void)world.told_rooms(ann);
    world.signal(bob, "hall");
    EXPECT_THAT(world.told_rooms(ann), ElementsAre("signal hall 0; joined bob typing,"));
    world.signal(observer, "hall");
    EXPECT_THAT(world.told_rooms(ann), IsEmpty());
}

}  // namespace
}  // namespace presence
