// Watches that are looked at again: after a gap only those concerned, many with one read, and by no
// older rules than the record was written under (RULINGS 8, 16).

#include "unit/core/cluster.h"
#include "unit/core/world.h"

namespace presence::testing {

namespace {

constexpr std::size_t kPartitions = 64;

PartitionSet partitions_of(const std::vector<const char*>& users) {
    PartitionSet set(kPartitions);
    for (const char* const user : users) {
        set.insert(Partition::of(UserId(user), kPartitions).index);
    }
    return set;
}

struct LookAgainTest : ::testing::Test {
    World world;

    /// What a node does whose word does not arrive.
    void change_unheard(const char* user) {
        const UserRecordRef before = world.record(user);
        auto after = before ? make_ref<UserRecord>(*before) : make_ref<UserRecord>();
        after->commit += 1;
        after->presence.own.status = after->presence.shown.status = Status::busy;
        after->presence.own_version.value += 1;
        after->presence.shown_version.value += 1;
        EXPECT_EQ(world.sessions.commit(
                      {UserId(user), before ? before->commit : 0, after, Millis{600'000}, nullptr},
                      nullptr),
                  CommitOutcome::committed);
    }
    std::vector<std::vector<UserId>>& reads() { return world.threads[0]->late.asked; }
};

TEST_F(LookAgainTest, AfterAGapOnlyTheLostPartitionsAreReadAndTold) {
    ASSERT_FALSE(partitions_of({"ann"}).holds(UserId("bob")));
    ASSERT_FALSE(partitions_of({"ann"}).holds(UserId("viewer")));
    const Client viewer = world.connect("viewer");
    world.watch(viewer, {"ann", "bob"});
    change_unheard("ann");
    change_unheard("bob");
    reads().clear();
    world.shard().watches.look_again(partitions_of({"ann"}));
    world.run(100ms);
    EXPECT_EQ(statuses(world.told(viewer), "ann"), std::vector{Status::busy});
    EXPECT_TRUE(statuses(world.told(viewer), "bob").empty());
    EXPECT_EQ(reads(), (std::vector<std::vector<UserId>>{{UserId("ann")}}));
    world.shard().watches.look_again(partitions_of({"bob"}));
    world.run(100ms);
    EXPECT_EQ(statuses(world.told(viewer), "bob"), std::vector{Status::busy});
}

TEST_F(LookAgainTest, WhoseOwnRulesMayHaveChangedUnheardLooksAtAllAgain) {
    const Client viewer = world.connect("viewer");
    world.watch(viewer, {"ann", "bob"});
    change_unheard("ann");
    change_unheard("bob");
    world.shard().watches.look_again(partitions_of({"viewer"}));
    world.run(100ms);
    EXPECT_EQ(statuses(world.told(viewer), "ann"), std::vector{Status::busy});
    EXPECT_EQ(statuses(world.told(viewer), "bob"), std::vector{Status::busy});
}

TEST_F(LookAgainTest, ManyConnectionsAreLookedAtWithOneReadAndEachUserOnce) {
    std::vector<Client> viewers;
    for (int i = 0; i < 40; ++i) {
        viewers.push_back(world.connect(UserId("viewer " + std::to_string(i))));
        world.watch(viewers.back(), {"ann", "bob"});
    }
    change_unheard("ann");
    reads().clear();
    world.shard().watches.look_at_all_again();
    world.run(100ms);
    EXPECT_EQ(reads(), (std::vector<std::vector<UserId>>{{UserId("ann"), UserId("bob")}}));
    for (const Client& viewer : viewers) {
        EXPECT_EQ(statuses(world.told(viewer), "ann"), std::vector{Status::busy});
    }
}

TEST_F(LookAgainTest, ALookAtVeryManyIsMadeInBoundedParts) {
    std::vector<UserId> users;
    for (int i = 0; i < 400; ++i) {
        users.emplace_back("user " + std::to_string(i));
    }
    std::vector<Client> viewers;
    for (int i = 0; i < 5; ++i) {
        viewers.push_back(world.connect(UserId("viewer " + std::to_string(i))));
        ASSERT_TRUE(world.try_watch(viewers.back(), users));
    }
    reads().clear();
    world.shard().watches.look_at_all_again();
    world.run(100ms);
    EXPECT_EQ(reads().size(), 3U);  // 400 watches a connection, at most 1,000 a read.
}

TEST_F(LookAgainTest, ALookThatFailsIsMadeAgainAndNothingGoesOutMeanwhile) {
    const Client viewer = world.connect("viewer");
    world.connect("ann");
    world.watch(viewer, {"ann"});
    world.sessions.set_unavailable(true);
    world.shard().watches.look_at_all_again();
    world.run(3s);
    world.sessions.set_unavailable(false);
    ASSERT_TRUE(world.declare(UserId("ann"), DeclaredStatus::dnd));
    EXPECT_TRUE(world.told(viewer).empty());
    world.run(2s);
    EXPECT_EQ(statuses(world.told(viewer), "ann"), std::vector{Status::dnd});
}

TEST(OlderRules, AnEventThatKnowsOfNewerRulesIsNotToldByTheOldOnes) {
    Cluster cluster(2);
    const auto ann = cluster.connect(cluster.node(0), "ann");
    const auto bob = cluster.connect(cluster.node(1), "bob");
    ASSERT_EQ(cluster.watch(bob, {"ann"}).front().status, Status::online);
    cluster.node(1).endpoint.set_reachable(false);
    cluster.hide("ann");
    cluster.run(2s);
    cluster.node(1).endpoint.set_reachable(true);
    EXPECT_TRUE(cluster.connection(bob).told.empty());
    cluster.declare(cluster.node(0), "ann", DeclaredStatus::dnd);
    cluster.run(100ms);
    EXPECT_EQ(statuses(cluster.connection(bob).told, "ann"), std::vector{Status::offline});
    EXPECT_GE(cluster.node(1).shard.counters.rules_behind, 1U);
}

TEST(OlderRules, ARecordThatKnowsOfNewerRulesIsNotShownByTheOldOnes) {
    Cluster cluster(2);
    const auto ann = cluster.connect(cluster.node(0), "ann");
    cluster.connect(cluster.node(1), "bob");
    ASSERT_EQ(cluster.look(cluster.node(1), "bob", "ann").status, Status::online);
    cluster.node(1).endpoint.set_reachable(false);
    cluster.hide("ann");
    cluster.declare(cluster.node(0), "ann", DeclaredStatus::dnd);
    EXPECT_EQ(cluster.look(cluster.node(1), "bob", "ann").status, Status::offline);
}

TEST(OlderRules, AnErasureIsNoRevisionThatAllLaterOnesAreOlderThan) {
    Cluster cluster(2);
    cluster.connect(cluster.node(0), "ann");
    ProfileCache& cache = cluster.node(0).shard.cache;
    EXPECT_FALSE(cache.heard(UserId("ann"), kErased));
    EXPECT_EQ(cache.revision_of(UserId("ann")), 0U);
}

}  // namespace

}  // namespace presence::testing
