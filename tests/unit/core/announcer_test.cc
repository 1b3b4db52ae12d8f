// The anti-flap window and what is published (DESIGN rules 12 to 15; RULINGS 3, 11).

#include "unit/core/world.h"

namespace presence {
namespace {

using testing::Client;
using testing::statuses;
using testing::World;
using Statuses = std::vector<Status>;

const UserId kAnn("ann");

struct AnnouncerTest : ::testing::Test {
    World world;
    Client bob = world.connect("bob");
    Client ann = world.connect("ann");

    void SetUp() override {
        world.run(5s);
        world.watch(bob, {"ann"});
    }
    Statuses of_ann() { return statuses(world.told(bob), "ann"); }
};

TEST_F(AnnouncerTest, TheFirstChangeOfAQuietPersonGoesOutAtOnce) {
    const MonoTime now = world.clock.now();
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::away));
    ASSERT_EQ(world.told(bob).size(), 1U);
    EXPECT_EQ(world.told(bob)[0].at, now);
}

TEST_F(AnnouncerTest, FurtherOnesWithinASecondAreOneWithTheNewestStateAndItsVersion) {
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::away));
    world.run(100ms);
    for (const DeclaredStatus status :
         {DeclaredStatus::busy, DeclaredStatus::online, DeclaredStatus::dnd}) {
        ASSERT_TRUE(world.declare(kAnn, status));
    }
    EXPECT_EQ(of_ann(), Statuses{Status::away});
    world.run(899ms);
    EXPECT_EQ(of_ann(), Statuses{Status::away});
    world.run(100ms);
    EXPECT_EQ(of_ann(), (Statuses{Status::away, Status::dnd}));
    EXPECT_EQ(world.told(bob)[1].version, world.look("bob", "ann").version);
    EXPECT_EQ(world.told(bob)[1].version.value, world.told(bob)[0].version.value + 3);
}

TEST_F(AnnouncerTest, WhatEndsWhereItBeganIsToldToNobody) {
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::away));
    world.run(100ms);
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::busy));
    world.run(100ms);
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::away));
    world.run(5s);
    EXPECT_EQ(of_ann(), Statuses{Status::away});
    EXPECT_EQ(world.counters().swallowed, 2U);  // The public face and the own one.
}

TEST_F(AnnouncerTest, WhoBeginsToWatchInTheMiddleOfASwallowedChangeEndsWithTheTruth) {
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::away));
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::busy));
    const Client carl = world.connect("carl");
    EXPECT_EQ(world.watch(carl, {"ann"})[0].status, Status::busy);
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::away));
    world.run(2s);
    ASSERT_FALSE(world.told(carl).empty());
    EXPECT_EQ(world.told(carl).back().status, Status::away);
    EXPECT_EQ(of_ann(), Statuses{Status::away});
}

TEST_F(AnnouncerTest, WhoCatchesUpInTheMiddleOfASwallowedChangeEndsWithTheTruth) {
    world.set_takes(bob, false);
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::away));
    world.run(100ms);
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::busy));
    world.set_takes(bob, true);
    EXPECT_EQ(of_ann(), Statuses{Status::busy});
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::away));
    world.run(2s);
    EXPECT_EQ(of_ann(), (Statuses{Status::busy, Status::away}));
}

TEST_F(AnnouncerTest, WhoGainsSightInTheMiddleOfASwallowedChangeEndsWithTheTruth) {
    world.change_blocks("ann", "bob", true);
    world.run(1s);
    world.told(bob).clear();
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::away));
    world.run(100ms);
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::busy));
    world.change_blocks("ann", "bob", false);
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::away));
    world.run(3s);
    ASSERT_FALSE(world.told(bob).empty());
    EXPECT_EQ(world.told(bob).back().status, Status::away);
    EXPECT_EQ(world.told(bob).back().version, world.look("bob", "ann").version);
}

TEST_F(AnnouncerTest, WhoWatchesThroughOneSwallowedChangeAfterTheOtherEndsWithTheTruth) {
    // At 1.0 s busy is announced; the look that makes up for the first window falls into the
    // second, and what it finds is taken back there.
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::away));
    world.run(200ms);
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::busy));
    const Client carl = world.connect("carl");
    world.watch(carl, {"ann"});
    world.run(860ms);
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::away));
    world.run(500ms);
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::busy));
    world.run(5s);
    const Status last = world.told(carl).empty() ? Status::busy : world.told(carl).back().status;
    EXPECT_EQ(last, Status::busy);
    EXPECT_EQ(of_ann(), (Statuses{Status::away, Status::busy}));
}

TEST_F(AnnouncerTest, ThePublicAndTheOwnWindowAreKeptApart) {
    const Client mine = world.connect("ann");
    world.run(2s);
    world.watch(mine, {"ann"});
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::invisible));
    world.run(2s);
    const Version shown = world.look("bob", "ann").version;
    // Own changes only, in quick succession; then one that others see.
    ASSERT_TRUE(world.say(kAnn, "one"));
    ASSERT_TRUE(world.say(kAnn, "two"));
    EXPECT_EQ(world.look("bob", "ann").version, shown);
    const MonoTime now = world.clock.now();
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::online));
    ASSERT_EQ(of_ann(), (Statuses{Status::offline, Status::online}));
    EXPECT_EQ(world.told(bob)[1].at, now);  // Not held back by what only the owner saw.
    world.run(2s);
    EXPECT_EQ(world.told(mine).back().text, "two");
}

TEST_F(AnnouncerTest, AnOwnChangeThatEndsWhereItBeganIsToldToNobody) {
    const Client mine = world.connect("ann");
    world.run(2s);
    world.watch(mine, {"ann"});
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::busy));
    world.run(100ms);
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::dnd));
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::busy));
    world.run(3s);
    EXPECT_EQ(statuses(world.told(mine), "ann"), Statuses{Status::busy});
}

TEST_F(AnnouncerTest, WithoutAChangeThatSomebodyCouldSeeNothingIsPublishedAndNoVersionGrows) {
    const Version before = world.look("bob", "ann").version;
    const std::size_t events = world.gateway(kAnn).events.size();
    world.run(300s);
    (void)world.connect("ann");
    world.report(ann, 0ms);
    world.lose(ann);
    world.run(60s);
    EXPECT_EQ(world.gateway(kAnn).events.size(), events);
    EXPECT_EQ(world.look("bob", "ann").version, before);
}

TEST(Flapping, FO009FiftyConnectsInOneSecondEndingOpenAreOneOnline) {
    World world;
    const Client bob = world.connect("bob");
    world.watch(bob, {"ann"});
    for (int i = 0; i < 50; ++i) {
        const Client ann = world.connect("ann");
        if (i < 49) {
            world.lose(ann, true);
        }
        world.run(20ms);
    }
    world.run(60s);
    EXPECT_EQ(statuses(world.told(bob), "ann"), Statuses{Status::online});
}

TEST(Flapping, FO009FiftyConnectsInOneSecondEndingClosedAreOneOnlineAndOneOffline) {
    World world;
    const Client bob = world.connect("bob");
    world.watch(bob, {"ann"});
    for (int i = 0; i < 50; ++i) {
        world.lose(world.connect("ann"), true);
        world.run(20ms);
    }
    const MonoTime last = world.clock.now() - 20ms;
    world.run(60s);
    ASSERT_EQ(statuses(world.told(bob), "ann"), (Statuses{Status::online, Status::offline}));
    EXPECT_GT(world.told(bob)[1].version, world.told(bob)[0].version);
    EXPECT_GE(world.told(bob)[1].at - last, 10s);
    EXPECT_LE(world.told(bob)[1].at - last, 10s + 500ms);
}

TEST(Flapping, GoodbyeAndReturnWithinASecondAreTwoNewsAtMost) {
    World world;
    const Client bob = world.connect("bob");
    Client ann = world.connect("ann");
    world.run(5s);
    world.watch(bob, {"ann"});
    for (int i = 0; i < 20; ++i) {
        world.bye(ann);
        world.run(10ms);
        ann = world.connect("ann");
        world.run(10ms);
    }
    world.run(3s);
    EXPECT_EQ(statuses(world.told(bob), "ann"), (Statuses{Status::offline, Status::online}));
}

TEST(Versions, GrowAtEveryChangeAndStayBelowTheLimit) {
    World world;
    const Client ann = world.connect("ann");
    Version last = world.look("bob", "ann").version;
    for (int i = 0; i < 100; ++i) {
        (void)world.declare(kAnn, i % 2 ? DeclaredStatus::busy : DeclaredStatus::away);
        const Version next = world.look("bob", "ann").version;
        EXPECT_GT(next, last);
        EXPECT_LT(next.value, std::uint64_t{1} << 53);
        last = next;
        world.run(100ms);
    }
    (void)ann;
}

TEST(Versions, GrowAlsoAfterARestartThatLostEverythingButTheJournal) {
    auto disk = std::make_shared<testing::Disk>();
    Version last;
    for (int life = 0; life < 5; ++life) {
        testing::WorldOptions options;
        options.disk = disk;
        World world(options);
        const Client ann = world.connect("ann");
        for (int i = 0; i < 20; ++i) {
            (void)world.declare(kAnn, i % 2 ? DeclaredStatus::busy : DeclaredStatus::away);
            world.run(300ms);
            const Version next = world.look("bob", "ann").version;
            EXPECT_GT(next, last);
            last = next;
        }
        (void)ann;
    }
}

}  // namespace
}  // namespace presence
