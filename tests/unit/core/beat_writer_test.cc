// store.write_every_heartbeat: what other systems find, and how often it is written.

#include "unit/core/world.h"

namespace presence {
namespace {

using testing::Client;
using testing::RecordingMirror;
using testing::World;

const UserId kAnn("ann");

testing::WorldOptions mirrored() {
    testing::WorldOptions options;
    options.mirror = true;
    return options;
}

struct BeatWriterTest : ::testing::Test {
    World world{mirrored()};

    RecordingMirror& mirror() { return world.threads[0]->mirror; }
    bool shows(const char* user) { return mirror().shown.contains(user); }
};

TEST_F(BeatWriterTest, WhoAttachesIsShownAndEachBeatIsWritten) {
    const Client ann = world.connect("ann");
    world.run(200ms);
    EXPECT_TRUE(shows("ann"));
    EXPECT_EQ(mirror().beats["ann"], 1);
    world.run(29s + 900ms);  // The first beat is at 30 s.
    const WallTime beat_at = world.clock.wall_now() - 100ms;
    EXPECT_EQ(mirror().beats["ann"], 2);
    EXPECT_EQ(mirror().shown["ann"], beat_at);
    EXPECT_EQ(world.counters().beats_mirrored, 2U);
}

TEST_F(BeatWriterTest, WhoBeatsTooOftenIsWrittenOnceInFiveSecondsAndLastWithTheNewest) {
    const Client ann = world.connect("ann");
    World::fall_silent(ann);
    for (int i = 0; i < 101; ++i) {
        world.service(kAnn).heartbeat(ann->session, world.clock.now());
        world.run(100ms);
    }
    EXPECT_LE(mirror().beats["ann"], 3);
    const WallTime last = world.clock.wall_now() - 100ms;
    world.run(5s + 200ms);
    EXPECT_EQ(mirror().shown["ann"], last);
    EXPECT_LE(mirror().beats["ann"], 4);
    world.run(6s);
    EXPECT_EQ(world.shard().beats->size(), 0U);
}

TEST_F(BeatWriterTest, AGoodbyeTakesOutAtOnceButNotWhileAnotherDeviceLives) {
    const Client phone = world.connect("ann");
    const Client laptop = world.connect("ann");
    world.run(1s);
    world.bye(phone);
    world.run(1s);
    EXPECT_TRUE(shows("ann"));
    world.bye(laptop);
    world.run(200ms);
    EXPECT_FALSE(shows("ann"));
    EXPECT_EQ(world.counters().ends_mirrored, 1U);
}

TEST_F(BeatWriterTest, SilenceAndTheEndOfAGraceTakeOut) {
    const Client ann = world.connect("ann");
    const Client bob = world.connect("bob");
    world.run(1s);
    World::fall_silent(ann);
    world.lose(bob);
    world.run(world.config.heartbeat.grace - 100ms);
    EXPECT_TRUE(shows("bob"));
    world.run(500ms);
    EXPECT_FALSE(shows("bob"));
    EXPECT_TRUE(shows("ann"));
    world.run(world.config.heartbeat.ttl - world.config.heartbeat.grace);
    EXPECT_FALSE(shows("ann"));
}

TEST_F(BeatWriterTest, OneWhoIsInvisibleIsAsOneWhoIsOffline) {
    const Client ann = world.connect("ann");
    world.run(1s);
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::invisible));
    world.run(200ms);
    EXPECT_FALSE(shows("ann"));
    world.run(90s);
    EXPECT_FALSE(shows("ann"));
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::automatic));
    world.run(200ms);
    EXPECT_TRUE(shows("ann"));
}

TEST_F(BeatWriterTest, OneWhoOnlyObservesIsNotShown) {
    world.connect("ann", {.observe = true});
    world.run(61s);
    EXPECT_FALSE(shows("ann"));
}

TEST_F(BeatWriterTest, OverTheLimitASignIsNotWrittenAndCounted) {
    testing::WorldOptions few = mirrored();
    few.limits.beat_mirror = 1;
    World small(few);
    small.connect("ann");
    const Client bob = small.connect("bob");
    small.run(200ms);
    EXPECT_EQ(small.threads[0]->mirror.shown.size(), 1U);
    EXPECT_EQ(small.counters().beats_not_mirrored, 1U);
    EXPECT_FALSE(small.threads[0]->mirror.shown.contains("bob"));
    small.run(10s);  // Until there is room.
    small.service(UserId("bob")).heartbeat(bob->session, small.clock.now());
    small.run(200ms);
    EXPECT_EQ(small.threads[0]->mirror.shown.size(), 2U);
}

TEST_F(BeatWriterTest, WhatCannotBeWrittenIsCountedAndTheNextBeatIsWritten) {
    mirror().fails = true;
    world.connect("ann");
    world.run(1s);
    EXPECT_EQ(world.counters().beats_not_mirrored, 1U);
    EXPECT_EQ(world.counters().beats_mirrored, 0U);
    mirror().fails = false;
    world.run(30s);
    EXPECT_TRUE(shows("ann"));
}

TEST_F(BeatWriterTest, ManyWhoBeatTogetherAreWrittenInOneGo) {
    for (int i = 0; i < 50; ++i) {
        world.connect(UserId("user " + std::to_string(i)));
    }
    const int before = mirror().writes;
    world.run(200ms);
    EXPECT_EQ(mirror().writes, before + 1);
    EXPECT_EQ(mirror().shown.size(), 50U);
}

TEST(BeatWriter, IsNotThereUnlessAsked) {
    World world;
    world.connect("ann");
    world.run(61s);
    EXPECT_EQ(world.shard().beats, nullptr);
    EXPECT_EQ(world.threads[0]->mirror.writes, 0);
}

}  // namespace
}  // namespace presence
