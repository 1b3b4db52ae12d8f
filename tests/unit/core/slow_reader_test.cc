// Who does not read: told by state and not by event (DESIGN rule 21).

#include "unit/core/world.h"

namespace presence {
namespace {

using testing::Client;
using testing::statuses;
using testing::World;
using Statuses = std::vector<Status>;

const UserId kAnn("ann");

TEST(SlowReader, IsToldOnlyTheNewestOfEachOnceItReadsAgain) {
    World world;
    const Client bob = world.connect("bob");
    const Client ann = world.connect("ann");
    const Client carl = world.connect("carl");
    world.run(2s);
    world.watch(bob, {"ann", "carl", "dora"});
    world.set_takes(bob, false);
    for (int i = 0; i < 50; ++i) {
        (void)world.declare(kAnn, i % 2 ? DeclaredStatus::busy : DeclaredStatus::dnd);
        world.run(2s);
    }
    EXPECT_TRUE(world.told(bob).empty());
    world.set_takes(bob, true);
    ASSERT_EQ(world.told(bob).size(), 1U);
    EXPECT_EQ(world.told(bob)[0].status, Status::busy);
    world.run(60s);
    EXPECT_EQ(world.told(bob).size(), 1U);
    world.bye(carl);
    EXPECT_EQ(world.told(bob).size(), 2U);
    (void)ann;
}

TEST(SlowReader, IsToldNothingTwice) {
    World world;
    const Client bob = world.connect("bob");
    const Client ann = world.connect("ann");
    world.run(2s);
    world.watch(bob, {"ann"});
    for (int i = 0; i < 20; ++i) {
        (void)world.declare(kAnn, i % 2 ? DeclaredStatus::busy : DeclaredStatus::dnd);
        world.set_takes(bob, i % 3 != 0);
        world.run(700ms);
    }
    world.set_takes(bob, true);
    world.set_takes(bob, true);
    world.run(5s);
    for (std::size_t i = 1; i < world.told(bob).size(); ++i) {
        EXPECT_GT(world.told(bob)[i].version, world.told(bob)[i - 1].version);
    }
    EXPECT_EQ(world.told(bob).back().status, world.look("bob", "ann").status);
    (void)ann;
}

TEST(SlowReader, AStoreThatFailsWhileItCatchesUpOnlyDelaysIt) {
    World world;
    const Client bob = world.connect("bob");
    const Client ann = world.connect("ann");
    world.run(2s);
    world.watch(bob, {"ann"});
    world.set_takes(bob, false);
    world.bye(ann);
    world.run(2s);
    world.sessions.set_unavailable(true);
    world.set_takes(bob, true);
    world.run(3s);
    world.sessions.set_unavailable(false);
    world.run(2s);
    EXPECT_EQ(statuses(world.told(bob), "ann"), Statuses{Status::offline});
}

TEST(SlowReader, ANewSnapshotMakesUpForWhatItMissed) {
    World world;
    const Client bob = world.connect("bob");
    const Client ann = world.connect("ann");
    world.run(2s);
    world.watch(bob, {"ann"});
    world.set_takes(bob, false);
    (void)world.declare(kAnn, DeclaredStatus::busy);
    EXPECT_EQ(world.watch(bob, {"ann"})[0].status, Status::busy);
    world.set_takes(bob, true);
    world.run(2s);
    EXPECT_TRUE(world.told(bob).empty());
    (void)ann;
}

// Whoever did not see ann and does not see her now is not told that it was otherwise in between.
TEST(SlowReader, IsToldNothingOfOneWhomItMightHaveSeenMeanwhile) {
    World world;
    const Client bob = world.connect("bob");
    const Client ann = world.connect("ann");
    const auto show_to = [&](Audience audience) {
        world.set_online_rule("ann", audience);
        world.run(2s);
    };
    show_to(Audience::nobody);
    world.watch(bob, {"ann"});
    world.set_takes(bob, false);
    show_to(Audience::everyone);
    (void)world.declare(kAnn, DeclaredStatus::busy);
    show_to(Audience::nobody);
    world.set_takes(bob, true);
    world.run(2s);
    EXPECT_TRUE(world.told(bob).empty());

    world.set_takes(bob, false);
    show_to(Audience::everyone);
    world.set_takes(bob, true);
    world.run(2s);
    EXPECT_EQ(statuses(world.told(bob), "ann"), Statuses{Status::busy});

    world.set_takes(bob, false);
    show_to(Audience::nobody);
    world.set_takes(bob, true);
    world.run(2s);
    EXPECT_EQ(statuses(world.told(bob), "ann"), (Statuses{Status::busy, Status::offline}));
    (void)ann;
}

}  // namespace
}  // namespace presence
