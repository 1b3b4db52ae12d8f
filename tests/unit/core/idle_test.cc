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

TEST(Idle, WhoReportedActivityOnceIsAwayTenMinutesAfterTheLastReport) {
    World world;
    const Client bob = world.connect("bob");
    const Client ann = world.connect("ann", {.active = true});
    world.watch(bob, {"ann"});
    world.run(300s);
    world.report(ann, 0ms);
    world.run(599s);
    EXPECT_TRUE(world.told(bob).empty());
    world.run(2s);
    EXPECT_EQ(statuses(world.told(bob), "ann"), Statuses{Status::away});
}

TEST(Idle, WhoNeverReportedActivityIsNeverIdle) {
    World world;
    const Client bob = world.connect("bob");
    const Client ann = world.connect("ann");
    world.watch(bob, {"ann"});
    world.run(2h);
    EXPECT_TRUE(world.told(bob).empty());
    (void)ann;
}

TEST(Idle, FO018HeartbeatsAreNoActivity) {
    World world;
    const Client bob = world.connect("bob");
    const Client ann = world.connect("ann", {.active = true});
    world.watch(bob, {"ann"});
    world.run(30min);
    EXPECT_EQ(statuses(world.told(bob), "ann"), Statuses{Status::away});
    world.report(ann, 0ms);
    world.run(1s);
    EXPECT_EQ(statuses(world.told(bob), "ann"), (Statuses{Status::away, Status::online}));
    EXPECT_FALSE(world.stored_last_seen("ann"));
}

TEST(Idle, AReportOfActivityAWhileAgoCountsFromThen) {
    World world;
    const Client ann = world.connect("ann");
    world.report(ann, 500s);
    world.run(99s);
    EXPECT_EQ(world.look("bob", "ann").status, Status::online);
    world.run(2s);
    EXPECT_EQ(world.look("bob", "ann").status, Status::away);
}

TEST(Idle, AReportOfActivityLongAgoSaysIdle) {
    World world;
    const Client ann = world.connect("ann");
    EXPECT_TRUE(world.report(ann, 600s));
    EXPECT_EQ(world.look("bob", "ann").status, Status::away);
    EXPECT_FALSE(world.report(ann, Millis::max()));
}

TEST(Idle, AnOlderReportTakesNothingBack) {
    World world;
    const Client ann = world.connect("ann");
    world.report(ann, 0ms);
    world.run(5s);
    EXPECT_FALSE(world.report(ann, 700s));
    EXPECT_EQ(world.look("bob", "ann").status, Status::online);
}

TEST(Idle, OnlyActivityAfterItWasSaidEndsIt) {
    World world;
    const Client ann = world.connect("ann", {.active = true});
    world.run(5s);
    EXPECT_TRUE(world.report(ann, std::nullopt));
    world.run(1s);
    EXPECT_FALSE(world.report(ann, 2s));  // As a heartbeat's idleMs says it.
    EXPECT_EQ(world.look("bob", "ann").status, Status::away);
    world.run(2s);
    EXPECT_TRUE(world.report(ann, 1s));
    EXPECT_EQ(world.look("bob", "ann").status, Status::online);
}

TEST(Idle, SaidWithHelloItIsNotTakenBackByWhatWasBefore) {
    World world;
    const Client ann = world.connect("ann", {.active = false});
    world.run(1s);
    EXPECT_FALSE(world.report(ann, 2s));
    EXPECT_EQ(world.look("bob", "ann").status, Status::away);
    EXPECT_TRUE(world.report(ann, 500ms));
    EXPECT_EQ(world.look("bob", "ann").status, Status::online);
}

TEST(Idle, AResumeKeepsWhenItWasSaid) {
    World world;
    const Client ann = world.connect("ann", {.active = true});
    world.run(5s);
    EXPECT_TRUE(world.report(ann, std::nullopt));
    world.run(5s);
    world.lose(ann);
    world.run(3s);
    const Client back = world.resume(ann);
    ASSERT_TRUE(back->resumed);
    EXPECT_FALSE(world.report(back, 10s));
    EXPECT_EQ(world.look("bob", "ann").status, Status::away);
    EXPECT_TRUE(world.report(back, 4s));  // Between then and the resume.
    EXPECT_EQ(world.look("bob", "ann").status, Status::online);
}

/// The order of activity is that of the activity, not that of the reports.
TEST(Idle, AReportOfOldActivityDoesNotMakeASessionTheMostRecent) {
    testing::WorldOptions options;
    options.config.presence.merge.policy = rules::MergePolicy::most_recent;
    World world(options);
    const Client desk = world.connect("ann");
    const Client phone = world.connect("ann");
    const Client pad = world.connect("ann");
    ASSERT_TRUE(world.declare_on(desk, DeclaredStatus::busy));
    ASSERT_TRUE(world.declare_on(phone, DeclaredStatus::dnd));
    world.run(100s);
    world.report(pad, 0ms);
    world.run(10s);
    world.report(desk, 0ms);
    world.run(100s);
    EXPECT_TRUE(world.report(phone, 105s));  // After the pad, before the desk.
    EXPECT_EQ(world.look("bob", "ann").status, Status::busy);
    EXPECT_FALSE(world.report(phone, 105s));
    world.bye(desk);
    EXPECT_EQ(world.look("bob", "ann").status, Status::dnd);
    EXPECT_TRUE(world.report(pad, 50s));
    EXPECT_EQ(world.look("bob", "ann").status, Status::online);
}

TEST(Idle, AResumeKeepsTheTimeOfTheLastActivity) {
    World world;
    const Client ann = world.connect("ann", {.active = true});
    world.run(300s);
    world.lose(ann);
    world.run(3s);
    const Client back = world.resume(ann);
    ASSERT_TRUE(back->resumed);
    world.run(296s);
    EXPECT_EQ(world.look("bob", "ann").status, Status::online);
    world.run(2s);
    EXPECT_EQ(world.look("bob", "ann").status, Status::away);
}

TEST(Idle, RepeatsWriteNothingAndTellNobody) {
    World world;
    const Client bob = world.connect("bob");
    const Client ann = world.connect("ann");
    ASSERT_TRUE(world.report(ann, 0ms));
    world.watch(bob, {"ann"});
    const UserRecordRef before = world.record("ann");
    for (int i = 0; i < 100; ++i) {
        EXPECT_FALSE(world.report(ann, 0ms));
    }
    EXPECT_EQ(world.record("ann"), before);
    EXPECT_TRUE(world.report(ann, std::nullopt));
    const UserRecordRef idle = world.record("ann");
    EXPECT_FALSE(world.report(ann, std::nullopt));
    EXPECT_EQ(world.record("ann"), idle);
}

TEST(Idle, ReportsInQuickSuccessionOnASlowStoreEndWithTheNewest) {
    World world;
    const Client ann = world.connect("ann", {.active = true});
    world.sessions.faults().set_delay(100ms);
    auto idle =
        testing::start_task(world.service(kAnn).report_activity(ann->session, std::nullopt));
    world.run(10ms);
    auto active = testing::start_task(world.service(kAnn).report_activity(ann->session, 0ms));
    world.run(5s);
    world.sessions.faults().set_delay(0ms);
    EXPECT_EQ(world.look("bob", "ann").status, Status::online);
    EXPECT_TRUE(idle->has_value() && active->has_value());
}

TEST(Idle, ManyReportsDoNotFillTheWheel) {
    World world;
    const Client ann = world.connect("ann", {.active = true});
    world.run(1s);
    for (int i = 0; i < 1000; ++i) {
        world.report(ann, 0ms);
        world.run(50ms);
    }
    EXPECT_LE(world.service(kAnn).wheel_size(), 10U);
}

TEST(Observing, CountsAsNothingUntilItReportsActivity) {
    World world;
    const Client bob = world.connect("bob");
    const Client board = world.connect("ann", {.observe = true});
    world.watch(bob, {"ann"});
    world.run(60s);
    EXPECT_EQ(world.look("bob", "ann").status, Status::offline);
    EXPECT_TRUE(world.told(bob).empty());

    world.report(board, std::nullopt);  // Idle is no sign that somebody is there.
    EXPECT_TRUE(world.told(bob).empty());
    world.report(board, 0ms);
    EXPECT_EQ(statuses(world.told(bob), "ann"), Statuses{Status::online});
}

TEST(Observing, AResumeThatObservesCountsAsNothingUntilItReportsActivity) {
    World world;
    const Client bob = world.connect("bob");
    const Client ann = world.connect("ann", {.active = true});
    world.watch(bob, {"ann"});
    world.run(2s);
    const Client hidden = world.resume(ann, {.observe = true});
    ASSERT_TRUE(hidden->resumed);
    EXPECT_EQ(statuses(world.told(bob), "ann"), Statuses{Status::offline});
    const WallTime left = world.clock.wall_now();
    world.run(2s);
    EXPECT_EQ(world.stored_last_seen("ann"), left);
    world.report(hidden, 0ms);
    EXPECT_EQ(statuses(world.told(bob), "ann"), (Statuses{Status::offline, Status::online}));
}

TEST(Observing, AResumeThatSaysNothingOfItGoesOnAsBefore) {
    World world;
    const Client board = world.connect("ann", {.observe = true});
    const Client still = world.resume(board);
    ASSERT_TRUE(still->resumed);
    EXPECT_EQ(world.look("bob", "ann").status, Status::offline);
    const Client here = world.resume(still, {.observe = false});
    ASSERT_TRUE(here->resumed);
    EXPECT_EQ(world.look("bob", "ann").status, Status::online);
    const Client there = world.resume(here);
    ASSERT_TRUE(there->resumed);
    EXPECT_EQ(world.look("bob", "ann").status, Status::online);
}

TEST(Observing, ItsEndsAreNoEndsOfThePerson) {
    World world;
    const Client bob = world.connect("bob");
    world.watch(bob, {"ann"});
    for (int i = 0; i < 3; ++i) {
        const Client board = world.connect("ann", {.observe = true});
        world.run(2s);
        world.bye(board);
        world.run(2s);
    }
    EXPECT_TRUE(world.told(bob).empty());
    EXPECT_FALSE(world.stored_last_seen("ann"));
    EXPECT_EQ(world.counters().last_seen_written, 0U);
}

}  // namespace
}  // namespace presence
