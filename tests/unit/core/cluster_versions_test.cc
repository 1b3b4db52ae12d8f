// Versions that go on where the store has lost, or never had, what was told (RULINGS 3, ADR 0009).

#include "unit/core/cluster.h"

#include <algorithm>

namespace presence::testing {

namespace {

/// Ann is told of by node 0 under some versions.
struct ClusterVersions : ::testing::Test {
    Cluster cluster{2};

    Presence come_and_change(Cluster::Node& node) {
        ann = cluster.connect(node, "ann");
        cluster.declare(node, "ann", DeclaredStatus::busy);
        cluster.declare(node, "ann", DeclaredStatus::automatic);
        cluster.run(2s);
        return node.shard.service.record_here(UserId("ann"))->presence;
    }
    /// What ann is told of herself, and others of her, once she comes to a node that knows nothing
    /// of her.
    void expect_above(const Presence& told) {
        const UserRecordRef record = cluster.record("ann");
        ASSERT_NE(record, nullptr);
        EXPECT_GT(record->presence.own_version, told.own_version);
        EXPECT_GT(record->presence.shown_version, told.shown_version);
    }

    Cluster::DeviceRef ann;
};

TEST_F(ClusterVersions, GoOnThroughANodeThatKnowsNothingOfTheUserAfterALoss) {
    const Presence told = come_and_change(cluster.node(0));
    cluster.pause(cluster.node(0));
    cluster.nodes.lose_all();
    cluster.run(12s);
    cluster.connect(cluster.node(1), "ann");
    expect_above(told);
}

TEST_F(ClusterVersions, GoOnThroughANodeThatCameAfterTheLoss) {
    const Presence told = come_and_change(cluster.node(0));
    cluster.kill(cluster.node(0));
    cluster.kill(cluster.node(1));
    cluster.nodes.lose_all();
    Cluster::Node& late = cluster.add_node();
    cluster.run(3s);
    cluster.connect(late, "ann");
    expect_above(told);
}

TEST_F(ClusterVersions, GoOnAfterASecondLossThroughTheOneWhoMissedTheFirst) {
    come_and_change(cluster.node(0));
    cluster.pause(cluster.node(0));
    cluster.nodes.lose_all();
    cluster.run(12s);
    // The other one goes on with her, node 0 knows nothing of it.
    const auto second = cluster.connect(cluster.node(1), "ann");
    cluster.declare(cluster.node(1), "ann", DeclaredStatus::busy);
    const Presence told = cluster.record("ann")->presence;
    cluster.kill(cluster.node(1));
    cluster.nodes.lose_all();
    cluster.go_on(cluster.node(0));
    cluster.run(30s);
    expect_above(told);
}

TEST_F(ClusterVersions, GoOnFromTheSameFloorOnAllNodes) {
    cluster.nodes.lose_all();
    cluster.run(9s);
    Cluster::Node& late = cluster.add_node();
    cluster.run(1s);
    cluster.connect(cluster.node(0), "bob");
    cluster.connect(cluster.node(1), "carl");
    cluster.connect(late, "zoe");
    const Version begun = cluster.record("bob")->presence.shown_version;
    EXPECT_EQ(cluster.record("carl")->presence.shown_version, begun);
    EXPECT_EQ(cluster.record("zoe")->presence.shown_version, begun);
}

TEST_F(ClusterVersions, OfAGuessGoOnFromTheBeginningOfTheStoresNewLife) {
    come_and_change(cluster.node(0));
    cluster.nodes.fail_over();
    cluster.run(10s);  // So all that a guess begins with has been told.
    const Presence told = cluster.record("ann")->presence;
    cluster.set_store(false);
    cluster.run(3s);
    cluster.kill(cluster.node(0));
    cluster.nodes.lose_all();
    cluster.connect(cluster.node(1), "ann");
    cluster.run(3s);
    cluster.set_store(true);
    cluster.run(15s);
    expect_above(told);
}

TEST_F(ClusterVersions, OfWhatWasDeclaredInAnOutageAreNotThoseOfLooks) {
    ann = cluster.connect(cluster.node(0), "ann");
    const auto bob = cluster.connect(cluster.node(1), "bob");
    cluster.watch(bob, {"ann"});
    cluster.set_store(false);
    cluster.run(3s);
    cluster.declare(cluster.node(0), "ann", DeclaredStatus::busy);
    cluster.run(61s);
    cluster.pause(cluster.node(0));
    cluster.set_store(true);
    cluster.run(3s);
    const Told seen = cluster.look(cluster.node(1), "bob", "ann");
    ASSERT_EQ(seen.status, Status::busy);  // By what the database has.
    cluster.go_on(cluster.node(0));
    cluster.run(10s);
    const Presence stands = cluster.record("ann")->presence;
    ASSERT_EQ(stands.shown.status, Status::busy);
    EXPECT_GT(stands.shown_version, seen.version);
    EXPECT_EQ(cluster.connection(bob).told.back().version, stands.shown_version);
}

TEST_F(ClusterVersions, OfAnEndThatTheDatabaseHasNotGotAreStatedToAStoreThatLostAll) {
    const auto bob = cluster.connect(cluster.node(1), "bob");
    cluster.watch(bob, {"ann"});
    come_and_change(cluster.node(0));
    cluster.profiles.faults().set_unavailable(true);
    cluster.bye(ann);
    cluster.run(3s);
    const Presence told = cluster.record("ann")->presence;
    ASSERT_EQ(told.shown.status, Status::offline);
    cluster.nodes.lose_all();
    cluster.run(20s);
    ASSERT_NE(cluster.record("ann"), nullptr);
    const Presence stands = cluster.record("ann")->presence;
    EXPECT_EQ(stands.own_version, told.own_version);
    EXPECT_EQ(stands.shown_version, told.shown_version);
    EXPECT_EQ(stands.last_seen, told.last_seen);
    // And it is owed again: who settles this node's death writes it.
    cluster.kill(cluster.node(0));
    cluster.run(20s);
    cluster.profiles.faults().set_unavailable(false);
    cluster.run(5s);
    EXPECT_EQ(cluster.stored_last_seen("ann"), told.last_seen);
}

TEST_F(ClusterVersions, OfAnEndAreNotStatedOfOneWhoIsBackElsewhere) {
    const auto bob = cluster.connect(cluster.node(0), "bob");
    cluster.watch(bob, {"ann"});
    const auto carl = cluster.connect(cluster.node(1), "carl");
    cluster.watch(carl, {"ann"});  // So that node 1 knows her rules.
    come_and_change(cluster.node(0));
    cluster.profiles.faults().set_unavailable(true);
    cluster.bye(ann);
    cluster.run(3s);
    const auto again = cluster.connect(cluster.node(1), "ann");
    cluster.run(1s);
    cluster.connection(bob).told.clear();
    cluster.nodes.lose_all();
    cluster.run(20s);
    const std::vector<Status> seen = statuses(cluster.connection(bob).told, "ann");
    EXPECT_EQ(std::ranges::count(seen, Status::offline), 0);
    EXPECT_EQ(cluster.record("ann")->sessions.size(), 1U);
}

TEST_F(ClusterVersions, OfAUsersOwnGoOnWhereTheStoreNeverHadThem) {
    cluster.run(1s);
    cluster.set_store(false);
    cluster.run(3s);
    const Presence told = come_and_change(cluster.node(0));
    cluster.kill(cluster.node(0));
    cluster.set_store(true);
    cluster.run(5s);  // Node 1 has found its way back.
    cluster.connect(cluster.node(1), "ann");
    cluster.run(5s);
    EXPECT_GT(cluster.record("ann")->presence.own_version, told.own_version);
}

TEST_F(ClusterVersions, OfOneWhoIsInvisibleDoNotBeginForOthers) {
    const Presence told = come_and_change(cluster.node(0));
    cluster.bye(ann);
    cluster.run(2s);
    const auto zoe = cluster.connect(cluster.node(0), "zoe");
    cluster.bye(zoe);
    cluster.declare(cluster.node(0), "carl", DeclaredStatus::invisible);
    cluster.nodes.lose_all();
    cluster.run(20s);
    cluster.connect(cluster.node(1), "carl");
    EXPECT_GT(cluster.record("carl")->presence.own_version, told.own_version);
    EXPECT_EQ(cluster.record("carl")->presence.shown_version, Version{});
}

TEST_F(ClusterVersions, SettledAboveWhatAUserWasToldOfThemselvesDoNotBeginForOthers) {
    cluster.declare(cluster.node(0), "carl", DeclaredStatus::invisible);
    cluster.connect(cluster.node(0), "carl");
    const Version own{cluster.record("carl")->presence.own_version.value + 1'000};
    cluster.node(0).scheduler.post([&] {
        cluster.node(0).shard.service.settle_above(UserId("carl"), {own, {}});
    });
    cluster.run(1s);
    EXPECT_GT(cluster.record("carl")->presence.own_version, own);
    EXPECT_EQ(cluster.record("carl")->presence.shown_version, Version{});
}

TEST_F(ClusterVersions, OfOneWhoCameInvisibleInAnOutageDoNotBeginForOthers) {
    cluster.connect(cluster.node(1), "bob");
    cluster.declare(cluster.node(0), "carl", DeclaredStatus::invisible);
    cluster.set_store(false);
    cluster.run(3s);
    cluster.connect(cluster.node(0), "carl");
    cluster.run(3s);
    cluster.set_store(true);
    cluster.run(15s);
    ASSERT_NE(cluster.record("carl"), nullptr);
    EXPECT_EQ(cluster.record("carl")->sessions.size(), 1U);
    EXPECT_EQ(cluster.record("carl")->presence.shown_version, Version{});
}

}  // namespace

}  // namespace presence::testing
