// Whom a node waits for after a loss or an outage, before it takes a missing record for an absence.

#include "unit/core/cluster.h"

#include <algorithm>
#include <vector>

namespace presence::testing {

namespace {

using Node = Cluster::Node;
using enum Status;

TEST(ClusterWait, WhoIsSilentAfterALossIsWaitedForUntilItsDeathIsSettled) {
    Cluster cluster(2);
    const auto bob = cluster.connect(cluster.node(1), "bob");
    cluster.connect(cluster.node(0), "ann");
    cluster.watch(bob, {"ann"});
    cluster.run(5s);
    cluster.pause(cluster.node(0));
    cluster.nodes.lose_all();
    EXPECT_EQ(cluster.look(cluster.node(1), "bob", "ann").status, unknown);
    // Less than the patience from its last renewal, and more than a lease less one renewal.
    cluster.run(7900ms);
    EXPECT_EQ(cluster.look(cluster.node(1), "bob", "ann").status, unknown);
    cluster.run(2300ms);
    EXPECT_EQ(cluster.look(cluster.node(1), "bob", "ann").status, offline);
}

TEST(ClusterWait, ASecondLossForgetsNobodyWhomTheFirstMadeItWaitFor) {
    Cluster cluster(2);
    cluster.connect(cluster.node(0), "ann");
    cluster.run(5s);
    cluster.pause(cluster.node(0));
    cluster.nodes.lose_all();
    EXPECT_EQ(cluster.look(cluster.node(1), "bob", "ann").status, unknown);
    cluster.run(1200ms);
    cluster.nodes.lose_all();
    EXPECT_EQ(cluster.look(cluster.node(1), "bob", "ann").status, unknown);
    cluster.run(6500ms);
    EXPECT_EQ(cluster.look(cluster.node(1), "bob", "ann").status, unknown);
}

TEST(ClusterWait, WhoSleptThroughAnOutageTakesNobodyForDeadWhoIsNotBackYet) {
    Cluster cluster(3);
    const auto ann = cluster.connect(cluster.node(0), "ann");
    cluster.run(5s);
    cluster.pause(cluster.node(2));
    cluster.run(1s);
    cluster.set_store(false);
    cluster.run(12s);
    cluster.set_store(true);
    cluster.go_on(cluster.node(2));  // It finds the store as well as it left it.
    cluster.run(20s);
    EXPECT_EQ(cluster.node(2).member.counters().renamed, 1U);
    EXPECT_EQ(cluster.node(0).member.counters().renamed, 0U);
    EXPECT_EQ(cluster.node(1).member.counters().renamed, 0U);
    EXPECT_EQ(cluster.look(cluster.node(2), "bob", "ann").status, online);
    EXPECT_EQ(cluster.look(cluster.node(2), "bob", "nobody").status, offline);
}

TEST(ClusterWait, WhoCameElsewhereDuringAnOutageIsNotEndedByTheNodeThatSleptThroughIt) {
    Cluster cluster(3);
    const auto bob = cluster.connect(cluster.node(2), "bob");
    const auto before = cluster.connect(cluster.node(0), "ann");
    cluster.watch(bob, {"ann"});
    cluster.run(5s);
    cluster.pause(cluster.node(0));
    cluster.run(1s);
    cluster.set_store(false);
    cluster.run(3s);
    const auto ann = cluster.connect(cluster.node(1), "ann", before);
    cluster.run(20s);
    cluster.set_store(true);
    cluster.go_on(cluster.node(0));
    cluster.run(15s);
    EXPECT_EQ(std::ranges::count(statuses(cluster.connection(bob).told, "ann"), offline), 0);
    EXPECT_EQ(cluster.look(cluster.node(2), "bob", "ann").status, online);
    EXPECT_FALSE(cluster.connection(ann).ended);
}

TEST(ClusterWait, WhoBeganInAnOutageInWhichTheStoreLostAllWaitsUntilItKnowsWhoLives) {
    Cluster cluster(1);
    cluster.connect(cluster.node(0), "ann");
    cluster.run(5s);
    cluster.set_store(false);
    cluster.run(5s);
    Node& late = cluster.add_node();
    cluster.run(3s);
    cluster.nodes.lose_all();
    cluster.pause(cluster.node(0));  // It finds its way back a moment after the other.
    cluster.set_store(true);
    cluster.run(2s);
    EXPECT_EQ(cluster.look(late, "bob", "ann").status, unknown);
    cluster.go_on(cluster.node(0));
    cluster.run(5s);
    EXPECT_EQ(cluster.look(late, "bob", "ann").status, online);
    EXPECT_EQ(cluster.look(late, "bob", "nobody").status, offline);
}

TEST(ClusterWait, WhoComesAfterALossWaitsForThoseWhoHaveNotStatedTheirs) {
    Cluster cluster(1);
    cluster.connect(cluster.node(0), "ann");
    cluster.run(5s);
    cluster.nodes.lose_all();
    cluster.sessions.faults().set_delay(200ms);
    while (cluster.node(0).member.counters().stores_lost == 0) {
        cluster.run(50ms);
    }
    cluster.pause(cluster.node(0));  // It knows of the loss, and has a lease.
    cluster.sessions.faults().set_delay(0ms);
    Node& late = cluster.add_node();
    cluster.run(1s);
    EXPECT_EQ(cluster.look(late, "bob", "ann").status, unknown);
    cluster.go_on(cluster.node(0));
    cluster.run(5s);
    EXPECT_EQ(cluster.look(late, "bob", "ann").status, online);
    EXPECT_EQ(cluster.look(late, "bob", "nobody").status, offline);
}

TEST(ClusterWait, WhoShowsLifeAfterALossThatItsNodeSleptThroughIsBackWithoutTheDatabase) {
    Cluster cluster(2);
    const auto ann = cluster.connect(cluster.node(0), "ann");
    cluster.profiles.set_unavailable(true);
    cluster.set_store(false);
    cluster.run(3s);
    cluster.set_store(true);  // What was read of the database before is in doubt.
    cluster.run(5s);
    cluster.pause(cluster.node(0));
    cluster.nodes.lose_all();
    cluster.run(11s);
    cluster.go_on(cluster.node(0));
    for (Millis ran{0}; ran < cluster.config.heartbeat.interval + 5s; ran += 100ms) {
        cluster.run(100ms);
        const UserRecordRef record = cluster.record("ann");
        ASSERT_TRUE(!record || record->presence.shown.status == online);
    }
    ASSERT_NE(cluster.record("ann"), nullptr);
    EXPECT_EQ(cluster.record("ann")->sessions.size(), 1U);
    EXPECT_EQ(cluster.record("ann")->presence.shown.status, online);
    EXPECT_FALSE(cluster.connection(ann).ended);
}

TEST(ClusterWait, WhatTheStoreAnsweredIsShownAlsoWhereItHasGoneAwayMeanwhile) {
    Cluster cluster(2);
    Node& node = cluster.node(1);
    const auto bob = cluster.connect(node, "bob");
    cluster.run(5s);
    cluster.sessions.faults().set_delay(200ms);
    std::vector<UserId> nobody{UserId("nobody")};
    const Started<Result<std::vector<Seen>>> looking = start_task(
        node.shard.watches.watch({bob->connection.slot, bob->user, std::move(nobody), false}));
    cluster.run(100ms);
    node.member.suspect();
    for (int i = 0; i < 100 && !looking->has_value(); ++i) {
        cluster.run(1ms);
    }
    ASSERT_TRUE(looking->has_value() && looking->value().has_value());
    ASSERT_EQ(node.member.health(), StoreHealth::down);
    EXPECT_EQ(told_of(cluster.clock.now(), node.shard.reader.view((**looking)->front())).status,
              offline);
}

}  // namespace

}  // namespace presence::testing
