// Who is alive: silence, pings, stalls, clocks that are stepped, idleness (DESIGN rules 2, 5, 6,
// 9).

#include "unit/core/world.h"

namespace presence {
namespace {

using testing::Client;
using testing::statuses;
using testing::World;
using Statuses = std::vector<Status>;

const UserId kAnn("ann");

TEST(Silence, EndsASessionWithinHalfASecondAfterTheTtlAndNeverBefore) {
    SeededRandom random(7);
    for (int round = 0; round < 300; ++round) {
        World world;
        const Client bob = world.connect("bob");
        world.run(Millis{random.below(1000)});
        const Client ann = world.connect("ann");
        world.watch(bob, {"ann"});
        World::fall_silent(ann);
        world.run(Millis{random.below(90'000)});
        const MonoTime last_beat = world.clock.now();
        world.service(kAnn).heartbeat(ann->session, last_beat);

        world.run_to(last_beat + 100s - 1ms);
        ASSERT_TRUE(world.told(bob).empty()) << round;
        ASSERT_TRUE(world.is_open(ann));
        world.run_to(last_beat + 100s + 500ms);
        ASSERT_EQ(statuses(world.told(bob), "ann"), Statuses{Status::offline}) << round;
        ASSERT_EQ(world.connection(ann).ended, EndReason::silence);
        ASSERT_GE(world.connection(ann).ended_at - last_beat, 100s);
    }
}

TEST(Silence, WhoBeatsInTimeIsNeverEndedNorAnnounced) {
    World world;
    const Client bob = world.connect("bob");
    const Client ann = world.connect("ann");
    world.watch(bob, {"ann"});
    world.run(24h);
    EXPECT_TRUE(world.told(bob).empty());
    EXPECT_TRUE(world.is_open(ann));
    EXPECT_EQ(world.counters().silent_deaths, 0U);
    EXPECT_EQ(world.connection(ann).pings, 0);
}

TEST(Silence, TwoLostBeatsAndALateThirdFlipNobody) {
    World world;
    const Client bob = world.connect("bob");
    const Client ann = world.connect("ann");
    world.watch(bob, {"ann"});
    World::fall_silent(ann);
    world.run(99s);
    world.service(kAnn).heartbeat(ann->session, world.clock.now());
    world.run(99s);
    EXPECT_TRUE(world.told(bob).empty());
    EXPECT_TRUE(world.is_open(ann));
}

TEST(Silence, OnePingIsSentAtSixtyPercentOfTheTtl) {
    World world;
    const Client ann = world.connect("ann");
    World::fall_silent(ann);
    const MonoTime attached_at = world.clock.now();
    world.run(59'999ms);
    EXPECT_EQ(world.connection(ann).pings, 0);
    world.run(100ms);
    EXPECT_EQ(world.connection(ann).pings, 1);
    world.run(39s);
    EXPECT_EQ(world.connection(ann).pings, 1);
    EXPECT_TRUE(world.is_open(ann));
    EXPECT_GE(world.connection(ann).pinged_at - attached_at, 60s);
}

TEST(Silence, APongKeepsTheSessionAndTheNextSilenceIsPingedAgain) {
    World world;
    const Client ann = world.connect("ann");
    World::fall_silent(ann);
    for (int round = 1; round <= 5; ++round) {
        world.run(61s);
        EXPECT_EQ(world.connection(ann).pings, round);
        world.service(kAnn).heartbeat(ann->session, world.clock.now());
    }
    EXPECT_TRUE(world.is_open(ann));
}

TEST(Silence, OfTheLastDeviceIsAnnouncedOnce) {
    World world;
    const Client bob = world.connect("bob");
    const Client first = world.connect("ann");
    world.run(10s);
    const Client second = world.connect("ann");
    world.watch(bob, {"ann"});
    World::fall_silent(first);
    World::fall_silent(second);
    world.run(300s);
    EXPECT_EQ(statuses(world.told(bob), "ann"), Statuses{Status::offline});
    EXPECT_EQ(world.counters().silent_deaths, 2U);
}

TEST(Silence, SignsOfLifeOfAnEndedSessionDoNotReviveIt) {
    World world;
    const Client ann = world.connect("ann");
    World::fall_silent(ann);
    world.run(101s);
    world.service(kAnn).heartbeat(ann->session, world.clock.now());
    world.report(ann, 0ms);
    world.run(1s);
    EXPECT_EQ(world.look("bob", "ann").status, Status::offline);
    EXPECT_EQ(world.service(kAnn).session_count(), 0U);
}

TEST(Silence, AStoreThatFailsAtThatMomentOnlyDelaysTheEnd) {
    World world;
    const Client ann = world.connect("ann");
    World::fall_silent(ann);
    const WallTime last_beat = world.clock.wall_now();
    world.run(99s);
    world.sessions.set_unavailable(true);
    world.run(30s);
    EXPECT_EQ(world.connection(ann).ended, EndReason::silence);
    world.sessions.set_unavailable(false);
    world.run(3s);
    EXPECT_EQ(world.look("bob", "ann").status, Status::offline);
    world.run(2s);
    EXPECT_EQ(world.stored_last_seen("ann"), last_beat);
    EXPECT_EQ(world.service(kAnn).session_count(), 0U);
}

TEST(Stall, OfTwiceTheTtlExpiresNobodyWhoStillBeats) {
    World world;
    const Client bob = world.connect("bob");
    std::vector<Client> people;
    for (int i = 0; i < 50; ++i) {
        people.push_back(world.connect(UserId("user" + std::to_string(i))));
        world.watch(bob, {std::string(people.back()->user.text).c_str()});
        world.run(617ms);
    }
    world.stall(200s);
    world.run(300s);
    for (const Client& one : people) {
        EXPECT_TRUE(world.is_open(one));
    }
    EXPECT_TRUE(world.told(bob).empty());
    EXPECT_EQ(world.counters().stalls, 1U);
}

TEST(Stall, PushesTheDeadlineOfASilentSessionByItsLength) {
    World world;
    const Client ann = world.connect("ann");
    World::fall_silent(ann);
    const MonoTime last_beat = world.clock.now();
    world.run(30s);
    world.stall(200s);
    world.run_to(last_beat + 200s + 100s - 1ms);
    EXPECT_TRUE(world.is_open(ann));
    world.run_to(last_beat + 200s + 100s + 500ms);
    EXPECT_FALSE(world.is_open(ann));
}

TEST(Stall, PushesTheEndOfAGraceByItsLengthSoThatWhoWaitsAtTheDoorCanReturn) {
    World world;
    const Client bob = world.connect("bob");
    const Client ann = world.connect("ann");
    world.watch(bob, {"ann"});
    world.lose(ann);
    world.run(5s);
    world.stall(60s);
    world.run(4s);
    EXPECT_TRUE(world.told(bob).empty());
    EXPECT_TRUE(world.resume(ann)->resumed);
    world.run(60s);
    EXPECT_TRUE(world.told(bob).empty());
}

TEST(WallClock, FO022SteppedForwardAndBackExpiresAndRevivesNobody) {
    for (const Millis step : {Millis{300'000}, Millis{-300'000}}) {
        World world;
        const Client bob = world.connect("bob");
        const Client beating = world.connect("ann");
        const Client in_grace = world.connect("carl");
        const Client silent = world.connect("dora");
        world.watch(bob, {"ann", "carl", "dora"});
        World::fall_silent(silent);
        const MonoTime begin = world.clock.now();
        world.run(50s);
        world.lose(in_grace);
        const MonoTime lost_at = world.clock.now();
        world.run(1s);
        world.clock.step_wall(step);

        world.run_to(lost_at + 10s - 1ms);
        EXPECT_TRUE(world.told(bob).empty());
        world.run_to(lost_at + 10s + 100ms);
        EXPECT_EQ(statuses(world.told(bob), "carl"), Statuses{Status::offline});
        world.run_to(begin + 100s - 1ms);
        EXPECT_EQ(world.told(bob).size(), 1U);
        world.run_to(begin + 100s + 100ms);
        EXPECT_EQ(statuses(world.told(bob), "dora"), Statuses{Status::offline});
        world.run(1h);
        EXPECT_EQ(world.told(bob).size(), 2U);
        EXPECT_TRUE(world.is_open(beating));
        EXPECT_GE(world.counters().clock_steps, 1U);
    }
}

TEST(WallClock, FO022StatusesEndByTheClockOnTheWall) {
    World world;
    const Client bob = world.connect("bob");
    const Client ann = world.connect("ann");
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::busy, world.clock.wall_now() + 600s));
    world.run(5s);
    world.watch(bob, {"ann"});
    world.clock.step_wall(300s);
    world.run(294s);
    EXPECT_TRUE(world.told(bob).empty());
    world.run(2s);
    EXPECT_EQ(statuses(world.told(bob), "ann"), Statuses{Status::online});
    (void)ann;
}

TEST(WallClock, AStepOverTheEndOfAStatusEndsItWithinASecond) {
    World world;
    const Client bob = world.connect("bob");
    const Client ann = world.connect("ann");
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::busy, world.clock.wall_now() + 250s));
    world.run(5s);
    world.watch(bob, {"ann"});
    world.clock.step_wall(300s);
    world.run(1s);
    EXPECT_EQ(statuses(world.told(bob), "ann"), Statuses{Status::online});
    (void)ann;
}

TEST(WallClock, AStepBackKeepsAStatusUntilTheClockSaysSo) {
    World world;
    const Client bob = world.connect("bob");
    const Client ann = world.connect("ann");
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::busy, world.clock.wall_now() + 60s));
    world.run(5s);
    world.watch(bob, {"ann"});
    world.clock.step_wall(-300s);
    world.run(354s);
    EXPECT_TRUE(world.told(bob).empty());
    world.run(2s);
    EXPECT_EQ(statuses(world.told(bob), "ann"), Statuses{Status::online});
    (void)ann;
}

}  // namespace
}  // namespace presence
