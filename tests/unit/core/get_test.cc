// What `get` gives, and that of users who are watched it counts as told (DESIGN rules 13, 20, 23).

#include "unit/core/world.h"

namespace presence {
namespace {

using testing::Client;
using testing::statuses;
using testing::Told;
using testing::World;
using Statuses = std::vector<Status>;

const UserId kAnn("ann");

/// The answer of `get` over a connection.
std::vector<Told> get(World& world, const Client& viewer, std::vector<UserId> users) {
    Shard& home = world.shard_of(viewer->user);
    const Result<std::vector<Seen>> seen =
        world.wait(home.watches.get(world.watch_request(viewer, std::move(users))));
    PRESENCE_ASSERT(seen.has_value());
    std::vector<Told> snapshot = world.views(home, *seen);
    world.turn();
    return snapshot;
}

/// Bob and Ann are here, and nothing has changed for long.
struct Get : ::testing::Test {
    Get() { world.run(2s); }

    /// Bob watches, was told `busy`, and will be told no more before the window ends.
    void open_a_window() {
        world.watch(bob, {"ann"});
        ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::busy));
        world.run(150ms);
        ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::away));
    }

    World world;
    const Client bob = world.connect("bob");
    const Client ann = world.connect("ann");
};

TEST_F(Get, WhatItGaveInTheMiddleOfAWindowIsCorrectedAfterIt) {
    open_a_window();
    EXPECT_EQ(get(world, bob, {UserId("carl"), kAnn})[1].status, Status::away);
    world.run(100ms);
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::busy));
    EXPECT_EQ(statuses(world.told(bob), "ann"), Statuses{Status::busy});
    world.run(1s);
    // The end of the window equals what it began with, so only who was given the middle hears.
    EXPECT_EQ(statuses(world.told(bob), "ann"), (Statuses{Status::busy, Status::busy}));
    EXPECT_EQ(world.told(bob).back().version, world.look("bob", "ann").version);
}

TEST_F(Get, AskedOftenInTheMiddleOfAWindowKeepsOneWaitAUser) {
    open_a_window();
    EXPECT_EQ(get(world, bob, {kAnn})[0].status, Status::away);
    const std::size_t waits = world.scheduler.pending();
    for (int i = 0; i < 50; ++i) {
        EXPECT_EQ(get(world, bob, {kAnn})[0].status, Status::away);
    }
    EXPECT_EQ(world.scheduler.pending(), waits);
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::busy));
    world.run(2s);
    EXPECT_EQ(statuses(world.told(bob), "ann"), (Statuses{Status::busy, Status::busy}));
}

TEST_F(Get, AskedOftenWhileTheDatabaseIsAwayKeepsOneRetryAConnection) {
    world.disk->profiles.faults().set_unavailable(true);
    world.watch(bob, {"carl", "dora"});
    world.run(100ms);
    const std::size_t waits = world.scheduler.pending();
    for (int i = 0; i < 40; ++i) {
        EXPECT_EQ(get(world, bob, {UserId("carl")})[0].status, Status::unknown);
        world.run(i % 4 == 0 ? 1s : 0s);
    }
    EXPECT_LE(world.scheduler.pending(), waits);
    world.disk->profiles.faults().set_unavailable(false);
    world.run(2s);
    EXPECT_EQ(statuses(world.told(bob), "carl"), Statuses{Status::offline});
    EXPECT_EQ(statuses(world.told(bob), "dora"), Statuses{Status::offline});
}

TEST_F(Get, WhatItGaveIsNotToldAgain) {
    world.watch(bob, {"ann"});
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::busy));
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::away));
    EXPECT_EQ(get(world, bob, {kAnn})[0].status, Status::away);
    world.run(3s);
    EXPECT_EQ(statuses(world.told(bob), "ann"), Statuses{Status::busy});
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::dnd));
    EXPECT_EQ(statuses(world.told(bob), "ann"), (Statuses{Status::busy, Status::dnd}));
}

TEST_F(Get, WatchesNobody) {
    EXPECT_EQ(get(world, bob, {kAnn})[0].status, Status::online);
    EXPECT_EQ(world.shard().watches.watch_count(bob->connection.slot), 0U);
    world.bye(ann);
    EXPECT_TRUE(world.told(bob).empty());
}

}  // namespace
}  // namespace presence
