// A store that answers and refuses writes, as Redis at its `maxmemory` (DESIGN rule 30): what needs
// room is kept by each node, ends pass, and nobody is shown offline for it.

#include "unit/core/cluster.h"

namespace presence::testing {

namespace {

using enum Status;

struct ClusterFull : ::testing::Test {
    Cluster cluster{2};
    Cluster::DeviceRef ann = cluster.connect(cluster.node(0), "ann");
    Cluster::DeviceRef bob = cluster.connect(cluster.node(1), "bob");

    void set_full(bool full) { cluster.sessions.faults().set_refuses_writes(full); }
    Status seen_by_bob(const char* user) {
        return cluster.look(cluster.node(1), "bob", user).status;
    }
    std::vector<Status> told(const Cluster::DeviceRef& watcher, const char* user) {
        return statuses(cluster.connection(watcher).told, user);
    }
};

TEST_F(ClusterFull, ItIsSaidToBeDegradedUntilItTakesWrites) {
    set_full(true);
    cluster.run(3s);
    for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(cluster.node(i).health.back(), StoreHealth::degraded);
        EXPECT_EQ(cluster.node(i).shard.nodes.health, StoreHealth::degraded);
    }
    cluster.run(60s);
    EXPECT_EQ(cluster.node(0).member.live_nodes(), 2U) << "leases go on";
    set_full(false);
    cluster.run(3s);
    EXPECT_EQ(cluster.node(0).health.back(), StoreHealth::ok);
}

TEST_F(ClusterFull, WhoComesMeanwhileIsUnknownElsewhereAndNotOffline) {
    cluster.watch(bob, {"carl"});
    set_full(true);
    cluster.run(3s);
    const auto carl = cluster.connect(cluster.node(0), "carl");
    cluster.run(20s);
    EXPECT_EQ(cluster.look(cluster.node(0), "ann", "carl").status, online) << "where it is";
    EXPECT_EQ(seen_by_bob("carl"), unknown);
    EXPECT_EQ(seen_by_bob("ann"), online);
    EXPECT_TRUE(told(bob, "carl").empty()) << "who watched holds what was told";
    set_full(false);
    cluster.run(10s);
    EXPECT_EQ(told(bob, "carl"), std::vector{online});
    EXPECT_EQ(seen_by_bob("carl"), online);
    EXPECT_EQ(seen_by_bob("nobody"), offline) << "all have stated theirs";
}

TEST_F(ClusterFull, EndsPassAndWhatWasDeclaredIsStatedWhenThereIsRoom) {
    const auto dora = cluster.connect(cluster.node(0), "dora");
    cluster.watch(bob, {"ann", "dora"});
    set_full(true);
    cluster.run(3s);
    cluster.declare(cluster.node(0), "ann", DeclaredStatus::away);
    cluster.bye(dora);
    cluster.run(20s);
    EXPECT_EQ(told(bob, "dora"), std::vector{offline});
    EXPECT_TRUE(told(bob, "ann").empty());
    set_full(false);
    cluster.run(10s);
    EXPECT_EQ(told(bob, "ann"), std::vector{away});
    EXPECT_EQ(told(bob, "dora"), std::vector{offline});
}

TEST_F(ClusterFull, WhoGoesOnElsewhereIsNotShownOfflineByTheNodeThatHadIt) {
    cluster.watch(bob, {"ann"});
    const auto carl = cluster.connect(cluster.node(0), "carl");
    cluster.watch(carl, {"ann"});
    set_full(true);
    cluster.run(3s);
    cluster.lose(ann);
    cluster.run(1s);
    cluster.connect(cluster.node(1), "ann", ann);
    cluster.run(60s);
    EXPECT_TRUE(told(bob, "ann").empty());
    EXPECT_TRUE(told(carl, "ann").empty());
    set_full(false);
    cluster.run(10s);
    EXPECT_TRUE(told(bob, "ann").empty());
    EXPECT_TRUE(told(carl, "ann").empty());
}

TEST_F(ClusterFull, OfTwoNodesThatKeptOneSessionTheLaterLifeStands) {
    set_full(true);
    cluster.run(3s);
    cluster.declare(cluster.node(0), "ann", DeclaredStatus::away);
    Cluster::set_deaf(cluster.node(0), true);  // It does not hear that the session went on.
    const auto back = cluster.connect(cluster.node(1), "ann", ann);
    ASSERT_TRUE(back->resumed);
    cluster.run(1s);
    Cluster::set_deaf(cluster.node(0), false);
    set_full(false);
    for (int i = 0; i < 20; ++i) {
        cluster.run(500ms);
        const UserRecordRef record = cluster.record("ann");
        ASSERT_EQ(record->sessions.size(), 1U);
        if (i > 10) {
            EXPECT_EQ(record->sessions.front().node, cluster.node(1).member.self()) << i;
        }
    }
    cluster.run(60s);
    EXPECT_FALSE(cluster.connection(back).ended);
    EXPECT_EQ(cluster.connection(ann).ended, EndReason::replaced);
}

}  // namespace
}  // namespace presence::testing
