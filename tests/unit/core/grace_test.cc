// Ends: grace, return, goodbye, several devices (DESIGN rules 4, 9 to 13).

#include "unit/core/world.h"

#include <algorithm>

namespace presence {
namespace {

using testing::Client;
using testing::statuses;
using testing::World;
using Statuses = std::vector<Status>;

const UserId kAnn("ann");

TEST(Grace, ALostConnectionIsAnnouncedAfterTheGraceAndNotBefore) {
    World world;
    const Client bob = world.connect("bob");
    const Client ann = world.connect("ann");
    world.watch(bob, {"ann"});
    world.run(20s);
    world.lose(ann);
    const MonoTime lost_at = world.clock.now();
    world.run_to(lost_at + 10s - 1ms);
    EXPECT_TRUE(world.told(bob).empty());
    EXPECT_EQ(world.look("bob", "ann").status, Status::online);
    world.run_to(lost_at + 10s + 100ms);
    EXPECT_EQ(statuses(world.told(bob), "ann"), Statuses{Status::offline});
    EXPECT_EQ(world.counters().grace_ends, 1U);
}

TEST(Grace, FO023AReturnWithinItIsToldToNobodyAndALateOneAsAPair) {
    World world;
    const Client bob = world.connect("bob");
    const Client ann = world.connect("ann");
    world.watch(bob, {"ann"});
    world.run(20s);
    world.lose(ann);
    world.run(9s);
    Client back = world.resume(ann);
    world.run(60s);
    EXPECT_TRUE(world.told(bob).empty());

    world.lose(back);
    world.run(20s);
    (void)world.resume(back);
    world.run(1s);
    ASSERT_EQ(statuses(world.told(bob), "ann"), (Statuses{Status::offline, Status::online}));
    EXPECT_GT(world.told(bob)[1].version, world.told(bob)[0].version);
}

TEST(Grace, FO023AReturnOnAnotherSessionWithinItIsToldToNobody) {
    World world;
    const Client bob = world.connect("bob");
    const Client ann = world.connect("ann");
    world.watch(bob, {"ann"});
    world.run(20s);
    world.lose(ann);
    world.run(5s);
    (void)world.connect("ann");
    world.run(60s);
    EXPECT_TRUE(world.told(bob).empty());
    EXPECT_EQ(world.record("ann")->sessions.size(), 1U);
}

TEST(Grace, GoodbyeEndsAtOnce) {
    World world;
    const Client bob = world.connect("bob");
    const Client ann = world.connect("ann");
    world.watch(bob, {"ann"});
    world.run(20s);
    world.bye(ann);
    EXPECT_EQ(statuses(world.told(bob), "ann"), Statuses{Status::offline});
    EXPECT_FALSE(world.resume(ann)->resumed);
}

TEST(Grace, GoodbyeOfASessionInGraceWhoseNameIsLateChangesNothing) {
    World world;
    const Client ann = world.connect("ann");
    world.bye(ann);
    const UserRecordRef before = world.record("ann");
    world.wait(world.service(kAnn).end(ann->session, Cause::goodbye));
    EXPECT_EQ(world.record("ann"), before);
}

TEST(Grace, OfNoLengthEndsWithTheConnection) {
    testing::WorldOptions options;
    options.config.heartbeat.grace = 0ms;
    World world(options);
    const Client bob = world.connect("bob");
    const Client ann = world.connect("ann");
    world.watch(bob, {"ann"});
    world.run(20s);
    world.lose(ann);
    world.run(100ms);
    EXPECT_EQ(statuses(world.told(bob), "ann"), Statuses{Status::offline});
}

TEST(Grace, AStoreThatFailsAtTheCloseOnlyDelaysTheEnd) {
    World world;
    const Client ann = world.connect("ann");
    world.run(20s);
    world.sessions.set_unavailable(true);
    world.lose(ann, true);
    const WallTime closed_at = world.clock.wall_now();
    world.run(15s);
    world.sessions.set_unavailable(false);
    world.run(4s);
    EXPECT_EQ(world.look("bob", "ann").status, Status::offline);
    EXPECT_EQ(world.stored_last_seen("ann"), closed_at);
}

TEST(Devices, FO011ClosingTabsInAnyOrderAndMannerIsOneOnlineAndOneOffline) {
    std::vector<int> order{0, 1, 2};
    do {
        for (int manner = 0; manner < 8; ++manner) {
            World world;
            const Client bob = world.connect("bob");
            world.watch(bob, {"ann"});
            std::vector<Client> tabs;
            for (int i = 0; i < 3; ++i) {
                tabs.push_back(world.connect("ann"));
                world.run(2s);
            }
            for (const int tab : order) {
                const Client& one = tabs[static_cast<std::size_t>(tab)];
                if ((manner >> tab) & 1) {
                    World::fall_silent(one);
                } else {
                    world.lose(one);
                }
                world.run(1s);
                EXPECT_EQ(world.look("bob", "ann").status, Status::online);
            }
            world.run(105s);
            EXPECT_EQ(statuses(world.told(bob), "ann"), (Statuses{Status::online, Status::offline}))
                << "manner " << manner;
            EXPECT_EQ(world.look("bob", "ann").status, Status::offline);
        }
    } while (std::ranges::next_permutation(order).found);
}

TEST(Devices, FO011LoggingOutOfOneOfTwoIsToldToNobody) {
    World world;
    const Client bob = world.connect("bob");
    const Client first = world.connect("ann", {.kind = DeviceKind::web});
    (void)world.connect("ann", {.kind = DeviceKind::web});
    world.run(2s);
    world.watch(bob, {"ann"});
    world.bye(first);
    world.run(60s);
    EXPECT_TRUE(world.told(bob).empty());
}

TEST(Devices, AnotherKindOfDeviceIsToldAndItsGoingToo) {
    World world;
    const Client bob = world.connect("bob");
    (void)world.connect("ann", {.kind = DeviceKind::web});
    world.watch(bob, {"ann"});
    world.run(2s);
    const Client phone = world.connect("ann", {.kind = DeviceKind::mobile});
    world.run(2s);
    world.bye(phone);
    world.run(2s);
    ASSERT_EQ(world.told(bob).size(), 2U);
    EXPECT_TRUE(world.told(bob)[0].devices->contains(DeviceKind::mobile));
    EXPECT_FALSE(world.told(bob)[1].devices->contains(DeviceKind::mobile));
}

TEST(Devices, WhereDevicesAreNotShownTheirComingAndGoingIsNoChange) {
    testing::WorldOptions options;
    options.config.presence.merge.show_devices = false;
    World world(options);
    const Client bob = world.connect("bob");
    (void)world.connect("ann", {.kind = DeviceKind::web});
    world.watch(bob, {"ann"});
    const Version before = world.look("bob", "ann").version;
    world.run(2s);
    world.bye(world.connect("ann", {.kind = DeviceKind::mobile}));
    world.run(2s);
    EXPECT_TRUE(world.told(bob).empty());
    EXPECT_EQ(world.look("bob", "ann").version, before);
}

TEST(Devices, FO013AShortVisitOnASecondDeviceEndsInAwayAgain) {
    World world;
    const Client bob = world.connect("bob");
    const Client idle = world.connect("ann", {.active = false});
    world.run(20s);
    world.watch(bob, {"ann"});
    const Client visit = world.connect("ann", {.active = true});
    world.run(3s);
    world.lose(visit, true);
    const MonoTime closed_at = world.clock.now();
    world.run(30s);
    ASSERT_EQ(statuses(world.told(bob), "ann"), (Statuses{Status::online, Status::away}));
    EXPECT_LE(world.told(bob)[1].at - closed_at, 10s + 500ms);
    (void)idle;
}

TEST(Devices, FO014TwoThatDisagreeArePublishedOnceAndWrittenNoMore) {
    World world;
    const Client bob = world.connect("bob");
    world.watch(bob, {"ann"});
    const Client first = world.connect("ann");
    const Client second = world.connect("ann");
    world.watch(first, {"ann"});
    world.watch(second, {"ann"});
    world.report(second, 0ms);
    world.report(first, std::nullopt);
    world.run(5s);
    const UserRecordRef before = world.record("ann");
    const std::size_t events = world.gateway(kAnn).events.size();
    world.told(first).clear();
    world.told(second).clear();
    for (int i = 0; i < 300; ++i) {
        world.report(first, std::nullopt);
        world.run(500ms);
        world.report(second, 0ms);
        world.run(500ms);
    }
    EXPECT_EQ(world.record("ann"), before);
    EXPECT_EQ(world.gateway(kAnn).events.size(), events);
    EXPECT_EQ(statuses(world.told(bob), "ann"), Statuses{Status::online});
    EXPECT_TRUE(world.told(first).empty());
    EXPECT_TRUE(world.told(second).empty());
}

TEST(Devices, FO043EndsThatComeTwiceCountOnce) {
    World world;
    const Client ann = world.connect("ann");
    world.sessions.faults().set_delay(20ms);
    auto lost = testing::start_task(world.service(kAnn).connection_lost(ann->session, true));
    auto bye = testing::start_task(world.service(kAnn).end(ann->session, Cause::goodbye));
    auto again = testing::start_task(world.service(kAnn).end(ann->session, Cause::goodbye));
    auto kick = testing::start_task(world.service(kAnn).kick(kAnn, ann->id));
    world.run(20s);
    EXPECT_TRUE(lost->has_value() && bye->has_value() && again->has_value() && kick->has_value());
    EXPECT_EQ(world.service(kAnn).session_count(), 0U);
    EXPECT_TRUE(world.record("ann")->sessions.empty());
}

TEST(Ends, NothingIsLeftInTheMapsWhenEverybodyHasGone) {
    World world;
    const Client bob = world.connect("bob");
    for (int i = 0; i < 40; ++i) {
        const Client one = world.connect(UserId("user" + std::to_string(i)), {.active = true});
        world.watch(bob, {std::string(one->user.text).c_str(), "bob", "nobody"});
        world.run(300ms);
        world.report(one, std::nullopt);
        world.say(one->user, "hello", world.clock.wall_now() + 60s);
        i % 3 == 0 ? world.bye(one) : i % 3 == 1 ? world.lose(one) : World::fall_silent(one);
    }
    world.bye(bob);
    world.run(400s);
    EXPECT_EQ(world.service(kAnn).user_count(), 0U);
    EXPECT_EQ(world.service(kAnn).session_count(), 0U);
    EXPECT_EQ(world.service(kAnn).wheel_size(), 0U);
    EXPECT_EQ(world.shard().watches.index().edge_count(), 0U);
    EXPECT_EQ(world.shard().watches.index().subject_count(), 0U);
    EXPECT_EQ(world.bus.subscribed_users(0), 0U);
    EXPECT_EQ(world.shard().last_seen.queued(), 0U);
    EXPECT_EQ(world.journal_writer.queued(), 0U);
    EXPECT_TRUE(world.disk->journal.open.empty());
}

TEST(Ends, AStatusThatEndsInAMonthDoesNotFillTheWheelWithEachChange) {
    World world;
    const Client ann = world.connect("ann");
    ASSERT_TRUE(world.say(kAnn, "on leave", world.clock.wall_now() + 720h));
    for (int i = 0; i < 1000; ++i) {
        world.report(ann, std::nullopt);
        world.run(1500ms);
        world.report(ann, 0ms);
        world.run(1500ms);
    }
    // What stands for nothing any more goes when the wheel has turned round, in 205 s.
    EXPECT_LE(world.service(kAnn).wheel_size(), 205U);
}

}  // namespace
}  // namespace presence
