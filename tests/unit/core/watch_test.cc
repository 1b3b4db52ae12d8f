// Watching: watch before read, snapshots, sets, limits (DESIGN rules 20, 22, 23).

#include "unit/core/world.h"

namespace presence {
namespace {

using testing::Client;
using testing::start_task;
using testing::Started;
using testing::statuses;
using testing::Told;
using testing::World;
using testing::WorldOptions;
using Statuses = std::vector<Status>;

const UserId kAnn("ann");

std::vector<UserId> people(int count, const std::string& prefix = "user") {
    std::vector<UserId> users;
    for (int i = 0; i < count; ++i) {
        users.emplace_back(prefix + std::to_string(i));
    }
    return users;
}

TEST(Watching, BeginsWithASnapshotInTheOrderAskedAndGoesOnWithNews) {
    World world;
    const Client bob = world.connect("bob");
    const Client ann = world.connect("ann");
    const std::vector<Told> snapshot = world.watch(bob, {"carl", "ann", "dora"});
    ASSERT_EQ(snapshot.size(), 3U);
    EXPECT_EQ(snapshot[0].user, UserId("carl"));
    EXPECT_EQ(snapshot[0].status, Status::offline);
    EXPECT_EQ(snapshot[1].status, Status::online);
    world.run(2s);
    world.bye(ann);
    EXPECT_EQ(statuses(world.told(bob), "ann"), Statuses{Status::offline});
    (void)world.connect("carl");
    EXPECT_EQ(statuses(world.told(bob), "carl"), Statuses{Status::online});
}

TEST(Watching, OfOneselfShowsTheOwnFace) {
    World world;
    const Client ann = world.connect("ann");
    world.run(2s);
    EXPECT_EQ(world.watch(ann, {"ann"})[0].declared, DeclaredStatus::automatic);
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::invisible));
    ASSERT_EQ(world.told(ann).size(), 1U);
    EXPECT_EQ(world.told(ann)[0].status, Status::invisible);
    EXPECT_EQ(world.told(ann)[0].declared, DeclaredStatus::invisible);
}

/// A change at every moment of a slow look: the subscription comes first, so none is lost.
TEST(Watching, FO028AChangeDuringTheReadIsNeverLost) {
    for (const int at : {0, 1, 100, 250, 490, 499, 500, 501, 510, 600}) {
        World world;
        const Client bob = world.connect("bob");
        const Client ann = world.connect("ann");
        world.run(2s);
        world.sessions.faults().set_delay(500ms);
        Started<Result<std::vector<Seen>>> watching =
            start_task(world.shard().watches.watch(world.watch_request(bob, {kAnn})));
        world.run(Millis{at});
        world.sessions.faults().set_delay(0ms);
        world.bye(ann);
        world.run(1s);
        ASSERT_TRUE(watching->has_value());
        const Told snapshot = world.views(world.shard(), ***watching).front();
        const Status last =
            world.told(bob).empty() ? snapshot.status : world.told(bob).back().status;
        EXPECT_EQ(last, Status::offline) << at;
        EXPECT_LE(world.told(bob).size(), 1U);
    }
}

TEST(Watching, FO028AChangeThatTheReadHasMissedIsToldAfterTheSnapshot) {
    for (const int at : {0, 1, 100, 250, 490, 499}) {
        World world;
        const Client bob = world.connect("bob");
        const Client ann = world.connect("ann");
        world.run(2s);
        world.threads[0]->late.set_lateness(500ms);
        Started<Result<std::vector<Seen>>> watching =
            start_task(world.shard().watches.watch(world.watch_request(bob, {kAnn})));
        world.run(Millis{at});
        world.bye(ann);
        world.run_to(world.clock.now() + Millis{499 - at});
        EXPECT_TRUE(world.told(bob).empty());  // Not before the snapshot.
        world.run(51ms);
        ASSERT_TRUE(watching->has_value());
        EXPECT_EQ(world.views(world.shard(), ***watching).front().status, Status::online);
        EXPECT_EQ(statuses(world.told(bob), "ann"), Statuses{Status::offline}) << at;
    }
}

TEST(Watching, AChangeThatASecondLookHasMissedIsToldAfterIt) {
    World world;
    const Client bob = world.connect("bob");
    const Client ann = world.connect("ann");
    world.run(2s);
    world.watch(bob, {"ann"});
    world.threads[0]->late.set_lateness(500ms);
    world.change_contacts("ann", "zoe", true);  // Every watch of Ann is judged anew.
    world.run(100ms);
    world.bye(ann);
    world.run(1s);
    EXPECT_EQ(statuses(world.told(bob), "ann"), Statuses{Status::offline});
}

TEST(Watching, FO029NewsThatOvertakesTheSnapshotComesAfterItAndOnlyIfNewer) {
    World world;
    const Client bob = world.connect("bob");
    const Client ann = world.connect("ann");
    world.run(2s);
    world.sessions.faults().set_delay(500ms);
    Started<Result<std::vector<Seen>>> watching =
        start_task(world.shard().watches.watch(world.watch_request(bob, {kAnn})));
    world.run(100ms);
    world.sessions.faults().set_delay(0ms);
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::busy));
    world.run(300ms);
    EXPECT_TRUE(world.told(bob).empty());  // Held until the look is over.
    world.run(1s);
    ASSERT_TRUE(watching->has_value());
    // The look itself saw it: it is told once.
    EXPECT_EQ(world.views(world.shard(), ***watching).front().status, Status::busy);
    EXPECT_TRUE(world.told(bob).empty());
    (void)ann;
}

TEST(Watching, FO025AgainAndAgainIsAnsweredInFullAndNewsComesOnce) {
    World world;
    const Client bob = world.connect("bob");
    const Client ann = world.connect("ann");
    world.run(2s);
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(world.watch(bob, {"ann", "carl"}).size(), 2U);
        world.unwatch(bob, {"ann", "carl"});
        world.run(50ms);
    }
    EXPECT_EQ(world.watch(bob, {"ann", "carl"})[0].status, Status::online);
    EXPECT_EQ(world.watch(bob, {"ann", "carl"})[0].status, Status::online);
    EXPECT_EQ(world.shard().watches.watch_count(bob->connection.slot), 2U);
    world.bye(ann);
    EXPECT_EQ(statuses(world.told(bob), "ann"), Statuses{Status::offline});
}

TEST(Watching, OthersEndsAllButOneselfs) {
    World world;
    const Client ann = world.connect("ann");
    world.run(2s);
    world.watch(ann, {"bob", "ann", "carl"});
    world.shard().watches.unwatch_others(ann->connection.slot, kAnn);
    EXPECT_EQ(world.shard().watches.watch_count(ann->connection.slot), 1U);
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::busy));
    EXPECT_EQ(statuses(world.told(ann), "ann"), Statuses{Status::busy});
}

TEST(Watching, ASetReplacesAllOthers) {
    World world;
    const Client bob = world.connect("bob");
    const Client ann = world.connect("ann");
    const Client carl = world.connect("carl");
    world.watch(bob, {"ann", "carl"});
    world.run(2s);
    EXPECT_EQ(world.watch(bob, {"carl", "dora"}, true).size(), 2U);
    EXPECT_EQ(world.shard().watches.watch_count(bob->connection.slot), 2U);
    world.bye(ann);
    world.bye(carl);
    EXPECT_TRUE(statuses(world.told(bob), "ann").empty());
    EXPECT_EQ(statuses(world.told(bob), "carl"), Statuses{Status::offline});
    EXPECT_TRUE(world.watch(bob, {}, true).empty());
    EXPECT_EQ(world.shard().watches.index().edge_count(), 0U);
    EXPECT_EQ(world.bus.subscribed_users(0), 0U);
}

TEST(Watching, ASetReplacesAlsoWhatIsBeingLookedAtAgain) {
    World world;
    const Client bob = world.connect("bob");
    (void)world.connect("ann");
    world.watch(bob, {"ann"});
    world.sessions.faults().set_delay(200ms);
    world.change_blocks("ann", "zoe", true);  // A look at Ann for Bob is under way.
    world.run(50ms);
    (void)world.try_watch(bob, {UserId("dora")}, true);
    world.run(2s);
    EXPECT_EQ(world.shard().watches.watch_count(bob->connection.slot), 1U);
}

TEST(Watching, OverTheLimitIsRefusedWhole) {
    WorldOptions options;
    options.limits.watch = 5;
    World world(options);
    const Client bob = world.connect("bob");
    ASSERT_TRUE(world.try_watch(bob, people(5)));
    Result<std::vector<Told>> refused = world.try_watch(bob, {UserId("x")});
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::limit_exceeded);
    EXPECT_EQ(refused.error().limit, 5);
    EXPECT_EQ(world.shard().watches.watch_count(bob->connection.slot), 5U);

    EXPECT_TRUE(world.try_watch(bob, people(5)));             // Those already watched cost nothing.
    EXPECT_TRUE(world.try_watch(bob, people(5, "x"), true));  // A set counts alone.
    EXPECT_FALSE(world.try_watch(bob, people(6, "y"), true));
    EXPECT_EQ(world.shard().watches.watch_count(bob->connection.slot), 5U);
    EXPECT_TRUE(world.try_watch(bob, {UserId("x0"), UserId("x0"), UserId("x1")}));
}

TEST(Watching, DoublesCountOnce) {
    WorldOptions options;
    options.limits.watch = 2;
    World world(options);
    const Client bob = world.connect("bob");
    const std::vector<UserId> users{kAnn, kAnn, UserId("carl"), kAnn};
    EXPECT_TRUE(world.try_watch(bob, users, true));
    EXPECT_TRUE(world.try_watch(bob, users));
    EXPECT_EQ(world.shard().watches.watch_count(bob->connection.slot), 2U);
    EXPECT_FALSE(world.try_watch(bob, {UserId("dora"), kAnn}));
}

TEST(Watching, ARequestThatFailedChangesNothing) {
    World world;
    const Client bob = world.connect("bob");
    const Client ann = world.connect("ann");
    world.watch(bob, {"ann"});
    world.run(2s);
    world.sessions.set_unavailable(true);
    EXPECT_FALSE(world.try_watch(bob, {kAnn, UserId("carl")}));
    EXPECT_FALSE(world.try_watch(bob, {UserId("carl")}, true));
    world.sessions.set_unavailable(false);
    EXPECT_EQ(world.shard().watches.watch_count(bob->connection.slot), 1U);
    world.bye(ann);
    world.run(3s);
    EXPECT_EQ(statuses(world.told(bob), "ann"), Statuses{Status::offline});
}

TEST(Watching, NewsHeldForALookThatFailedIsToldAfterAll) {
    World world;
    const Client bob = world.connect("bob");
    const Client ann = world.connect("ann");
    world.watch(bob, {"ann"});
    world.run(2s);
    world.sessions.faults().set_delay(300ms);
    auto again = start_task(world.shard().watches.watch(world.watch_request(bob, {kAnn})));
    world.run(10ms);
    world.sessions.faults().set_delay(0ms);
    world.bye(ann);
    world.sessions.set_unavailable(true);
    world.run(1s);
    ASSERT_TRUE(again->has_value());
    EXPECT_FALSE((*again)->has_value());
    world.sessions.set_unavailable(false);
    world.run(2s);
    EXPECT_EQ(statuses(world.told(bob), "ann"), Statuses{Status::offline});
}

TEST(Watching, EndsWithTheConnectionAlsoInTheMiddleOfALook) {
    World world;
    const Client bob = world.connect("bob");
    const Client ann = world.connect("ann");
    world.sessions.faults().set_delay(200ms);
    auto watching = start_task(
        world.shard().watches.watch(world.watch_request(bob, {kAnn, UserId("carl")}, true)));
    world.run(50ms);
    world.gateway(bob->user).forget(bob->connection);
    // The place is given to another at once.
    const Client zoe = world.new_client(UserId("zoe"));
    ASSERT_EQ(zoe->connection.slot, bob->connection.slot);
    world.run(1s);
    EXPECT_TRUE(watching->has_value());
    EXPECT_EQ(world.shard().watches.watch_count(zoe->connection.slot), 0U);
    world.sessions.faults().set_delay(0ms);
    world.bye(ann);
    EXPECT_TRUE(world.told(zoe).empty());
    EXPECT_EQ(world.bus.subscribed_users(0), 0U);
}

TEST(Watching, ManyOfOnePersonAreToldEachOnceInOneTurn) {
    World world;
    std::vector<Client> viewers;
    for (const UserId& user : people(50)) {
        viewers.push_back(world.connect(user));
        world.watch(viewers.back(), {"ann"});
    }
    const Client ann = world.connect("ann");
    for (const Client& viewer : viewers) {
        EXPECT_EQ(statuses(world.told(viewer), "ann"), Statuses{Status::online});
    }
    EXPECT_EQ(world.gateway(kAnn).events.size(), 1U);
    (void)ann;
}

TEST(Watching, CrossesThreadsOnceForEachThatHasAWatcher) {
    WorldOptions options;
    options.threads = 4;
    World world(options);
    std::vector<Client> viewers;
    for (const UserId& user : people(40)) {
        viewers.push_back(world.connect(user));
        world.watch(viewers.back(), {"ann"});
    }
    const Client ann = world.connect("ann");
    world.run(2s);
    world.bye(ann);
    for (const Client& viewer : viewers) {
        EXPECT_EQ(statuses(world.told(viewer), "ann"), (Statuses{Status::online, Status::offline}));
    }
    for (const auto& thread : world.threads) {
        EXPECT_EQ(thread->gateway.events.size(), 2U);
    }
}

TEST(Watching, OneWhoWatchesNobodyIsToldNothing) {
    World world;
    const Client bob = world.connect("bob");
    const Client ann = world.connect("ann");
    world.run(2s);
    world.bye(ann);
    world.run(2s);
    EXPECT_TRUE(world.told(bob).empty());
    EXPECT_TRUE(world.gateway(kAnn).events.empty());
}

TEST(WatchIndex, ALongHistoryOfComingAndGoingLeavesNothing) {
    WatchIndex index;
    SeededRandom random(3);
    std::vector<std::pair<std::uint32_t, std::string>> model;
    for (int step = 0; step < 20'000; ++step) {
        const auto connection = static_cast<std::uint32_t>(random.below(7));
        const UserId user("user" + std::to_string(random.below(9)));
        const std::pair<std::uint32_t, std::string> pair{connection, std::string(user.text)};
        const auto at = std::ranges::find(model, pair);
        WatchIndex::EdgeId found = 0;
        ASSERT_EQ(index.find_edge(connection, user, found), at != model.end());
        if (random.below(2) == 0) {
            const WatchIndex::Added added = index.add(connection, user);
            ASSERT_EQ(added.created, at == model.end());
            if (added.created) {
                model.push_back(pair);
            }
        } else if (at != model.end()) {
            (void)index.remove(found);
            model.erase(at);
        }
        ASSERT_EQ(index.edge_count(), model.size());
    }
    for (const auto& [connection, user] : model) {
        WatchIndex::EdgeId found = 0;
        ASSERT_TRUE(index.find_edge(connection, UserId(user), found));
        (void)index.remove(found);
    }
    EXPECT_EQ(index.edge_count(), 0U);
    EXPECT_EQ(index.subject_count(), 0U);
}

}  // namespace
}  // namespace presence
