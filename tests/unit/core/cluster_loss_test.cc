#include "presence/rules/version.h"

#include "unit/core/cluster.h"

#include <algorithm>
#include <map>
#include <optional>

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

TEST(ClusterLoss, AStoreThatLostAllIsToldAllAgainAlsoWhileTheDatabaseIsAway) {
    Cluster cluster(2);
    const auto bob = cluster.connect(cluster.node(1), "bob");
    const auto ann = cluster.connect(cluster.node(0), "ann");
    cluster.declare(cluster.node(0), "ann", DeclaredStatus::busy);
    cluster.watch(bob, {"ann"});
    cluster.run(70s);  // What was read of the database is old by now.
    cluster.set_store(false);
    cluster.profiles.set_unavailable(true);
    cluster.run(2s);
    cluster.nodes.lose_all();
    cluster.set_store(true);
    Cluster::close_gap(cluster.node(0));
    Cluster::close_gap(cluster.node(1));
    cluster.run(30s);
    ASSERT_NE(cluster.record("ann"), nullptr);
    EXPECT_EQ(cluster.record("ann")->sessions.size(), 1U);
    for (const Told& told : cluster.connection(bob).told) {
        EXPECT_NE(told.status, offline) << told;
    }
    cluster.profiles.set_unavailable(false);
    cluster.run(10s);
    EXPECT_EQ(cluster.look(cluster.node(1), "bob", "ann").status, Status::busy);
}

TEST(ClusterLoss, WhatChangedDuringAnOutageIsStatedInTimeThoughTheDatabaseIsSlow) {
    Cluster cluster(2);
    const auto ann = cluster.connect(cluster.node(0), "ann");
    cluster.set_store(false);
    cluster.run(2s);
    const auto also = cluster.connect(cluster.node(0), "ann");
    cluster.declare(cluster.node(1), "ann", DeclaredStatus::busy);
    cluster.kill(cluster.node(1));  // Now the database alone knows of it.
    cluster.run(70s);               // What was read of it is old by now.
    cluster.profiles.faults().set_delay(30s);
    cluster.set_store(true);
    cluster.run(8s);
    EXPECT_EQ(cluster.record("ann")->sessions.size(), 2U);
    cluster.run(40s);
    EXPECT_EQ(cluster.record("ann")->presence.shown.status, Status::busy);
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

TEST(ClusterLoss, WhoCameElsewhereDuringAnOutageIsNotShownOfflineBeforeThatNodeHasSaidSo) {
    Cluster cluster(2);
    const auto bob = cluster.connect(cluster.node(1), "bob");
    const auto before = cluster.connect(cluster.node(0), "ann");
    cluster.bye(before);
    cluster.run(2s);
    cluster.watch(bob, {"ann"});
    cluster.set_store(false);
    cluster.run(13s);
    ASSERT_EQ(statuses(cluster.connection(bob).told, "ann"), (std::vector{unknown}));
    const auto ann = cluster.connect(cluster.node(0), "ann");
    cluster.pause(cluster.node(0));  // It finds its way back a moment after the other.
    cluster.set_store(true);
    cluster.run(2500ms);
    EXPECT_EQ(cluster.look(cluster.node(1), "bob", "ann").status, unknown);
    cluster.go_on(cluster.node(0));
    cluster.run(8s);
    EXPECT_EQ(statuses(cluster.connection(bob).told, "ann"), (std::vector{unknown, online}));
    EXPECT_EQ(cluster.look(cluster.node(1), "bob", "nobody").status, offline);
    EXPECT_FALSE(cluster.connection(ann).ended);
}

TEST(ClusterLoss, ANodeThatBeganDuringAnOutageWaitsForThoseWhoLivedBeforeIt) {
    Cluster cluster(2);
    cluster.set_store(false);
    cluster.run(13s);
    cluster.connect(cluster.node(0), "ann");
    Cluster::Node& late = cluster.add_node();
    cluster.run(3s);
    cluster.pause(cluster.node(0));  // It finds its way back a moment after the others.
    cluster.set_store(true);
    cluster.run(3500ms);
    EXPECT_EQ(cluster.look(late, "bob", "ann").status, unknown);
    cluster.go_on(cluster.node(0));
    cluster.run(8s);
    EXPECT_EQ(cluster.look(late, "bob", "ann").status, online);
    EXPECT_EQ(cluster.look(late, "bob", "nobody").status, offline);
}

TEST(ClusterLoss, ANodeThatNeverComesBackIsNotWaitedForLongerThanALeaseLessOneRenewal) {
    Cluster cluster(2);
    const auto bob = cluster.connect(cluster.node(1), "bob");
    cluster.set_store(false);
    cluster.run(13s);
    cluster.kill(cluster.node(0));
    cluster.set_store(true);
    const Millis wait = cluster.config.cluster.lease - cluster.config.cluster.renew_every;
    cluster.run(wait - 500ms);
    EXPECT_EQ(cluster.look(cluster.node(1), "bob", "nobody").status, unknown);
    cluster.run(2 * cluster.config.cluster.renew_every + 1s);
    EXPECT_EQ(cluster.look(cluster.node(1), "bob", "nobody").status, offline);
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
        const UserRecordRef record = cluster.record(std::string(device->user.text).c_str());
        ASSERT_NE(record, nullptr) << device->user.text.view();
        EXPECT_EQ(record->sessions.size(), 1U) << device->user.text.view();
        EXPECT_GT(record->presence.shown_version, told) << device->user.text.view();
    }
}

/// How far the public version of `user` was raised since it was `told`.
std::uint64_t raised_by(Cluster& cluster, const std::string& user, Version told) {
    return cluster.record(user.c_str())->presence.shown_version.value - told.value;
}

/// How far one loss at `lost_at` raises what was `told`.
std::uint64_t one_raise(Version told, WallTime lost_at) {
    return std::max(told.value + rules::kIncarnationStep, rules::version_floor_of_moment(lost_at)) -
           told.value;
}

TEST(ClusterLoss, ALossRaisesVersionsAndIsToldOnceHoweverOftenItsAssertionFails) {
    Cluster cluster(2);
    const auto bob = cluster.connect(cluster.node(1), "bob");
    std::vector<Cluster::DeviceRef> devices;
    for (int i = 0; i < 450; ++i) {
        devices.push_back(cluster.connect(cluster.node(0), ("user" + std::to_string(i)).c_str()));
    }
    cluster.run(2s);
    cluster.watch(bob, {"user0"});
    const Version told = cluster.record("user0")->presence.shown_version;
    cluster.sessions.faults().set_delay(200ms);
    const std::uint64_t raise = one_raise(told, cluster.clock.wall_now());
    cluster.nodes.lose_all();
    for (int attempt = 0; attempt < 3; ++attempt) {
        for (int i = 0; i < 100 && cluster.record("user0") == nullptr; ++i) {
            cluster.run(100ms);
        }
        cluster.sessions.set_unavailable(true);
        cluster.run(1500ms);
        cluster.sessions.set_unavailable(false);
        cluster.run(500ms);
    }
    cluster.sessions.faults().set_delay(0ms);
    cluster.run(10s);
    for (const auto& device : devices) {
        const std::string user(device->user.text);
        EXPECT_EQ(raised_by(cluster, user, told), raise) << user;
    }
    std::vector<std::uint64_t> versions;
    for (const Told& one : cluster.connection(bob).told) {
        EXPECT_TRUE(one.status == online || one.status == unknown) << one;
        if (one.status == online) {
            versions.push_back(one.version.value);
        }
    }
    EXPECT_LE(std::ranges::count(versions, told.value + raise), 1);
}

TEST(ClusterLoss, WhoComesAfterALossBeforeItIsNoticedKeepsTheVersion) {
    Cluster cluster(2);
    const auto bob = cluster.connect(cluster.node(1), "bob");
    cluster.run(2500ms);
    const WallTime lost_at = cluster.clock.wall_now();
    cluster.nodes.lose_all();
    // To read who is there meets the loss; no renewal has told of it when the record is written.
    const auto ann = cluster.connect(cluster.node(0), "ann");
    const Version told = cluster.record("ann")->presence.shown_version;
    const Version old =
        cluster.node(1).shard.service.record_here(UserId("bob"))->presence.shown_version;
    cluster.run(20s);
    EXPECT_EQ(cluster.node(0).member.counters().stores_lost, 1U);
    EXPECT_EQ(raised_by(cluster, "ann", told), 0U);
    EXPECT_EQ(raised_by(cluster, "bob", old), one_raise(old, lost_at));
}

TEST(ClusterLoss, OneLossThatIsHeardOfInSeveralWaysRaisesOnce) {
    Cluster cluster(2);
    const auto ann = cluster.connect(cluster.node(0), "ann");
    cluster.run(2s);
    const Version told = cluster.record("ann")->presence.shown_version;
    const std::uint64_t raise = one_raise(told, cluster.clock.wall_now());
    cluster.nodes.lose_all();
    cluster.run(3s);
    cluster.nodes.fail_over();  // Its partitions are found to be others, one after the other.
    cluster.run(3s);
    cluster.nodes.fail_over();
    cluster.run(12s);
    EXPECT_EQ(cluster.node(0).member.counters().stores_lost, 3U);
    EXPECT_EQ(raised_by(cluster, "ann", told), raise);
    cluster.nodes.fail_over();  // Another one.
    cluster.run(10s);
    EXPECT_EQ(raised_by(cluster, "ann", told), raise + rules::kIncarnationStep);
}

TEST(ClusterLoss, TheRecordOfAQuietUserIsKeptAllTheTime) {
    Cluster cluster(2);
    const auto ann = cluster.connect(cluster.node(0), "ann");
    cluster.run(30min);
    EXPECT_FALSE(cluster.nodes.kept_at(UserId("ann")).has_value()) << "it has its time yet";
    cluster.run(5h);
    const std::optional<WallTime> kept = cluster.nodes.kept_at(UserId("ann"));
    ASSERT_TRUE(kept.has_value());
    EXPECT_GT(*kept, cluster.clock.wall_now() - 1h - 2 * cluster.config.heartbeat.interval);
    EXPECT_EQ(cluster.record("ann")->sessions.size(), 1U);
}

TEST(ClusterLoss, OutcomesWhoseAnswerWasLostAreReadAgain) {
    Cluster cluster(2);
    const auto bob = cluster.connect(cluster.node(1), "bob");
    std::vector<Cluster::DeviceRef> devices;
    for (int i = 0; i < 30; ++i) {
        devices.push_back(cluster.connect(cluster.node(0), ("user" + std::to_string(i)).c_str()));
    }
    cluster.run(2s);
    cluster.watch(bob, {"user7"});
    cluster.node(1).hooks.said.clear();
    cluster.kill(cluster.node(0));
    cluster.run(5s);
    cluster.sessions.faults().set_loses_answers(true);
    cluster.run(10s);
    cluster.sessions.faults().set_loses_answers(false);
    cluster.run(10s);
    EXPECT_EQ(statuses(cluster.connection(bob).told, "user7"), (std::vector{offline}));
    std::map<std::string, int> ended;
    for (const WebhookEvent& event : cluster.node(1).hooks.said) {
        ended[std::string(event.user.text)] += event.type == WebhookType::user_offline ? 1 : 0;
    }
    for (const auto& device : devices) {
        const std::string user(device->user.text);
        EXPECT_TRUE(cluster.record(user.c_str())->sessions.empty()) << user;
        EXPECT_TRUE(cluster.stored_last_seen(user.c_str()).has_value()) << user;
        EXPECT_EQ(ended[user], 1) << user;
    }
}

TEST(ClusterLoss, WhoeverLooksAgainInAShortOutageGoesOnHoldingWhatItWasTold) {
    Cluster cluster(2);
    const auto bob = cluster.connect(cluster.node(1), "bob");
    const auto ann = cluster.connect(cluster.node(0), "ann");
    cluster.watch(bob, {"ann", "nobody"});
    cluster.set_store(false);
    cluster.run(4s);
    cluster.node(1).shard.watches.look_at_all_again();  // As after a gap in what was heard.
    cluster.run(2s);
    EXPECT_TRUE(cluster.connection(bob).told.empty()) << cluster.connection(bob).told.front();
    cluster.set_store(true);
    cluster.node(1).shard.watches.look_at_all_again();
    cluster.run(100ms);
    cluster.node(1).shard.watches.look_at_all_again();
    cluster.run(15s);
    EXPECT_TRUE(cluster.connection(bob).told.empty()) << cluster.connection(bob).told.front();
    cluster.declare(cluster.node(0), "ann", DeclaredStatus::busy);
    cluster.run(2s);
    EXPECT_EQ(statuses(cluster.connection(bob).told, "ann"), (std::vector{Status::busy}));
}

TEST(ClusterLoss, WhoHoldsAHigherVersionThanTheStoreHasIsToldAHigherOneSoon) {
    Cluster cluster(2);
    const auto bob = cluster.connect(cluster.node(1), "bob");
    const auto ann = cluster.connect(cluster.node(0), "ann");
    cluster.watch(bob, {"ann"});
    const UserRecordRef before = cluster.record("ann");
    cluster.declare(cluster.node(0), "ann", DeclaredStatus::busy);
    cluster.run(2s);
    cluster.declare(cluster.node(0), "ann", DeclaredStatus::automatic);
    cluster.run(2s);
    const Version held = cluster.connection(bob).told.back().version;
    auto older = make_ref<UserRecord>(*cluster.record("ann"));
    older->presence.shown_version = before->presence.shown_version;
    older->presence.own_version = before->presence.own_version;
    const Commit commit{UserId("ann"), older->commit++, older, 26h, nullptr};
    ASSERT_EQ(cluster.sessions.commit(commit, nullptr), CommitOutcome::committed);
    cluster.node(0).shard.service.renamed({});  // It forgets what it held.
    cluster.node(1).shard.watches.look_at_all_again();
    cluster.run(8s);
    EXPECT_EQ(cluster.connection(bob).told.back().status, online);
    EXPECT_GT(cluster.connection(bob).told.back().version, held);
    EXPECT_EQ(cluster.record("ann")->presence.shown_version,
              cluster.connection(bob).told.back().version);
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
