// Devices that live by heartbeats over HTTP, beaten on several nodes (DESIGN rule 7).

#include "unit/core/cluster.h"

namespace presence::testing {

namespace {

using Node = Cluster::Node;

const UserId kAnn("ann");
const SessionId kPhone = beating_session("phone");

Result<Attachment> beat(Cluster& cluster, Node& node) {
    BeatRequest request;
    request.user = kAnn;
    request.session = kPhone;
    request.token_issued_at = cluster.clock.wall_now();
    Result<Attachment> taken = cluster.wait(node.shard.service.beat(std::move(request)));
    cluster.run(20ms);
    return taken;
}

void expect_refused(Cluster& cluster, Node& node) {
    const Result<Attachment> refused = beat(cluster, node);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::forbidden);
}

TEST(HttpBeatsOfNodes, OneThatIsKickedIsRefusedByEveryNode) {
    for (const std::size_t kicker : {0U, 1U, 2U}) {
        Cluster cluster(3);
        ASSERT_TRUE(beat(cluster, cluster.node(0)));
        ASSERT_TRUE(*cluster.wait(cluster.node(kicker).shard.service.kick(kAnn, kPhone)));
        cluster.run(100ms);
        for (std::size_t i = 0; i < 3; ++i) {
            expect_refused(cluster, cluster.node(i));
        }
        EXPECT_TRUE(cluster.record("ann")->sessions.empty());
        cluster.run(cluster.config.heartbeat.ttl);
        EXPECT_TRUE(beat(cluster, cluster.node(2)));
    }
}

TEST(HttpBeatsOfNodes, OneThatIsKickedWhileItsHolderIsDeafDoesNotComeBackByIt) {
    Cluster cluster(2);
    ASSERT_TRUE(beat(cluster, cluster.node(0)));
    Cluster::set_deaf(cluster.node(0), true);
    ASSERT_TRUE(*cluster.wait(cluster.node(1).shard.service.kick(kAnn, kPhone)));
    for (int i = 0; i < 8; ++i) {
        cluster.run(8s);
        static_cast<void>(beat(cluster, cluster.node(0)));
    }
    EXPECT_TRUE(cluster.record("ann")->sessions.empty());
    expect_refused(cluster, cluster.node(0));
}

TEST(HttpBeatsOfNodes, OneOfAnErasedUserIsRefusedByEveryNode) {
    Cluster cluster(2);
    ASSERT_TRUE(beat(cluster, cluster.node(0)));
    ASSERT_TRUE(*cluster.wait(cluster.node(1).shard.service.erase(kAnn)));
    cluster.run(100ms);
    expect_refused(cluster, cluster.node(0));
    expect_refused(cluster, cluster.node(1));
}

TEST(HttpBeatsOfNodes, ASignOutOnAnyNodeEndsTheRefusalOnAll) {
    Cluster cluster(2);
    ASSERT_TRUE(beat(cluster, cluster.node(0)));
    ASSERT_TRUE(*cluster.wait(cluster.node(0).shard.service.kick(kAnn, kPhone)));
    ASSERT_TRUE(cluster.wait(cluster.node(1).shard.service.sign_out(kAnn, kPhone)));
    EXPECT_TRUE(beat(cluster, cluster.node(0)));
}

TEST(HttpBeatsOfNodes, ARefusalOutlivesTheLossOfTheStore) {
    Cluster cluster(2);
    const auto laptop = cluster.connect(cluster.node(0), "ann");
    ASSERT_TRUE(beat(cluster, cluster.node(0)));
    ASSERT_TRUE(*cluster.wait(cluster.node(0).shard.service.kick(kAnn, kPhone)));
    cluster.nodes.lose_all();
    cluster.run(10s);
    expect_refused(cluster, cluster.node(1));
}

TEST(HttpBeatsOfNodes, OneWhoseNodeSleptOverItsEndComesBackOnceAndStays) {
    Cluster cluster(2);
    const auto bob = cluster.connect(cluster.node(1), "bob");
    ASSERT_TRUE(beat(cluster, cluster.node(0)));
    cluster.watch(bob, {"ann"});
    cluster.pause(cluster.node(0));
    cluster.run(cluster.config.heartbeat.ttl + 20s);
    ASSERT_EQ(statuses(cluster.connection(bob).told, "ann"), std::vector{Status::offline});
    cluster.go_on(cluster.node(0));
    cluster.run(5s);
    for (int i = 0; i < 12; ++i) {
        EXPECT_TRUE(beat(cluster, cluster.node(0)));
        cluster.run(cluster.config.heartbeat.interval);
    }
    EXPECT_EQ(statuses(cluster.connection(bob).told, "ann"),
              (std::vector{Status::offline, Status::online}));
    EXPECT_EQ(cluster.node(0).shard.service.session_count(), 1U);
}

}  // namespace

}  // namespace presence::testing
