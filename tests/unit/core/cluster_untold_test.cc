// Announcements that a node held back and did not live to make (DESIGN rule 13).

#include "unit/core/cluster.h"

namespace presence::testing {

namespace {

using enum Status;

struct ClusterUntold : ::testing::Test {
    Cluster cluster{2};
    Cluster::DeviceRef bob = cluster.connect(cluster.node(1), "bob");
    Cluster::DeviceRef ann;

    /// Ann comes to node 0 and is told; what she declares at once is held back.
    void SetUp() override {
        cluster.watch(bob, {"ann"});
        ann = cluster.connect(cluster.node(0), "ann");
        cluster.declare(cluster.node(0), "ann", DeclaredStatus::busy);
        ASSERT_EQ(told(), std::vector{online});
        ASSERT_EQ(cluster.record("ann")->presence.shown.status, busy);
    }
    std::vector<Status> told() { return statuses(cluster.connection(bob).told, "ann"); }
};

TEST_F(ClusterUntold, WhoResumesElsewhereIsToldAsTheRecordSays) {
    cluster.kill(cluster.node(0));
    const auto again = cluster.connect(cluster.node(1), "ann", ann);
    EXPECT_TRUE(again->resumed);
    cluster.run(3s);
    EXPECT_EQ(told(), (std::vector{online, busy}));
}

TEST_F(ClusterUntold, LaterThanTheWindowToo) {
    cluster.kill(cluster.node(0));
    cluster.run(3s);
    const auto again = cluster.connect(cluster.node(1), "ann", ann);
    EXPECT_TRUE(again->resumed);
    cluster.run(3s);
    EXPECT_EQ(told(), (std::vector{online, busy}));
}

TEST_F(ClusterUntold, WhatItsNodeHasToldIsToldByNoOther) {
    cluster.run(3s);
    ASSERT_EQ(told(), (std::vector{online, busy}));
    const std::size_t before = cluster.node(1).gateway.events.size();
    cluster.lose(ann);  // A mark in the record that nobody is told of.
    EXPECT_EQ(cluster.record("ann")->untold_until, WallTime{});
    const auto again = cluster.connect(cluster.node(1), "ann", ann);
    cluster.run(3s);
    EXPECT_EQ(cluster.node(1).gateway.events.size(), before);
}

TEST_F(ClusterUntold, WhoLookedMeanwhileHearsUnknownNoSoonerThanOthersWhenTheStoreGoesAway) {
    const auto carl = cluster.connect(cluster.node(1), "carl");
    cluster.watch(carl, {"ann"});
    cluster.set_store(false);
    cluster.run(8s);
    EXPECT_TRUE(cluster.connection(carl).told.empty());
    cluster.run(8s);
    EXPECT_EQ(statuses(cluster.connection(carl).told, "ann"), std::vector{unknown});
    cluster.set_store(true);
    cluster.run(15s);
    EXPECT_EQ(statuses(cluster.connection(carl).told, "ann"), (std::vector{unknown, busy}));
}

}  // namespace

}  // namespace presence::testing
