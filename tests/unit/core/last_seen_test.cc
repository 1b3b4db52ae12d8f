// Last seen: what is written, when, and how often (DESIGN rules 16 to 18).

#include "unit/core/world.h"

namespace presence {
namespace {

using testing::Client;
using testing::World;

const UserId kAnn("ann");

struct LastSeenTest : ::testing::Test {
    World world;

    WallTime now() { return world.clock.wall_now(); }
    std::optional<WallTime> stored() { return world.stored_last_seen("ann"); }
    std::uint64_t written() { return world.counters().last_seen_written; }
};

TEST_F(LastSeenTest, FO016AfterASilentDeathItIsTheLastHeartbeat) {
    const Client ann = world.connect("ann");
    world.run(34min + 30s);
    World::fall_silent(ann);
    world.service(kAnn).heartbeat(ann->session, world.clock.now());
    const WallTime last_beat = now();
    world.run(99s);
    EXPECT_FALSE(stored());
    world.run(3s);
    EXPECT_EQ(stored(), last_beat);
    EXPECT_EQ(written(), 1U);
}

TEST_F(LastSeenTest, FO016AfterACleanCloseItIsTheClose) {
    const Client ann = world.connect("ann");
    world.run(34min + 45s);
    const WallTime closed_at = now();
    world.lose(ann, true);
    world.run(10s + 2s);
    EXPECT_EQ(stored(), closed_at);
    EXPECT_EQ(written(), 1U);
}

TEST_F(LastSeenTest, FO016AfterAResetItIsTheLastHeartbeatBeforeIt) {
    const Client ann = world.connect("ann");
    world.run(60s);  // The last beat is at 60 s.
    const WallTime last_beat = now();
    world.run(20s);
    world.lose(ann, false);
    world.run(12s);
    EXPECT_EQ(stored(), last_beat);
}

TEST_F(LastSeenTest, FO016AfterAGoodbyeItIsTheGoodbye) {
    const Client ann = world.connect("ann");
    world.run(45s);
    const WallTime said_at = now();
    world.bye(ann);
    world.run(2s);
    EXPECT_EQ(stored(), said_at);
}

TEST_F(LastSeenTest, FO016ACloseAndReturnWithinTheGraceWritesNothing) {
    const Client ann = world.connect("ann");
    world.run(45s);
    world.lose(ann, true);
    world.run(5s);
    (void)world.resume(ann);
    world.run(10min);
    EXPECT_FALSE(stored());
    EXPECT_EQ(written(), 0U);
}

TEST_F(LastSeenTest, IsTheNewestSignOverAllDevicesWhicheverOfThemEndsLast) {
    const Client phone = world.connect("ann");
    World::fall_silent(phone);  // Its only sign of life is at 0 s; it is over at 100 s.
    const Client laptop = world.connect("ann");
    world.run(45s);
    const WallTime said_at = now();
    world.bye(laptop);
    world.run(60s);
    EXPECT_EQ(stored(), said_at);
    EXPECT_EQ(written(), 1U);
}

TEST_F(LastSeenTest, IsNotMovedByOneWhoWasLastSeenLaterInAnEarlierPresence) {
    world.bye(world.connect("ann"));
    world.run(10s);
    const Client silent = world.connect("ann");
    World::fall_silent(silent);
    const WallTime only_beat = now();
    world.run(103s);
    EXPECT_EQ(stored(), only_beat);
}

TEST_F(LastSeenTest, ADeviceThatOnlyObservesIsNoSignOfLife) {
    const Client board = world.connect("ann", {.observe = true});
    const Client ann = world.connect("ann");
    world.run(30s);
    const WallTime said_at = now();
    world.bye(ann);
    world.run(30s);
    world.bye(board);
    world.run(5s);
    EXPECT_EQ(stored(), said_at);
}

TEST_F(LastSeenTest, AStatusSetByABackEndIsNoSignOfLife) {
    const Client ann = world.connect("ann");
    World::fall_silent(ann);
    const WallTime only_beat = now();
    world.run(90s);
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::busy));
    world.run(15s);
    EXPECT_EQ(stored(), only_beat);
}

TEST_F(LastSeenTest, IsTheMomentOfGoingInvisibleAndStaysThere) {
    const Client ann = world.connect("ann");
    world.run(45s);
    const WallTime hid_at = now();
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::invisible));
    world.run(5min);
    EXPECT_EQ(stored(), hid_at);
    world.bye(ann);
    world.run(5s);
    EXPECT_EQ(stored(), hid_at);
}

TEST_F(LastSeenTest, StaysWhereItWasForOneWhoCameInInvisible) {
    world.bye(world.connect("ann"));
    const WallTime said_at = now();
    world.run(60s);
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::invisible));
    const Client ann = world.connect("ann");
    const Client phone = world.connect("ann");
    world.run(60s);
    world.bye(phone);
    world.run(60s);
    world.bye(ann);
    world.run(5s);
    EXPECT_EQ(stored(), said_at);
}

TEST_F(LastSeenTest, OfOneWhoBecameVisibleAgainIsTheEndOfThat) {
    const Client ann = world.connect("ann");
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::invisible));
    world.run(60s);
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::automatic));
    world.run(60s);
    const WallTime said_at = now();
    world.bye(ann);
    world.run(2s);
    EXPECT_EQ(stored(), said_at);
}

TEST_F(LastSeenTest, NeverLiesBeyondNowAndNeverGoesBackwards) {
    const Client ann = world.connect("ann");
    world.run(60s);
    world.bye(ann);
    const WallTime first = now();
    world.run(2s);
    ASSERT_EQ(stored(), first);
    world.clock.step_wall(-300s);
    const Client again = world.connect("ann");
    world.run(10s);
    world.bye(again);
    world.run(2s);
    EXPECT_EQ(stored(), first);
    // It is shown as now, not as a time to come.
    const auto seen = world.look_as_back_end("ann");
    ASSERT_TRUE(seen.last_seen && seen.last_seen->at);
    EXPECT_LE(*seen.last_seen->at, now());
}

TEST_F(LastSeenTest, AClockSetBackDuringASilenceDoesNotPutItBeyondNow) {
    const Client ann = world.connect("ann");
    World::fall_silent(ann);
    world.run(50s);
    world.clock.step_wall(-300s);
    world.run(55s);
    ASSERT_TRUE(stored());
    EXPECT_LE(*stored(), now());
}

TEST_F(LastSeenTest, IsNotShownWhileOnlineAndIsAfterwards) {
    world.bye(world.connect("ann"));
    world.run(10s);
    const Client ann = world.connect("ann");
    EXPECT_FALSE(world.look_as_back_end("ann").last_seen);
    world.run(10s);
    world.bye(ann);
    EXPECT_TRUE(world.look_as_back_end("ann").last_seen);
}

TEST_F(LastSeenTest, FO020OneWhoNeverCameHasNone) {
    EXPECT_FALSE(world.look_as_back_end("ann").last_seen);
    EXPECT_FALSE(stored());
}

TEST_F(LastSeenTest, FO020OneWhoWasOnlyEverIdleHasTheEndOfThatSession) {
    const Client ann = world.connect("ann", {.active = false});
    world.run(45s);
    const WallTime said_at = now();
    world.bye(ann);
    world.run(2s);
    EXPECT_EQ(stored(), said_at);
}

TEST_F(LastSeenTest, ManyEndsAreWrittenInOneStatementASecond) {
    std::vector<Client> people;
    for (int i = 0; i < 200; ++i) {
        people.push_back(world.connect(UserId("user" + std::to_string(i))));
    }
    world.run(10s);
    for (const Client& one : people) {
        world.bye(one);
    }
    EXPECT_EQ(written(), 0U);
    EXPECT_EQ(world.shard().last_seen.queued(), 200U);
    world.run(1100ms);
    EXPECT_EQ(written(), 200U);
    EXPECT_EQ(world.shard().last_seen.queued(), 0U);
}

TEST_F(LastSeenTest, ADatabaseThatIsAwayLosesNothing) {
    world.disk->profiles.set_unavailable(false);
    std::vector<Client> people;
    for (int i = 0; i < 20; ++i) {
        people.push_back(world.connect(UserId("user" + std::to_string(i))));
    }
    world.run(10s);
    world.disk->profiles.set_unavailable(true);
    for (const Client& one : people) {
        world.bye(one);
    }
    const WallTime said_at = now();
    world.run(1h);
    EXPECT_EQ(world.shard().last_seen.queued(), 20U);
    EXPECT_EQ(written(), 0U);
    EXPECT_GT(world.counters().last_seen_failures, 1000U);  // About once a second.
    EXPECT_LT(world.counters().last_seen_failures, 4000U);
    world.disk->profiles.set_unavailable(false);
    world.run(2s);
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(world.stored_last_seen(("user" + std::to_string(i)).c_str()), said_at);
    }
}

TEST_F(LastSeenTest, ASlowDatabaseIsNotAskedAgainBeforeItHasAnswered) {
    world.disk->profiles.faults().set_delay(5s);
    world.limits.attach_timeout = 20s;
    const Client ann = world.connect("ann");
    const Client bob = world.connect("bob");
    world.bye(ann);
    world.run(2s);
    world.bye(bob);
    world.run(15s);
    EXPECT_EQ(written(), 2U);
    EXPECT_EQ(world.shard().last_seen.queued(), 0U);
}

struct WriterTest : ::testing::Test {
    testing::VirtualClock clock;
    testing::VirtualScheduler scheduler{clock};
    MemoryProfiles profiles;
    MemoryProfileStore store{profiles, &scheduler};
    Limits limits;
    CoreCounters counters;

    static LastSeenRow row(const char* user, std::int64_t at, std::uint64_t version) {
        return {UserId(user), WallTime::from_ms(at), Version{version}, Version{version},
                WallTime::from_ms(at)};
    }
};

TEST_F(WriterTest, BeyondItsLimitRowsAreCountedAsLostAndNeverHeld) {
    limits.last_seen_queue = 3;
    LastSeenWriter writer(scheduler, store, limits, counters);
    profiles.set_unavailable(true);
    for (const char* user : {"a", "b", "c", "d"}) {
        writer.note(row(user, 1000, 1));
    }
    writer.note(row("a", 2000, 2));  // The place is there already.
    EXPECT_EQ(writer.queued(), 3U);
    EXPECT_EQ(counters.last_seen_lost, 1U);
}

TEST_F(WriterTest, OfTwoRowsOfOnePersonTheGreaterOfEachIsKept) {
    LastSeenWriter writer(scheduler, store, limits, counters);
    writer.note(row("a", 2000, 7));
    writer.note(row("a", 1000, 9));
    scheduler.advance(1s);
    std::vector<UserId> one{UserId("a")};
    const auto loaded = testing::run_until_complete(scheduler, store.load(std::move(one)));
    EXPECT_EQ((*loaded)[0]->last_seen, WallTime::from_ms(2000));
    EXPECT_EQ((*loaded)[0]->own_version, Version{9});
}

TEST_F(WriterTest, WhatComesWhileAWriteFailsIsWrittenWithTheNext) {
    profiles.faults().set_delay(500ms);
    LastSeenWriter writer(scheduler, store, limits, counters);
    writer.note(row("a", 1000, 1));
    scheduler.advance(1200ms);
    profiles.set_unavailable(true);
    writer.note(row("a", 3000, 3));
    writer.note(row("b", 3000, 3));
    scheduler.advance(400ms);
    EXPECT_EQ(writer.queued(), 2U);
    profiles.set_unavailable(false);
    scheduler.advance(5s);
    EXPECT_EQ(writer.queued(), 0U);
    std::vector<UserId> both{UserId("a"), UserId("b")};
    const auto loaded = testing::run_until_complete(scheduler, store.load(std::move(both)));
    EXPECT_EQ((*loaded)[0]->last_seen, WallTime::from_ms(3000));
    EXPECT_EQ((*loaded)[1]->last_seen, WallTime::from_ms(3000));
}

}  // namespace
}  // namespace presence
