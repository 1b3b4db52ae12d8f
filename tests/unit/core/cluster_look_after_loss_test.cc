// What a look shows that reads after the store has lost data, before anybody was told of the loss
// (DESIGN rule 31).

#include "unit/core/cluster.h"

#include <algorithm>

namespace presence::testing {

namespace {

using enum Status;

/// Bob looks from another node every so often: ann is never said to be gone, and in the end it is
/// known who is there.
void expect_ann_comes_back_unseen_offline(Cluster& cluster, Millis every) {
    for (int i = 0; i < 100; ++i) {
        cluster.run(every);
        const Status seen = cluster.look(cluster.node(1), "bob", "ann").status;
        EXPECT_TRUE(seen == unknown || seen == online) << i;
    }
    EXPECT_EQ(cluster.look(cluster.node(1), "bob", "ann").status, online);
    EXPECT_EQ(cluster.look(cluster.node(2), "bob", "nobody").status, offline);
}

TEST(ClusterLookAfterLoss, WhoIsMissingIsUnknownFromTheFirstLookOn) {
    Cluster cluster(3);
    const auto ann = cluster.connect(cluster.node(0), "ann");
    const auto bob = cluster.connect(cluster.node(1), "bob");
    cluster.run(2100ms);  // Everybody has just renewed.
    ASSERT_EQ(cluster.look(cluster.node(1), "bob", "nobody").status, offline);
    cluster.nodes.lose_all();
    EXPECT_EQ(cluster.look(cluster.node(1), "bob", "ann").status, unknown);
    EXPECT_EQ(cluster.look(cluster.node(2), "bob", "nobody").status, unknown);
    expect_ann_comes_back_unseen_offline(cluster, 50ms);
}

TEST(ClusterLookAfterLoss, ANodeGoesOnToAnswerForItsOwn) {
    Cluster cluster(2);
    const auto ann = cluster.connect(cluster.node(0), "ann");
    const auto bob = cluster.connect(cluster.node(0), "bob");
    cluster.run(2100ms);
    cluster.nodes.lose_all();
    EXPECT_EQ(cluster.look(cluster.node(0), "bob", "ann").status, online);
}

TEST(ClusterLookAfterLoss, NodesAskForARenewalOnceAndNotWithEachLook) {
    Cluster cluster(2);
    const auto bob = cluster.connect(cluster.node(1), "bob");
    cluster.run(2100ms);
    const ClusterCounters& counters = cluster.node(1).member.counters();
    const std::uint64_t before = counters.renewals;
    cluster.nodes.lose_all();
    for (int i = 0; i < 20; ++i) {
        static_cast<void>(cluster.look(cluster.node(1), "bob", "nobody"));
    }
    cluster.run(100ms);
    EXPECT_EQ(counters.stores_lost, 1U);
    EXPECT_LE(counters.renewals - before, 3U);  // The loss, and that it is healed here.
}

TEST(ClusterLookAfterLoss, WatchersAreToldOfTheMissingWhenItIsKnownWhoIsThere) {
    Cluster cluster(3);
    const auto ann = cluster.connect(cluster.node(0), "ann");
    const auto bob = cluster.connect(cluster.node(1), "bob");
    cluster.watch(bob, {"ann", "nobody"});
    cluster.run(2100ms);
    cluster.nodes.lose_all();
    static_cast<void>(cluster.look(cluster.node(1), "bob", "ann"));
    cluster.run(15s);
    for (const Told& told : cluster.connection(bob).told) {
        EXPECT_TRUE(told.user.text != "ann" || told.status == online) << told;
        EXPECT_NE(told.user.text, "nobody") << told;
    }
}

TEST(ClusterLookAfterLoss, WhatAFailOverLostIsUnknownUntilAllHaveStatedTheirs) {
    Cluster cluster(3);
    const auto bob = cluster.connect(cluster.node(1), "bob");
    cluster.run(2100ms);
    const auto ann = cluster.connect(cluster.node(0), "ann");
    cluster.sessions.erase(UserId("ann"));
    cluster.pause(cluster.node(0));  // It learns of it a moment after the others.
    cluster.nodes.fail_over();
    EXPECT_EQ(cluster.look(cluster.node(1), "bob", "ann").status, unknown);
    cluster.run(1900ms);
    EXPECT_EQ(cluster.look(cluster.node(1), "bob", "ann").status, unknown);
    cluster.go_on(cluster.node(0));
    expect_ann_comes_back_unseen_offline(cluster, 100ms);
}

TEST(ClusterLookAfterLoss, WhoLeavesJustAfterItIsGoneForAllInTheEnd) {
    Cluster cluster(2);
    const auto ann = cluster.connect(cluster.node(0), "ann");
    const auto bob = cluster.connect(cluster.node(1), "bob");
    cluster.watch(bob, {"ann"});
    cluster.run(2100ms);
    cluster.nodes.lose_all();
    cluster.bye(ann);
    cluster.run(15s);
    EXPECT_EQ(cluster.look(cluster.node(1), "bob", "ann").status, offline);
    EXPECT_EQ(cluster.connection(bob).told.back().status, offline);
    EXPECT_TRUE(cluster.stored_last_seen("ann").has_value());
}

}  // namespace

}  // namespace presence::testing
