// A record that cannot be read is the trouble of its own user alone (DESIGN rule 30).

#include "unit/core/cluster.h"

namespace presence::testing {

namespace {

using enum Status;

struct ClusterUnreadable : ::testing::Test {
    Cluster cluster{2};
    Cluster::DeviceRef bob = cluster.connect(cluster.node(1), "bob");
    Cluster::DeviceRef ann = cluster.connect(cluster.node(0), "ann");
    Cluster::DeviceRef dan = cluster.connect(cluster.node(0), "dan");

    void SetUp() override {
        cluster.run(2s);
        cluster.sessions.damage(UserId("ann"));
    }
    std::vector<StoreHealth>& health() { return cluster.node(1).health; }
};

TEST_F(ClusterUnreadable, ShowsItsUserAsUnknownAndAllOthersAsTheyAre) {
    health().clear();
    const std::vector<Told> snapshot = cluster.watch(bob, {"ann", "dan", "nobody"});
    EXPECT_EQ(snapshot[0].status, unknown);
    EXPECT_EQ(snapshot[1].status, online);
    EXPECT_EQ(snapshot[2].status, offline);
    cluster.run(10s);
    EXPECT_TRUE(health().empty());
    EXPECT_GT(cluster.node(1).shard.counters.records_unreadable, 0U);
}

TEST_F(ClusterUnreadable, RefusesItsUserAtOtherNodesAndNobodyElse) {
    const Result<Cluster::DeviceRef> refused = cluster.try_connect(cluster.node(1), "ann");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::internal);
    EXPECT_TRUE(cluster.try_connect(cluster.node(1), "dan"));
    EXPECT_EQ(cluster.node(1).shard.counters.kept_here, 0U);
}

TEST_F(ClusterUnreadable, DoesNotKeepTheOthersOfADeadNodeAlive) {
    cluster.watch(bob, {"dan"});
    cluster.kill(cluster.node(0));
    cluster.run(30s);
    EXPECT_EQ(statuses(cluster.connection(bob).told, "dan"), std::vector{offline});
}

TEST_F(ClusterUnreadable, DoesNotKeepTheOthersFromBeingStatedAgain) {
    cluster.nodes.fail_over();
    cluster.sessions.erase(UserId("dan"));
    cluster.run(5s);
    ASSERT_NE(cluster.record("dan"), nullptr);
    EXPECT_EQ(cluster.record("dan")->sessions.size(), 1U);
}

}  // namespace

}  // namespace presence::testing
