// What a node tells and states of users of whom it has only heard while the store was away
// (RULINGS 29).

#include "unit/core/cluster.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace presence::testing {

namespace {

using enum Status;
using ::testing::Contains;
using ::testing::Not;

/// Ann is live at node 0 all the time; bob, at node 1, watches her through an outage.
struct ClusterGuess : ::testing::Test {
    Cluster cluster{2};
    Cluster::DeviceRef ann = cluster.connect(cluster.node(0), "ann");
    Cluster::DeviceRef carl = cluster.connect(cluster.node(0), "carl");
    Cluster::DeviceRef bob = cluster.connect(cluster.node(1), "bob");

    void SetUp() override {
        cluster.watch(carl, {"ann"});
        cluster.watch(bob, {"ann"});
        cluster.run(2s);
        cluster.set_store(false);
        cluster.run(3s);
    }
    /// Node 0 finds its way back a moment after the other.
    void store_is_back(bool lost) {
        if (lost) {
            cluster.nodes.lose_all();
        }
        cluster.pause(cluster.node(0));
        cluster.set_store(true);
        cluster.run(2500ms);
        cluster.go_on(cluster.node(0));
        cluster.run(15s);
    }
    std::vector<Status> told(const Cluster::DeviceRef& viewer) {
        return statuses(cluster.connection(viewer).told, "ann");
    }
    bool told_offline(const Cluster::DeviceRef& viewer) {
        return std::ranges::count(told(viewer), offline) > 0;
    }
    std::size_t ends_told() {
        const std::vector<WebhookEvent>& said = cluster.node(1).hooks.said;
        return static_cast<std::size_t>(
            std::ranges::count(said, WebhookType::user_offline, &WebhookEvent::type));
    }
};

TEST_F(ClusterGuess, AStatusSetElsewhereInAnOutageShowsNobodyOffline) {
    cluster.declare(cluster.node(1), "ann", DeclaredStatus::dnd);
    cluster.run(100ms);
    cluster.declare(cluster.node(1), "ann", DeclaredStatus::busy);
    cluster.run(1s);
    EXPECT_FALSE(told_offline(bob));
    store_is_back(true);
    EXPECT_FALSE(told_offline(bob));
    EXPECT_FALSE(told_offline(carl));
    ASSERT_FALSE(told(bob).empty());
    EXPECT_EQ(told(bob).back(), busy);
    EXPECT_EQ(told(carl).back(), busy);
    EXPECT_EQ(ends_told(), 0U);
}

TEST_F(ClusterGuess, AShortVisitElsewhereInAnOutageShowsNobodyOffline) {
    const auto phone = cluster.connect(cluster.node(1), "ann");
    cluster.run(2s);
    cluster.bye(phone);
    cluster.run(5s);
    EXPECT_FALSE(told_offline(bob));
    EXPECT_EQ(told(bob).back(), unknown);
    store_is_back(false);
    EXPECT_FALSE(told_offline(bob));
    EXPECT_FALSE(told_offline(carl));
    EXPECT_EQ(told(bob).back(), online);
    EXPECT_EQ(ends_told(), 0U);
}

TEST_F(ClusterGuess, NorDoesItWhereTheStoreComesBackEmpty) {
    const auto phone = cluster.connect(cluster.node(1), "ann");
    cluster.run(2s);
    cluster.lose(phone);  // And its grace passes.
    cluster.run(15s);
    store_is_back(true);
    EXPECT_FALSE(told_offline(bob));
    EXPECT_FALSE(told_offline(carl));
    EXPECT_EQ(told(bob).back(), online);
    EXPECT_EQ(cluster.record("ann")->sessions.size(), 1U);
    EXPECT_EQ(ends_told(), 0U);
}

TEST_F(ClusterGuess, OneWhoWasNowhereElseIsOfflineOnceAllNodesHaveStatedTheirs) {
    for (const bool lost : {false, true}) {
        cluster.set_store(false);
        cluster.watch(bob, {"ann", "dan"});
        cluster.connection(bob).told.clear();
        const auto dan = cluster.connect(cluster.node(1), "dan");
        cluster.run(2s);
        cluster.bye(dan);
        const WallTime gone_at = cluster.clock.wall_now();
        cluster.run(2s);
        store_is_back(lost);
        const std::vector<Status> of_dan = statuses(cluster.connection(bob).told, "dan");
        ASSERT_FALSE(of_dan.empty());
        EXPECT_EQ(of_dan.back(), offline);
        EXPECT_EQ(cluster.look(cluster.node(0), "carl", "dan").status, offline);
        ASSERT_TRUE(cluster.stored_last_seen("dan"));
        EXPECT_NEAR(static_cast<double>(cluster.stored_last_seen("dan")->ms()),
                    static_cast<double>(gone_at.ms()), 20);
    }
}

TEST(ClusterGuessAfterALoss, WhoLeavesBeforeAllHadStatedIsNotToldOffline) {
    Cluster cluster(2);
    const auto bob = cluster.connect(cluster.node(0), "bob");
    const auto phone = cluster.connect(cluster.node(0), "ann");
    cluster.connect(cluster.node(1), "ann");
    cluster.watch(bob, {"ann"});
    cluster.run(2s);
    cluster.pause(cluster.node(1));
    cluster.nodes.lose_all();
    cluster.run(2500ms);
    ASSERT_NE(cluster.record("ann"), nullptr);
    ASSERT_EQ(cluster.record("ann")->sessions.size(), 1U);  // The other has not been stated yet.
    cluster.set_store(false);
    cluster.go_on(cluster.node(1));
    cluster.run(3s);
    cluster.bye(phone);
    cluster.run(12s);
    EXPECT_THAT(statuses(cluster.connection(bob).told, "ann"), Not(Contains(offline)));
    EXPECT_EQ(cluster.look(cluster.node(0), "bob", "ann").status, unknown);
    cluster.set_store(true);
    cluster.run(20s);
    EXPECT_THAT(statuses(cluster.connection(bob).told, "ann"), Not(Contains(offline)));
    EXPECT_EQ(cluster.look(cluster.node(0), "bob", "ann").status, online);
}

}  // namespace

}  // namespace presence::testing
