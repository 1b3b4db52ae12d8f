// Which version `unknown` carries (DESIGN rule 30): the same on every road.

#include "unit/core/cluster.h"

namespace presence::testing {

namespace {

using enum Status;

struct ClusterUnknown : ::testing::Test {
    Cluster cluster{2};
    Cluster::DeviceRef ann = cluster.connect(cluster.node(0), "ann");
    Cluster::DeviceRef bob = cluster.connect(cluster.node(1), "bob");
    Cluster::DeviceRef carl = cluster.connect(cluster.node(1), "carl");

    void store_goes_away() {
        cluster.set_store(false);
        cluster.run(15s);
    }
    void show(Audience audience) {
        PrivacySettings settings;
        settings.online = PrivacyRule{audience, {}};
        ASSERT_TRUE(cluster.wait(
            cluster.node(0).shard.editor.set_privacy(UserId("ann"), std::move(settings))));
        cluster.run(2s);
    }
    void set_takes(const Cluster::DeviceRef& reader, bool takes) {
        reader->node->gateway.set_takes(reader->connection, takes);
        cluster.run(10ms);
    }
};

TEST_F(ClusterUnknown, ALookWithoutAWatchHasTheVersionThatWasKnownHere) {
    const Version before = cluster.look(cluster.node(1), "bob", "ann").version;
    ASSERT_GT(before, Version{});
    store_goes_away();
    for (int i = 0; i < 2; ++i) {
        const Told told = cluster.look(cluster.node(1), "bob", "ann");
        EXPECT_EQ(told.status, unknown);
        EXPECT_EQ(told.version, before);
    }
}

TEST_F(ClusterUnknown, AWatchThatBeginsMeanwhileGoesOnFromWhatOthersHeardHere) {
    cluster.watch(bob, {"ann"});
    cluster.declare(cluster.node(0), "ann", DeclaredStatus::away);
    cluster.run(2s);
    const Version before = cluster.connection(bob).told.back().version;
    store_goes_away();
    const std::vector<Told> told = cluster.watch(carl, {"ann"});
    EXPECT_EQ(told.front().status, unknown);
    EXPECT_EQ(told.front().version, before);
    cluster.set_store(true);
    cluster.run(15s);
    EXPECT_EQ(cluster.connection(carl).told.back().status, away);
    EXPECT_GE(cluster.connection(carl).told.back().version, before);
}

TEST_F(ClusterUnknown, WhoeverHidMeanwhileIsHiddenFromTheFirstLookOn) {
    ASSERT_EQ(cluster.look(cluster.node(1), "bob", "ann").status, online);
    cluster.set_store(false);
    cluster.run(3s);
    show(Audience::nobody);
    cluster.set_store(true);
    for (int i = 0; i < 10'000 && cluster.node(1).shard.nodes.is_cut_off(); ++i) {
        cluster.run(1ms);
    }
    const Told told = cluster.look(cluster.node(1), "bob", "ann");
    EXPECT_EQ(told.status, cluster.look(cluster.node(1), "bob", "nobody").status);
    EXPECT_EQ(told.version, Version{});
}

TEST_F(ClusterUnknown, WhoWasToldOfItIsShownWhatStandsAlsoUnderAKnownVersion) {
    cluster.watch(bob, {"ann"});
    store_goes_away();
    const auto told_since = [&, so_far = cluster.connection(bob).told.size()] {
        return cluster.connection(bob).told.size() > so_far;
    };
    cluster.set_store(true);
    const auto watch = [&] {
        return cluster
            .wait(bob->node->shard.watches.watch(
                {bob->connection.slot, bob->user, {UserId("ann")}, false}))
            .value()
            .front();
    };
    Seen seen = watch();
    while (seen.unreachable && !told_since()) {
        cluster.run(1ms);
        seen = watch();
    }
    ASSERT_FALSE(told_since());
    EXPECT_FALSE(seen.rules_untouched);
    EXPECT_TRUE(watch().rules_untouched) << "from then on the version says it all";
}

TEST_F(ClusterUnknown, AReaderThatFellBehindIsToldOnceItReadsAgain) {
    cluster.watch(bob, {"ann"});
    const Version before = cluster.look(cluster.node(1), "bob", "ann").version;
    set_takes(bob, false);
    store_goes_away();
    ASSERT_TRUE(cluster.connection(bob).told.empty());
    set_takes(bob, true);
    ASSERT_EQ(cluster.connection(bob).told.size(), 1U);
    EXPECT_EQ(cluster.connection(bob).told.front().status, unknown);
    EXPECT_EQ(cluster.connection(bob).told.front().version, before);
    cluster.set_store(true);
    cluster.run(15s);
    EXPECT_EQ(statuses(cluster.connection(bob).told, "ann"),
              (std::vector<Status>{unknown, online}));
}

TEST_F(ClusterUnknown, AReaderThatFellBehindThroughAllOfItHasMissedNothing) {
    cluster.watch(bob, {"ann"});
    set_takes(bob, false);
    store_goes_away();
    cluster.set_store(true);
    cluster.run(15s);
    set_takes(bob, true);
    for (const Told& told : cluster.connection(bob).told) {
        EXPECT_EQ(told.status, online);
    }
    cluster.bye(ann);
    cluster.run(2s);
    EXPECT_EQ(cluster.connection(bob).told.back().status, offline);
}

TEST_F(ClusterUnknown, OneWhoIsToldLateHearsOfWhoComesHereMeanwhile) {
    cluster.watch(bob, {"ann"});
    set_takes(bob, false);
    show(Audience::nobody);  // So that bob is owed another view than the one that it holds.
    show(Audience::everyone);
    store_goes_away();
    set_takes(bob, true);
    ASSERT_EQ(cluster.connection(bob).told.size(), 1U);
    EXPECT_EQ(cluster.connection(bob).told.front().status, unknown);
    cluster.connect(cluster.node(1), "ann");
    cluster.run(2s);
    EXPECT_EQ(cluster.connection(bob).told.back().status, online);
}

TEST_F(ClusterUnknown, OneWhoIsInvisibleHereIsNotToldByItFromOneOfWhomNothingIsKnown) {
    cluster.connect(cluster.node(1), "zoe");
    cluster.declare(cluster.node(1), "zoe", DeclaredStatus::invisible);
    cluster.run(2s);
    store_goes_away();
    const Told hidden = cluster.look(cluster.node(1), "bob", "zoe");
    const Told nobody = cluster.look(cluster.node(1), "bob", "nobody");
    EXPECT_EQ(hidden.status, unknown);
    EXPECT_EQ(hidden.version, nobody.version);
}

TEST_F(ClusterUnknown, WhomTheViewerMayNotSeeIsAsOneWhoNeverExistedAlsoWhenKnownHere) {
    cluster.look(cluster.node(1), "bob", "ann");
    cluster.hide("ann");
    store_goes_away();
    EXPECT_EQ(cluster.look(cluster.node(1), "bob", "ann").version, Version{});
}

TEST_F(ClusterUnknown, OfMoreUsersThanTheLimitTheOldestAreForgottenAndCounted) {
    ASSERT_GT(cluster.look(cluster.node(1), "bob", "ann").version, Version{});
    cluster.limits.known_versions = 8;
    for (int i = 0; i < 12; ++i) {
        const std::string other = "other" + std::to_string(i);
        cluster.connect(cluster.node(0), other.c_str());
        cluster.look(cluster.node(1), "bob", other.c_str());
    }
    EXPECT_GT(cluster.node(1).shard.counters.known_versions_dropped, 0U);
    store_goes_away();
    EXPECT_EQ(cluster.look(cluster.node(1), "bob", "ann").version, Version{});
    EXPECT_GT(cluster.look(cluster.node(1), "bob", "other11").version, Version{});
}

}  // namespace
}  // namespace presence::testing
