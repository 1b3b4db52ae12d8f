// What nodes make of one record that the store has lost, and of sessions that a lost commit would
// bring back.

#include "unit/core/cluster.h"

#include <gmock/gmock.h>

#include <optional>

namespace presence::testing {

namespace {

using enum Status;

/// What a fail-over does that loses what was written since `record`.
void put_back(Cluster& cluster, const UserRecordRef& record) {
    const UserId user("ann");
    cluster.sessions.erase(user);
    const Commit commit{user, 0, record, 26h, nullptr};
    ASSERT_EQ(cluster.sessions.commit(commit, nullptr), CommitOutcome::committed);
    cluster.nodes.fail_over();
}

TEST(ClusterLostRecord, AChangeThatMeetsALostRecordSettlesAboveIt) {
    Cluster cluster(2);
    const auto bob = cluster.connect(cluster.node(1), "bob");
    const auto ann = cluster.connect(cluster.node(0), "ann");
    cluster.watch(bob, {"ann"});
    const Version told = cluster.record("ann")->presence.shown_version;
    cluster.sessions.erase(UserId("ann"));
    cluster.declare(cluster.node(0), "ann", DeclaredStatus::busy);
    EXPECT_EQ(statuses(cluster.connection(bob).told, "ann"), (std::vector{Status::busy}));
    EXPECT_GT(cluster.record("ann")->presence.shown_version, told);
    EXPECT_EQ(cluster.node(0).shard.counters.orphaned, 0U);
}

TEST(ClusterLostRecord, WhoHidElsewhereIsNotShownByANodeThatReadWhatWasDeclaredBefore) {
    Cluster cluster(2);
    const auto bob = cluster.connect(cluster.node(0), "bob");
    cluster.connect(cluster.node(0), "ann");
    cluster.connect(cluster.node(1), "ann");
    cluster.declare(cluster.node(1), "ann", DeclaredStatus::busy);
    cluster.connect(cluster.node(1), "ann");  // Reads it.
    cluster.watch(bob, {"ann"});
    cluster.run(5s);
    cluster.declare(cluster.node(0), "ann", DeclaredStatus::invisible);
    ASSERT_EQ(statuses(cluster.connection(bob).told, "ann"), std::vector{offline});
    cluster.sessions.erase(UserId("ann"));
    std::vector<UserId> ann{UserId("ann")};
    ASSERT_TRUE(cluster.wait(cluster.node(1).shard.service.assert_again(std::move(ann))));
    cluster.run(5s);
    EXPECT_EQ(cluster.record("ann")->presence.own.status, invisible);
    EXPECT_THAT(statuses(cluster.connection(bob).told, "ann"), ::testing::Each(offline));
}

TEST(ClusterLostRecord, WhoWentElsewhereIsNotShownByWhatWasReadOfThemBefore) {
    Cluster cluster(2);
    const auto bob = cluster.connect(cluster.node(1), "bob");
    cluster.look(cluster.node(1), "bob", "ann");  // Reads that nothing is stored of her.
    const auto ann = cluster.connect(cluster.node(0), "ann");
    ASSERT_EQ(cluster.look(cluster.node(1), "bob", "ann").status, online);
    cluster.bye(ann);
    cluster.run(2s);
    const Told told = cluster.look(cluster.node(1), "bob", "ann");
    cluster.sessions.erase(UserId("ann"));
    for (int looks = 0; looks < 2; ++looks) {
        const Told now = cluster.look(cluster.node(1), "bob", "ann");
        EXPECT_EQ(now.status, offline);
        EXPECT_EQ(now.version, told.version);
    }
    EXPECT_EQ(cluster.node(1).shard.counters.profile_loads, 3U);  // Bob, and twice ann.
}

TEST(ClusterLostRecord, WhoWentHereComesBackAboveWhatWasTold) {
    Cluster cluster(2);
    const auto ann = cluster.connect(cluster.node(0), "ann");
    cluster.bye(ann);
    cluster.run(2s);
    const Version told = cluster.record("ann")->presence.shown_version;
    cluster.sessions.erase(UserId("ann"));
    cluster.connect(cluster.node(0), "ann");
    EXPECT_GT(cluster.record("ann")->presence.shown_version, told);
}

TEST(ClusterLostRecord, ASecondDeviceThatMeetsALostRecordDoesNotEndTheFirst) {
    Cluster cluster(2);
    const auto bob = cluster.connect(cluster.node(1), "bob");
    const auto ann = cluster.connect(cluster.node(0), "ann");
    cluster.watch(bob, {"ann"});
    cluster.sessions.erase(UserId("ann"));
    const auto second = cluster.connect(cluster.node(0), "ann");
    cluster.bye(second);
    cluster.run(5s);
    for (const Told& told : cluster.connection(bob).told) {
        EXPECT_EQ(told.status, online) << told;
    }
    EXPECT_EQ(cluster.record("ann")->sessions.size(), 1U);
}

TEST(ClusterLostRecord, ALostRecordThatCameToAsManyCommitsAgainIsNotTakenForTheSame) {
    Cluster cluster(2);
    const auto phone = cluster.connect(cluster.node(0), "ann");
    cluster.connect(cluster.node(1), "ann");
    cluster.run(40s);  // Both have seen how many commits there were.
    const UserRecordRef before = cluster.record("ann");
    cluster.sessions.erase(UserId("ann"));
    while (!cluster.record("ann") || cluster.record("ann")->commit < before->commit) {
        cluster.declare(cluster.node(1), "ann", DeclaredStatus::busy);
        cluster.declare(cluster.node(1), "ann", DeclaredStatus::automatic);
    }
    cluster.run(40s);
    EXPECT_EQ(cluster.record("ann")->sessions.size(), 2U);
    EXPECT_GT(cluster.record("ann")->presence.shown_version, before->presence.shown_version);
    cluster.bye(phone);
    cluster.run(2s);
    EXPECT_EQ(cluster.record("ann")->sessions.size(), 1U);
}

TEST(ClusterLostRecord, TheRecordOfOneWhoseOtherDeviceMovedAwayIsWatchedOver) {
    Cluster cluster(2);
    const auto ann = cluster.connect(cluster.node(0), "ann");
    const auto phone = cluster.connect(cluster.node(0), "ann");
    const auto moved = cluster.connect(cluster.node(1), "ann", phone);
    cluster.bye(moved);
    cluster.run(1s);
    cluster.sessions.erase(UserId("ann"));
    cluster.run(cluster.config.heartbeat.interval + 1s);
    ASSERT_NE(cluster.record("ann"), nullptr);
    EXPECT_EQ(cluster.record("ann")->sessions.size(), 1U);
}

TEST(ClusterLostRecord, AFailOverThatLosesAGoodbyeDoesNotBringItsSessionBack) {
    Cluster cluster(2);
    const auto bob = cluster.connect(cluster.node(1), "bob");
    const auto ann = cluster.connect(cluster.node(0), "ann");
    cluster.watch(bob, {"ann"});
    const UserRecordRef before = cluster.record("ann");
    cluster.run(5s);
    cluster.bye(ann);
    cluster.run(2s);
    const Version told = cluster.look(cluster.node(1), "bob", "ann").version;
    const std::optional<WallTime> left = cluster.stored_last_seen("ann");
    put_back(cluster, before);
    cluster.run(10s);
    EXPECT_TRUE(cluster.record("ann")->sessions.empty());
    const Told now = cluster.look(cluster.node(1), "bob", "ann");
    EXPECT_EQ(now.status, offline);
    EXPECT_GT(now.version, told);
    EXPECT_EQ(cluster.record("ann")->presence.last_seen, left);
    EXPECT_EQ(cluster.stored_last_seen("ann"), left);
    EXPECT_EQ(statuses(cluster.connection(bob).told, "ann").back(), offline);
}

TEST(ClusterLostRecord, WhoCameBackAfterALostGoodbyeHasOneSessionAndGoesForGood) {
    Cluster cluster(2);
    const auto bob = cluster.connect(cluster.node(1), "bob");
    const auto ann = cluster.connect(cluster.node(0), "ann");
    cluster.watch(bob, {"ann"});
    const UserRecordRef before = cluster.record("ann");
    cluster.bye(ann);
    cluster.run(2s);
    put_back(cluster, before);
    const auto again = cluster.connect(cluster.node(0), "ann");
    cluster.run(10s);
    EXPECT_EQ(cluster.record("ann")->sessions.size(), 1U);
    EXPECT_FALSE(cluster.connection(again).ended);
    cluster.bye(again);
    cluster.run(2s);
    EXPECT_TRUE(cluster.record("ann")->sessions.empty());
    EXPECT_EQ(cluster.look(cluster.node(1), "bob", "ann").status, offline);
}

TEST(ClusterLostRecord, WhoIsNamedTwiceAmongTheDeadsUsersIsSettledOnce) {
    Cluster cluster(2);
    const auto ann = cluster.connect(cluster.node(0), "ann");
    const NodeId dead = cluster.node(0).member.self();
    cluster.kill(cluster.node(0));
    std::vector<UserId> twice{UserId("ann"), UserId("ann")};
    Result<bool> settled = cluster.wait(cluster.node(1).shard.service.settle_death(
        std::move(twice), dead, cluster.clock.wall_now() - 60s));
    ASSERT_TRUE(settled.has_value());
    EXPECT_TRUE(cluster.record("ann")->sessions.empty());
}

}  // namespace

}  // namespace presence::testing
