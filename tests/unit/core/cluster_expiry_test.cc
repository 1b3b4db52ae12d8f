#include "unit/core/cluster.h"

#include <gmock/gmock.h>

namespace presence::testing {
namespace {

using enum Status;
using ::testing::IsEmpty;

/// Declared through `node`, until `life` from now.
void declare_for(Cluster& cluster, Cluster::Node& node, const char* user, Millis life) {
    Result<StatusOutcome> outcome = cluster.wait(node.shard.service.change_status(
        UserId(user),
        StatusChange{DeclaredStatus::busy, cluster.clock.wall_now() + life, false, nullptr},
        false));
    ASSERT_TRUE(outcome.has_value());
    cluster.run(Millis{10});
}

/// What the viewer was told last of the user.
Status told_last(Cluster& cluster, const Cluster::DeviceRef& viewer) {
    return cluster.connection(viewer).told.back().status;
}

struct ClusterExpiry : ::testing::Test {
    Cluster cluster{3};
    Cluster::DeviceRef ann = cluster.connect(cluster.node(0), "ann");
    Cluster::DeviceRef bob = cluster.connect(cluster.node(2), "bob");

    ClusterExpiry() {
        cluster.run(3s);
        cluster.watch(bob, {"ann"});
    }
};

TEST_F(ClusterExpiry, OneSetThroughANodeWithoutASessionOfTheUserComesOnTime) {
    declare_for(cluster, cluster.node(1), "ann", 5s);
    EXPECT_EQ(told_last(cluster, bob), busy);
    cluster.run(4900ms);
    EXPECT_EQ(told_last(cluster, bob), busy);
    cluster.run(1100ms);
    EXPECT_EQ(told_last(cluster, bob), online);
    EXPECT_EQ(cluster.record("ann")->presence.declared.status, DeclaredStatus::automatic);
}

TEST_F(ClusterExpiry, OneWhoseNodeIsKilledAtOnceComesOnTimeFromTheNodeWithTheSession) {
    declare_for(cluster, cluster.node(1), "ann", 5s);
    cluster.kill(cluster.node(1));
    cluster.run(4900ms);
    EXPECT_EQ(told_last(cluster, bob), busy);
    cluster.run(300ms);
    EXPECT_EQ(told_last(cluster, bob), online);
    EXPECT_EQ(cluster.record("ann")->presence.declared.status, DeclaredStatus::automatic);
}

TEST_F(ClusterExpiry, ALateOneIsThatOfTheNodeWithTheSession) {
    declare_for(cluster, cluster.node(1), "ann", 600s);
    cluster.run(2 * cluster.config.heartbeat.interval + 1s);  // Records are checked.
    cluster.kill(cluster.node(1));
    cluster.run(600s - 2 * cluster.config.heartbeat.interval - 1500ms);
    EXPECT_EQ(told_last(cluster, bob), busy);
    cluster.run(1600ms);
    EXPECT_EQ(told_last(cluster, bob), online);
}

TEST_F(ClusterExpiry, ANodeForgetsTheUserOnceTheOthersMustHaveLooked) {
    declare_for(cluster, cluster.node(1), "ann", 600s);
    cluster.run(5s);
    EXPECT_EQ(cluster.node(1).shard.service.user_count(), 0U);
    declare_for(cluster, cluster.node(1), "ann", 20s);
    cluster.run(5s);
    EXPECT_EQ(cluster.node(1).shard.service.user_count(), 1U);
    cluster.run(20s);
    EXPECT_EQ(cluster.node(1).shard.service.user_count(), 0U);
}

TEST_F(ClusterExpiry, AReadThatMeetsWhatIsOverShowsItRevertedAndSettles) {
    cluster.set_deaf(cluster.node(0), true);
    declare_for(cluster, cluster.node(1), "ann", 5s);
    cluster.kill(cluster.node(1));  // It alone knew, as yet.
    cluster.set_deaf(cluster.node(0), false);
    cluster.run(7s);
    ASSERT_EQ(cluster.record("ann")->presence.declared.status, DeclaredStatus::busy);
    EXPECT_EQ(cluster.look(cluster.node(2), "bob", "ann").status, online);
    cluster.run(1500ms);
    EXPECT_EQ(cluster.record("ann")->presence.declared.status, DeclaredStatus::automatic);
    EXPECT_EQ(told_last(cluster, bob), online);
}

// --- The database, which a death does not need ---------------------------------------------------

TEST_F(ClusterExpiry, ADeathIsSettledWhileTheDatabaseIsAway) {
    cluster.profiles.set_unavailable(true);
    cluster.kill(cluster.node(0));
    cluster.run(12s);
    EXPECT_EQ(told_last(cluster, bob), offline);
    EXPECT_THAT(cluster.record("ann")->sessions, IsEmpty());
}

TEST_F(ClusterExpiry, OneWhoCannotBeReadKeepsNoOtherFromBeingSettled) {
    const auto carl = cluster.connect(cluster.node(2), "carl");
    cluster.run(1s);
    cluster.profiles.set_unavailable(true);
    std::vector<UserId> users{UserId("ann"), UserId("nobody")};
    const Result<bool> settled = cluster.wait(cluster.node(2).shard.service.settle_death(
        std::move(users), cluster.node(0).member.self(), cluster.clock.wall_now() - 60s));
    ASSERT_FALSE(settled.has_value());
    EXPECT_EQ(settled.error().code, ErrorCode::unavailable);
    EXPECT_THAT(cluster.record("ann")->sessions, IsEmpty());
}

}  // namespace
}  // namespace presence::testing
