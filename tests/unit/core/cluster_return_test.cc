// What watchers are told of those who move between nodes while something is away.

#include "unit/core/cluster.h"

#include <algorithm>
#include <vector>

namespace presence::testing {

namespace {

using Node = Cluster::Node;
using enum Status;

TEST(ClusterReturn, WhoCameBackElsewhereDuringAnOutageIsNotShownOfflineByTheNodeThatLostThem) {
    Cluster cluster(3);
    const auto bob = cluster.connect(cluster.node(2), "bob");
    const auto before = cluster.connect(cluster.node(0), "ann");
    cluster.watch(bob, {"ann"});
    cluster.set_store(false);
    cluster.run(3s);
    cluster.lose(before);
    cluster.run(1s);
    const auto ann = cluster.connect(cluster.node(1), "ann", before);
    cluster.run(15s);  // Her grace where she was is over.
    cluster.pause(cluster.node(1));
    cluster.set_store(true);
    cluster.run(4s);  // It finds its way back later than the others.
    cluster.go_on(cluster.node(1));
    cluster.run(10s);
    const std::vector<Status> told = statuses(cluster.connection(bob).told, "ann");
    EXPECT_EQ(std::ranges::count(told, offline), 0);
    EXPECT_EQ(told.back(), online);
    EXPECT_EQ(cluster.record("ann")->sessions.size(), 1U);
    EXPECT_FALSE(cluster.connection(ann).ended);
}

TEST(ClusterReturn, AGraceThatEndsBeforeAllHaveStatedTheirsIsNoEndYet) {
    Cluster cluster(3);
    cluster.run(5s);  // All have heard of each other.
    const auto bob = cluster.connect(cluster.node(2), "bob");
    const auto before = cluster.connect(cluster.node(0), "ann");
    cluster.watch(bob, {"ann"});
    cluster.set_store(false);
    cluster.run(20s);
    cluster.lose(before);
    const auto ann = cluster.connect(cluster.node(1), "ann", before);
    cluster.run(7s);
    cluster.pause(cluster.node(1));
    cluster.set_store(true);
    cluster.run(4s);  // The grace ends.
    cluster.go_on(cluster.node(1));
    cluster.run(10s);
    const std::vector<Status> told = statuses(cluster.connection(bob).told, "ann");
    EXPECT_EQ(std::ranges::count(told, offline), 0);
    EXPECT_EQ(told.back(), online);
    EXPECT_FALSE(cluster.connection(ann).ended);
}

TEST(ClusterReturn, WhoWatchedBeforeTheStoreWasFirstReachedIsToldOnceItIs) {
    Cluster cluster(1);
    cluster.set_store(false);
    Node& late = cluster.add_node();
    cluster.run(500ms);
    const auto bob = cluster.connect(late, "bob");
    ASSERT_EQ(cluster.watch(bob, {"ann"}).front().status, unknown);
    cluster.set_store(true);
    cluster.run(10s);
    EXPECT_EQ(statuses(cluster.connection(bob).told, "ann"), (std::vector{offline}));
}

TEST(ClusterReturn, AnEndIsToldAlsoWhereTheRecordWasLostShortlyBefore) {
    Cluster cluster(2);
    const auto bob = cluster.connect(cluster.node(1), "bob");
    const auto ann = cluster.connect(cluster.node(0), "ann");
    cluster.watch(bob, {"ann"});
    cluster.run(2s);
    cluster.sessions.erase(UserId("ann"));
    cluster.bye(ann);
    cluster.run(2s);
    EXPECT_EQ(statuses(cluster.connection(bob).told, "ann"), (std::vector{offline}));
    EXPECT_TRUE(cluster.stored_last_seen("ann").has_value());
}

TEST(ClusterReturn, WhatANodeToldNobodyElseBeforeItWasRenamedIsToldTheOthersAfterIt) {
    Cluster cluster(2);
    Node& sleeper = cluster.node(0);
    const auto bob = cluster.connect(cluster.node(1), "bob");
    const auto ann = cluster.connect(sleeper, "ann");
    cluster.watch(bob, {"ann"});
    cluster.run(5s);
    cluster.pause(sleeper);
    cluster.run(60s);
    ASSERT_EQ(cluster.connection(bob).told.back().status, offline);
    // Before it has renewed its lease it tells its own, and thereby opens her anti-flap window.
    sleeper.scheduler.post([&sleeper] {
        static_cast<void>(start_task(sleeper.shard.service.change_status(
            UserId("ann"), StatusChange{DeclaredStatus::busy, std::nullopt, false, nullptr},
            false)));
    });
    cluster.go_on(sleeper);
    cluster.run(10s);
    EXPECT_EQ(cluster.record("ann")->presence.shown.status, busy);
    EXPECT_EQ(cluster.connection(bob).told.back().status, busy);
}

TEST(ClusterReturn, WhoHidAtANodeThatForgotItAsItWasRenamedIsHiddenWhenTheyShowLife) {
    Cluster cluster(2);
    Node& away = cluster.node(0);
    const auto bob = cluster.connect(cluster.node(1), "bob");
    const auto ann = cluster.connect(away, "ann");
    cluster.watch(bob, {"ann"});
    cluster.set_store(false);
    cluster.run(5s);
    cluster.declare(away, "ann", DeclaredStatus::invisible);
    away.shard.service.renamed({});
    cluster.set_store(true);
    away.shard.service.heartbeat(ann->session, cluster.clock.now());
    cluster.run(5s);
    EXPECT_EQ(cluster.record("ann")->presence.own.status, invisible);
    EXPECT_EQ(statuses(cluster.connection(bob).told, "ann"), std::vector{offline});
}

TEST(ClusterReturn, WhoWasTakenForDeadByThoseWhoKnewOfALossForLongerIsSeenToComeBack) {
    Cluster cluster(3);
    Node& sleeper = cluster.node(0);
    Node& other = cluster.node(1);
    const auto bob = cluster.connect(other, "bob");
    const auto ann = cluster.connect(sleeper, "ann");
    cluster.run(35s);
    const NodeId name = sleeper.member.self();
    cluster.pause(sleeper);
    cluster.nodes.fail_over();  // Of which it hears when it wakes.
    cluster.run(9s);
    cluster.pause(cluster.node(2));  // The one that would settle the death at once.
    while (!other.shard.nodes.died_at(name)) {
        cluster.run(Millis{10});
    }
    cluster.go_on(sleeper);
    cluster.run(Millis{100});
    ASSERT_EQ(cluster.watch(bob, {"ann"}).front().status, offline);
    sleeper.shard.service.heartbeat(ann->session, cluster.clock.now());
    cluster.run(Millis{1'200});
    ASSERT_EQ(cluster.record("ann")->sessions.at(0).node, sleeper.member.self());
    EXPECT_EQ(statuses(cluster.connection(bob).told, "ann"), std::vector{online});
    cluster.go_on(cluster.node(2));
    cluster.run(20s);
    EXPECT_EQ(statuses(cluster.connection(bob).told, "ann"), std::vector{online});
}

}  // namespace

}  // namespace presence::testing
