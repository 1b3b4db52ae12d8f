#include "unit/core/cluster.h"

namespace presence::testing {

namespace {

using Node = Cluster::Node;
using enum Status;

TEST(ClusterLoss, FO_006_ASingleLostRecordIsRestoredWithinAnInterval) {
    Cluster cluster(2);
    const auto bob = cluster.connect(cluster.node(1), "bob");
    const auto ann = cluster.connect(cluster.node(0), "ann");
    cluster.watch(bob, {"ann"});
    const Version told = cluster.record("ann")->presence.shown_version;
    cluster.sessions.erase(UserId("ann"));
    cluster.run(cluster.config.heartbeat.interval + 1s);
    ASSERT_NE(cluster.record("ann"), nullptr);
    EXPECT_EQ(cluster.record("ann")->sessions.size(), 1U);
    EXPECT_GT(cluster.record("ann")->presence.shown_version, told);
    for (const Told& one : cluster.connection(bob).told) {
        EXPECT_EQ(one.status, online) << one;  // Under a higher version.
    }
    EXPECT_EQ(cluster.look(cluster.node(1), "bob", "ann").status, online);
}

TEST(ClusterLoss, AStoreThatLostAllIsToldAllAgainAndNobodyGoesOffline) {
    Cluster cluster(2);
    const auto bob = cluster.connect(cluster.node(1), "bob");
    const auto ann = cluster.connect(cluster.node(0), "ann");
    const auto also = cluster.connect(cluster.node(1), "ann");
    cluster.watch(bob, {"ann"});
    cluster.nodes.lose_all();
    cluster.run(5s);
    ASSERT_NE(cluster.record("ann"), nullptr);
    EXPECT_EQ(cluster.record("ann")->sessions.size(), 2U);
    EXPECT_EQ(cluster.record("bob")->sessions.size(), 1U);
    cluster.run(30s);
    for (const Told& told : cluster.connection(bob).told) {
        EXPECT_EQ(told.status, online) << told;  // Under a higher version, perhaps.
    }
    EXPECT_FALSE(cluster.connection(ann).ended);
    EXPECT_FALSE(cluster.connection(also).ended);
}

TEST(ClusterLoss, WhoGoesWhileTheStoreIsAwayIsGoneForAllOnceItIsBack) {
    Cluster cluster(2);
    const auto bob = cluster.connect(cluster.node(1), "bob");
    const auto ann = cluster.connect(cluster.node(0), "ann");
    cluster.watch(bob, {"ann"});
    cluster.set_store(false);
    cluster.run(3s);
    cluster.bye(ann);
    cluster.run(5s);
    cluster.set_store(true);
    cluster.run(10s);
    EXPECT_EQ(cluster.look(cluster.node(1), "bob", "ann").status, offline);
    EXPECT_TRUE(cluster.record("ann")->sessions.empty());
    EXPECT_TRUE(cluster.stored_last_seen("ann").has_value());
    EXPECT_EQ(statuses(cluster.connection(bob).told, "ann"), (std::vector{offline}));
}

TEST(ClusterLoss, AGoodbyeWhoseCommitIsLostIsStatedByTheNextCheck) {
    Cluster cluster(2);
    const auto bob = cluster.connect(cluster.node(1), "bob");
    const auto ann = cluster.connect(cluster.node(0), "ann");
    cluster.watch(bob, {"ann"});
    cluster.sessions.faults().set_unavailable(true);  // For less than a renewal takes to notice.
    cluster.bye(ann);
    cluster.sessions.faults().set_unavailable(false);
    cluster.run(cluster.config.heartbeat.interval + 2s);
    EXPECT_EQ(cluster.look(cluster.node(1), "bob", "ann").status, offline);
    EXPECT_TRUE(cluster.record("ann")->sessions.empty());
    EXPECT_EQ(statuses(cluster.connection(bob).told, "ann"), (std::vector{offline}));
}

TEST(ClusterLoss, AnAssertionThatIsCutShortIsRepeatedAsOneAfterALoss) {
    Cluster cluster(2);
    std::vector<Cluster::DeviceRef> devices;
    for (int i = 0; i < 450; ++i) {
        devices.push_back(cluster.connect(cluster.node(0), ("user" + std::to_string(i)).c_str()));
    }
    const Version told = cluster.record("user449")->presence.shown_version;
    cluster.sessions.faults().set_delay(200ms);
    cluster.nodes.lose_all();
    for (int i = 0; i < 100 && cluster.record("user0") == nullptr; ++i) {
        cluster.run(100ms);  // Until the first batch is stated.
    }
    cluster.set_store(false);
    cluster.run(1500ms);
    cluster.set_store(true);
    cluster.sessions.faults().set_delay(0ms);
    cluster.run(10s);
    EXPECT_EQ(cluster.node(0).shard.counters.orphaned, 0U);
    for (const auto& device : devices) {
        const UserRecordRef record = cluster.record(device->user.text.c_str());
        ASSERT_NE(record, nullptr) << device->user.text;
        EXPECT_EQ(record->sessions.size(), 1U) << device->user.text;
        EXPECT_GT(record->presence.shown_version, told) << device->user.text;
    }
}

TEST(ClusterLoss, AChangeThatMeetsALostRecordSettlesAboveIt) {
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

TEST(ClusterLoss, ASecondDeviceThatMeetsALostRecordDoesNotEndTheFirst) {
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

TEST(ClusterLoss, TheRecordOfOneWhoseOtherDeviceMovedAwayIsWatchedOver) {
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

TEST(ClusterLoss, WhoIsNamedTwiceAmongTheDeadsUsersIsSettledOnce) {
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

TEST(ClusterLoss, WhatWasDoneWhileTheLeaseHadLapsedIsStatedAtTheNextRenewal) {
    Cluster cluster(2);
    const auto bob = cluster.connect(cluster.node(1), "bob");
    const auto ann = cluster.connect(cluster.node(0), "ann");
    cluster.watch(bob, {"ann"});
    cluster.pause(cluster.node(0));
    cluster.run(7500ms);  // Longer than the lease that was counted from before its renewal.
    ann->beating = false;
    cluster.node(0).scheduler.post([&] {
        static_cast<void>(
            start_task(cluster.node(0).shard.service.end(ann->session, Cause::goodbye)));
    });
    cluster.go_on(cluster.node(0));
    cluster.run(3s);
    EXPECT_EQ(cluster.look(cluster.node(1), "bob", "ann").status, offline);
}

// --- Windows -------------------------------------------------------------------------------------

TEST(ClusterWindows, AWindowThatEndsUnderACommitIsTakenUpAfterIt) {
    Cluster cluster(1);
    const auto bob = cluster.connect(cluster.node(0), "bob");
    const auto ann = cluster.connect(cluster.node(0), "ann");
    cluster.run(3s);
    cluster.watch(bob, {"ann"});
    const auto declare = [&](DeclaredStatus status) {
        static_cast<void>(start_task(cluster.node(0).shard.service.change_status(
            UserId("ann"), StatusChange{status, std::nullopt, false, nullptr}, false)));
    };
    declare(DeclaredStatus::dnd);  // Told at once; the window opens.
    cluster.run(300ms);
    declare(DeclaredStatus::busy);
    cluster.run(600ms);
    cluster.sessions.faults().set_delay(200ms);
    declare(DeclaredStatus::dnd);
    cluster.run(3s);
    EXPECT_EQ(cluster.connection(bob).told.back().status,
              cluster.look(cluster.node(0), "bob", "ann").status);
}

TEST(ClusterWindows, AWindowKnowsWhatAnotherNodeToldMeanwhile) {
    Cluster cluster(2);
    const auto bob = cluster.connect(cluster.node(1), "bob");
    const auto ann = cluster.connect(cluster.node(0), "ann");
    const auto also = cluster.connect(cluster.node(1), "ann");
    cluster.run(3s);
    cluster.watch(bob, {"ann"});
    cluster.declare(cluster.node(0), "ann", DeclaredStatus::busy);
    cluster.run(200ms);
    cluster.declare(cluster.node(1), "ann", DeclaredStatus::dnd);
    cluster.run(200ms);
    cluster.declare(cluster.node(0), "ann", DeclaredStatus::busy);
    cluster.run(5s);
    EXPECT_EQ(cluster.look(cluster.node(1), "bob", "ann").status, Status::busy);
    EXPECT_EQ(cluster.connection(bob).told.back().status, Status::busy);
}

}  // namespace
}  // namespace presence::testing
