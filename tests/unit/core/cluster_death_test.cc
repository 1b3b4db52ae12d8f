#include "unit/core/cluster.h"

namespace presence::testing {

namespace {

TEST(ClusterDeath, FO_001_IsSettledAsSoonAsItsTimeIsOverWhateverTheBeatOfTheOthers) {
    CoreConfig config;
    config.heartbeat.grace = 5s;  // Shorter than the lease, which then is what is waited for.
    for (Millis phase{0}; phase < config.cluster.renew_every; phase += 100ms) {
        Cluster cluster(2, config);
        const auto bob = cluster.connect(cluster.node(1), "bob");
        const auto ann = cluster.connect(cluster.node(0), "ann");
        cluster.watch(bob, {"ann"});
        cluster.run(5s + phase);
        const MonoTime killed_at = cluster.clock.now();
        cluster.kill(cluster.node(0));
        cluster.run(12s);
        const std::vector<Told>& told = cluster.connection(bob).told;
        ASSERT_EQ(told.size(), 1U) << phase.count();
        EXPECT_EQ(told.front().status, Status::offline);
        EXPECT_LE(told.front().at - killed_at, config.cluster.lease + 200ms) << phase.count();
        EXPECT_GT(told.front().at - killed_at,
                  config.cluster.lease - config.cluster.renew_every - 200ms);
    }
}

/// A dead node's users whom a node was to sweep that sleeps.
struct Unswept {
    Cluster cluster{3};
    Cluster::DeviceRef ann = cluster.connect(cluster.node(1), "ann");
    Cluster::DeviceRef bob;
    Told shown;  ///< To Ann, of Bob.

    explicit Unswept(bool invisible = false) {
        std::vector<Cluster::DeviceRef> crowd;
        for (int i = 0; i < 30; ++i) {
            const std::string name = "user" + std::to_string(i);
            crowd.push_back(cluster.connect(cluster.node(0), name.c_str()));
            if (invisible) {
                cluster.declare(cluster.node(0), name.c_str(), DeclaredStatus::invisible);
            }
        }
        cluster.run(5s);
        cluster.kill(cluster.node(0));
        cluster.run(7s);
        cluster.pause(cluster.node(2));
        cluster.run(3'500ms);
        for (const Cluster::DeviceRef& one : crowd) {
            if (!cluster.record(std::string(one->user.text).c_str())->sessions.empty()) {
                bob = one;
            }
        }
        PRESENCE_ASSERT(bob != nullptr);
        shown = cluster.watch(ann, {name().c_str()}).front();
    }
    [[nodiscard]] std::string name() const { return std::string(bob->user.text); }
    void expect_told_online() {
        cluster.go_on(cluster.node(2));
        cluster.run(3s);
        EXPECT_EQ(cluster.record(name().c_str())->sessions.size(), 1U);
        const std::vector<Told>& told = cluster.connection(ann).told;
        ASSERT_FALSE(told.empty());
        EXPECT_EQ(told.back().status, Status::online);
        EXPECT_GT(told.back().version, shown.version);
        EXPECT_EQ(cluster.look(cluster.node(1), "ann", name().c_str()).status, Status::online);
    }
};

TEST(ClusterDeath, WhoComesBackAfterALookHasShownTheEndAndBeforeTheSweepIsToldToBeThere) {
    Unswept unswept;
    ASSERT_EQ(unswept.shown.status, Status::offline);
    unswept.cluster.connect(unswept.cluster.node(1), unswept.name().c_str());
    unswept.expect_told_online();
}

TEST(ClusterDeath, WhoResumesAfterALookHasShownTheEndAndBeforeTheSweepIsToldToBeThere) {
    Unswept unswept;
    ASSERT_EQ(unswept.shown.status, Status::offline);
    const auto back =
        unswept.cluster.connect(unswept.cluster.node(1), unswept.name().c_str(), unswept.bob);
    ASSERT_TRUE(back->resumed);
    unswept.expect_told_online();
}

TEST(ClusterDeath, OfOneWhoIsInvisibleTheReturnIsToldToNobody) {
    Unswept unswept(true);
    Cluster& cluster = unswept.cluster;
    ASSERT_EQ(unswept.shown.status, Status::offline);
    cluster.connect(cluster.node(1), unswept.name().c_str());
    cluster.go_on(cluster.node(2));
    cluster.run(3s);
    ASSERT_EQ(cluster.record(unswept.name().c_str())->sessions.size(), 1U);
    EXPECT_TRUE(cluster.connection(unswept.ann).told.empty());
    const auto seen = cluster.look(cluster.node(1), "ann", unswept.name().c_str());
    EXPECT_EQ(seen.status, Status::offline);
    EXPECT_EQ(seen.version, unswept.shown.version);
}

TEST(ClusterDeath, WhoCameBackBeforeTheEndIsNotToldOfAgain) {
    Cluster cluster(2);
    const auto ann = cluster.connect(cluster.node(1), "ann");
    cluster.connect(cluster.node(0), "bob");
    cluster.watch(ann, {"bob"});
    cluster.run(5s);
    cluster.kill(cluster.node(0));
    cluster.run(4s);
    cluster.connect(cluster.node(1), "bob");
    cluster.run(20s);
    ASSERT_EQ(cluster.record("bob")->sessions.size(), 1U);
    EXPECT_TRUE(cluster.connection(ann).told.empty());
}

TEST(ClusterDeath, IsSettledInTimeAlsoWhereTheNodeIsStartedAgainJustBefore) {
    Cluster cluster(2);
    std::vector<std::string> names;
    for (int i = 0; i < 40; ++i) {
        names.push_back("user" + std::to_string(i));
        cluster.connect(cluster.node(0), names.back().c_str());
    }
    cluster.run(5s);
    cluster.kill(cluster.node(0));
    cluster.run(7s);
    cluster.add_node();  // It takes nobody for dead as yet.
    cluster.run(5s);
    for (const std::string& name : names) {
        EXPECT_EQ(cluster.record(name.c_str())->presence.shown.status, Status::offline) << name;
    }
}

}  // namespace
}  // namespace presence::testing
