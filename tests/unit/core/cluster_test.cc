#include "unit/core/cluster.h"

namespace presence::testing {

namespace {

using Node = Cluster::Node;
using enum Status;

TEST(Cluster, AChangeOnOneNodeIsToldOnAnother) {
    Cluster cluster(2);
    const auto bob = cluster.connect(cluster.node(1), "bob");
    EXPECT_EQ(cluster.watch(bob, {"ann"}).front().status, offline);
    const auto ann = cluster.connect(cluster.node(0), "ann");
    cluster.run(1100ms);
    cluster.declare(cluster.node(0), "ann", DeclaredStatus::busy);
    EXPECT_EQ(statuses(cluster.connection(bob).told, "ann"), (std::vector{online, busy}));
}

TEST(Cluster, TwoDevicesOnTwoNodesAreOneUser) {
    Cluster cluster(2);
    const auto bob = cluster.connect(cluster.node(1), "bob");
    cluster.watch(bob, {"ann"});
    const auto phone = cluster.connect(cluster.node(0), "ann");
    const auto laptop = cluster.connect(cluster.node(1), "ann");
    EXPECT_EQ(cluster.record("ann")->sessions.size(), 2U);
    cluster.run(2s);
    cluster.bye(phone);
    cluster.run(2s);
    EXPECT_EQ(statuses(cluster.connection(bob).told, "ann"), (std::vector{online}));
    cluster.bye(laptop);
    cluster.run(2s);
    EXPECT_EQ(statuses(cluster.connection(bob).told, "ann"), (std::vector{online, offline}));
}

TEST(Cluster, AResumeElsewhereClosesTheHalfOpenConnectionAndNobodyIsTold) {
    Cluster cluster(3);
    const auto bob = cluster.connect(cluster.node(2), "bob");
    const auto ann = cluster.connect(cluster.node(0), "ann");
    cluster.watch(bob, {"ann"});
    const Epoch before = cluster.record("ann")->sessions.front().epoch;
    const auto back = cluster.connect(cluster.node(1), "ann", ann);
    EXPECT_TRUE(back->resumed);
    cluster.run(10ms);
    EXPECT_EQ(cluster.connection(ann).ended, EndReason::replaced);
    const UserRecordRef record = cluster.record("ann");
    ASSERT_EQ(record->sessions.size(), 1U);
    EXPECT_GT(record->sessions.front().epoch, before);
    EXPECT_EQ(record->sessions.front().node, cluster.node(1).member.self());
    cluster.run(200s);
    EXPECT_TRUE(cluster.connection(bob).told.empty());
    EXPECT_EQ(cluster.record("ann")->sessions.size(), 1U);
}

TEST(Cluster, ALateWordThatASessionWasTakenEndsNoNewerLifeOfIt) {
    Cluster cluster(2);
    const auto ann = cluster.connect(cluster.node(0), "ann");
    const Session held = cluster.record("ann")->sessions.front();
    const auto away = cluster.connect(cluster.node(1), "ann", ann);
    const auto back = cluster.connect(cluster.node(0), "ann", away);
    ASSERT_TRUE(back->resumed);
    const SessionTaken late{held.node,  UserId("ann"),       held.id,
                            held.epoch, EndReason::replaced, cluster.node(1).member.self()};
    cluster.node(0).shard.service.session_taken(late);
    cluster.run(10ms);
    EXPECT_FALSE(cluster.connection(back).ended);
    ASSERT_EQ(cluster.record("ann")->sessions.size(), 1U);
    EXPECT_EQ(cluster.record("ann")->sessions.front().node, cluster.node(0).member.self());
}

TEST(Cluster, ATakeoverWhoseWordIsLostIsFoundOutByTheNextCheck) {
    Cluster cluster(2);
    const auto ann = cluster.connect(cluster.node(0), "ann");
    cluster.node(0).endpoint.set_reachable(false);
    const auto back = cluster.connect(cluster.node(1), "ann", ann);
    ASSERT_TRUE(back->resumed);
    EXPECT_FALSE(cluster.connection(ann).ended);
    cluster.node(0).endpoint.set_reachable(true);
    cluster.run(cluster.config.heartbeat.interval + 2s);
    EXPECT_EQ(cluster.connection(ann).ended, EndReason::replaced);
    EXPECT_FALSE(cluster.connection(back).ended);
}

TEST(Cluster, AKickReachesTheNodeThatHoldsTheSession) {
    Cluster cluster(2);
    const auto ann = cluster.connect(cluster.node(0), "ann");
    EXPECT_TRUE(*cluster.wait(cluster.node(1).shard.service.kick(UserId("ann"), ann->id)));
    cluster.run(10ms);
    EXPECT_EQ(cluster.connection(ann).ended, EndReason::kicked);
    EXPECT_TRUE(cluster.record("ann")->sessions.empty());
    EXPECT_FALSE(*cluster.wait(cluster.node(1).shard.service.kick(UserId("ann"), ann->id)));
}

TEST(Cluster, AKickThatCannotKnowTheSessionSaysSoAndNotThatThereIsNone) {
    Cluster cluster(2);
    const auto ann = cluster.connect(cluster.node(0), "ann");
    const SessionId session = ann->id;
    cluster.set_store(false);
    cluster.run(3s);
    const Result<bool> kicked =
        cluster.wait(cluster.node(1).shard.service.kick(UserId("ann"), session));
    ASSERT_FALSE(kicked.has_value());
    EXPECT_EQ(kicked.error().code, ErrorCode::unavailable);
    EXPECT_FALSE(cluster.connection(ann).ended);
    cluster.set_store(true);
    cluster.run(5s);
    EXPECT_TRUE(*cluster.wait(cluster.node(1).shard.service.kick(UserId("ann"), session)));
    EXPECT_FALSE(*cluster.wait(cluster.node(1).shard.service.kick(UserId("ann"), session)));
}

TEST(Cluster, RevokedAndErasedUsersLoseTheirSessionsOnEveryNode) {
    Cluster cluster(2);
    const auto ann = cluster.connect(cluster.node(0), "ann");
    const auto bob = cluster.connect(cluster.node(0), "bob");
    const WallTime now = cluster.clock.wall_now();
    for (const std::size_t node : {1U, 0U}) {  // Each hears of it.
        EXPECT_TRUE(cluster.wait(cluster.node(node).shard.service.end_revoked(UserId("ann"), now)));
    }
    EXPECT_TRUE(*cluster.wait(cluster.node(1).shard.service.erase(UserId("bob"))));
    cluster.run(10ms);
    EXPECT_EQ(cluster.connection(ann).ended, EndReason::revoked);
    EXPECT_EQ(cluster.connection(bob).ended, EndReason::erased);
    EXPECT_TRUE(cluster.record("ann")->sessions.empty());
    EXPECT_TRUE(cluster.record("bob")->sessions.empty());
}

TEST(Cluster, TheLimitOfSessionsHoldsOverAllNodes) {
    Cluster cluster(2);
    for (std::size_t i = 0; i < cluster.limits.sessions_per_user; ++i) {
        cluster.connect(cluster.node(i % 2), "ann");
    }
    const auto refused = cluster.try_connect(cluster.node(0), "ann");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::limit_exceeded);
    EXPECT_EQ(cluster.record("ann")->sessions.size(), cluster.limits.sessions_per_user);
}

TEST(Cluster, ASessionThatLivesByHttpIsBeatenAndSignedOutOnAnyNode) {
    Cluster cluster(2);
    const auto bob = cluster.connect(cluster.node(1), "bob");
    cluster.watch(bob, {"ann"});
    const SessionId session = beating_session("phone");
    const auto beat = [&](std::size_t node) {
        BeatRequest request;
        request.user = UserId("ann");
        request.session = session;
        return cluster.wait(cluster.node(node).shard.service.beat(std::move(request))).has_value();
    };
    for (int i = 0; i < 12; ++i) {
        EXPECT_TRUE(beat(static_cast<std::size_t>(i % 2)));
        cluster.run(30s);
        EXPECT_EQ(cluster.record("ann")->sessions.size(), 1U);
    }
    EXPECT_EQ(statuses(cluster.connection(bob).told, "ann"), (std::vector{online}));
    ASSERT_TRUE(beat(0));
    EXPECT_TRUE(*cluster.wait(cluster.node(1).shard.service.sign_out(UserId("ann"), session)));
    cluster.run(2s);
    EXPECT_EQ(statuses(cluster.connection(bob).told, "ann"), (std::vector{online, offline}));
    EXPECT_FALSE(*cluster.wait(cluster.node(1).shard.service.sign_out(UserId("ann"), session)));
    EXPECT_TRUE(cluster.record("ann")->sessions.empty());
}

TEST(Cluster, ADeadNodesHttpSessionsKeepTheirTtl) {
    Cluster cluster(2);
    BeatRequest request;
    request.user = UserId("ann");
    request.session = beating_session("phone");
    ASSERT_TRUE(cluster.wait(cluster.node(0).shard.service.beat(std::move(request))).has_value());
    const MonoTime beaten_at = cluster.clock.now();
    cluster.kill(cluster.node(0));
    cluster.run(beaten_at + cluster.config.heartbeat.ttl - 100ms - cluster.clock.now());
    EXPECT_EQ(cluster.look(cluster.node(1), "bob", "ann").status, online);
    cluster.run(4s);
    EXPECT_EQ(cluster.look(cluster.node(1), "bob", "ann").status, offline);
    EXPECT_TRUE(cluster.record("ann")->sessions.empty());
}

// --- Death of a node -----------------------------------------------------------------------------

TEST(Cluster, FO_001_ADeadNodesUsersGoOfflineWithinTheBoundWithItsLastRenewalAsLastSeen) {
    Cluster cluster(3);
    const auto bob = cluster.connect(cluster.node(2), "bob");
    const auto ann = cluster.connect(cluster.node(0), "ann");
    cluster.watch(bob, {"ann"});
    cluster.run(5s);
    const WallTime died_at = cluster.clock.wall_now();
    cluster.kill(cluster.node(0));
    cluster.run(9'900ms - 2s);
    EXPECT_TRUE(cluster.connection(bob).told.empty());
    cluster.run(3'100ms);
    ASSERT_EQ(statuses(cluster.connection(bob).told, "ann"), (std::vector{offline}));
    const WallTime last_seen = *cluster.record("ann")->presence.last_seen;
    EXPECT_LE(last_seen, died_at);
    EXPECT_GE(last_seen, died_at - 2s);
    cluster.run(10s);
    EXPECT_EQ(cluster.stored_last_seen("ann"), last_seen);
    EXPECT_TRUE(cluster.record("ann")->sessions.empty());
    // Nothing of it is left, and only one node told of it.
    EXPECT_EQ(cluster.node(1).member.live_nodes(), 2U);
    EXPECT_EQ(statuses(cluster.connection(bob).told, "ann"), (std::vector{offline}));
    EXPECT_EQ(cluster.node(1).member.counters().deaths_settled +
                  cluster.node(2).member.counters().deaths_settled,
              1U);
}

TEST(Cluster, FO_023_UsersWhoComeBackElsewhereAfterANodeDeathAreNeverShownOffline) {
    Cluster cluster(3);
    const auto bob = cluster.connect(cluster.node(2), "bob");
    std::vector<std::string> names;
    std::vector<const char*> watched;
    std::vector<Cluster::DeviceRef> devices;
    for (int i = 0; i < 40; ++i) {
        names.push_back("user " + std::to_string(i));
    }
    for (const std::string& name : names) {
        devices.push_back(cluster.connect(cluster.node(0), name.c_str()));
        watched.push_back(name.c_str());
    }
    cluster.watch(bob, watched);
    cluster.kill(cluster.node(0));
    cluster.run(4s);
    for (std::size_t i = 0; i < 20; ++i) {
        const auto back = cluster.connect(cluster.node(1 + i % 2), names[i].c_str(), devices[i]);
        EXPECT_TRUE(back->resumed);
    }
    cluster.run(60s);
    for (std::size_t i = 0; i < names.size(); ++i) {
        const auto told = statuses(cluster.connection(bob).told, names[i].c_str());
        EXPECT_EQ(told, i < 20 ? std::vector<Status>{} : std::vector{offline}) << names[i];
    }
}

TEST(Cluster, TheFirstNodeUpSettlesWhatItFinds) {
    auto cluster = std::make_unique<Cluster>(1);
    const auto ann = cluster->connect(cluster->node(0), "ann");
    cluster->run(5s);
    const WallTime died_at = cluster->clock.wall_now();
    cluster->kill(cluster->node(0));
    cluster->run(1h);
    cluster->add_node();
    cluster->run(11s);
    EXPECT_EQ(cluster->look(cluster->node(1), "bob", "ann").status, offline);
    EXPECT_LE(*cluster->record("ann")->presence.last_seen, died_at);
    EXPECT_GE(*cluster->record("ann")->presence.last_seen, died_at - 2s);
}

TEST(Cluster, ANodeThatSleptThroughItsDeathComesBackUnderAnotherNameAndHarmsNobody) {
    Cluster cluster(2);
    const auto bob = cluster.connect(cluster.node(1), "bob");
    const auto ann = cluster.connect(cluster.node(0), "ann");    // Stays, and beats.
    const auto cid = cluster.connect(cluster.node(0), "cid");    // Moves while its node sleeps.
    const auto dora = cluster.connect(cluster.node(0), "dora");  // Is gone when it wakes.
    cluster.watch(bob, {"ann", "cid", "dora"});
    const NodeId before = cluster.node(0).member.self();
    cluster.pause(cluster.node(0));
    cluster.run(5s);
    const auto moved = cluster.connect(cluster.node(1), "cid", cid);
    dora->beating = false;
    cluster.run(40s);
    EXPECT_EQ(statuses(cluster.connection(bob).told, "ann"), (std::vector{offline}));
    cluster.go_on(cluster.node(0));
    cluster.run(5s);
    EXPECT_NE(cluster.node(0).member.self(), before);
    EXPECT_EQ(cluster.connection(cid).ended, EndReason::replaced);
    EXPECT_FALSE(cluster.connection(moved).ended);
    cluster.run(40s);
    EXPECT_EQ(statuses(cluster.connection(bob).told, "ann"), (std::vector{offline, online}));
    EXPECT_EQ(statuses(cluster.connection(bob).told, "cid"), std::vector<Status>{});
    EXPECT_EQ(statuses(cluster.connection(bob).told, "dora"), (std::vector{offline}));
    EXPECT_FALSE(cluster.connection(ann).ended);
    EXPECT_EQ(cluster.record("ann")->sessions.front().node, cluster.node(0).member.self());
}

TEST(Cluster, ANodeThatWakesWhileTheStoreIsSlowHarmsNobodyEither) {
    Cluster cluster(2);
    const auto bob = cluster.connect(cluster.node(1), "bob");
    const auto ann = cluster.connect(cluster.node(0), "ann");  // Stays, and beats.
    const auto cid = cluster.connect(cluster.node(0), "cid");  // Moves while its node sleeps.
    cluster.watch(bob, {"ann", "cid"});
    cluster.pause(cluster.node(0));
    cluster.run(5s);
    const auto moved = cluster.connect(cluster.node(1), "cid", cid);
    cluster.run(40s);
    cluster.sessions.faults().set_delay(900ms);
    cluster.go_on(cluster.node(0));
    cluster.run(10s);
    cluster.sessions.faults().set_delay(0ms);
    cluster.run(60s);
    EXPECT_EQ(statuses(cluster.connection(bob).told, "ann"), (std::vector{offline, online}));
    EXPECT_EQ(statuses(cluster.connection(bob).told, "cid"), std::vector<Status>{});
    EXPECT_EQ(cluster.connection(cid).ended, EndReason::replaced);
    EXPECT_FALSE(cluster.connection(moved).ended);
    EXPECT_EQ(cluster.record("ann")->sessions.front().node, cluster.node(0).member.self());
    EXPECT_EQ(cluster.record("cid")->sessions.front().node, cluster.node(1).member.self());
}

TEST(Cluster, WhoLeavesANodeThatDoesNotKnowOfItsDeathYetIsForgottenThere) {
    Cluster cluster(2);
    const auto ann = cluster.connect(cluster.node(0), "ann");
    cluster.pause(cluster.node(0));
    cluster.run(40s);
    cluster.sessions.faults().set_delay(3s);
    cluster.go_on(cluster.node(0));
    cluster.bye(ann);
    cluster.run(10s);
    cluster.sessions.faults().set_delay(0ms);
    cluster.run(60s);
    EXPECT_EQ(cluster.node(0).member.counters().renamed, 1U);
    EXPECT_EQ(cluster.node(0).shard.service.user_count(), 0U);
}

// --- The store is away ---------------------------------------------------------------------------

TEST(Cluster, WhileTheStoreIsAwayOwnUsersStayRightAndAllAgreeAfterwards) {
    Cluster cluster(2);
    const auto bob = cluster.connect(cluster.node(0), "bob");
    const auto eve = cluster.connect(cluster.node(1), "eve");
    const auto ann = cluster.connect(cluster.node(0), "ann");
    cluster.watch(bob, {"ann"});
    cluster.watch(eve, {"ann"});
    cluster.set_store(false);
    cluster.run(3s);
    EXPECT_EQ(cluster.node(0).health.back(), StoreHealth::down);
    cluster.declare(cluster.node(0), "ann", DeclaredStatus::busy);
    cluster.run(20s);
    EXPECT_EQ(statuses(cluster.connection(bob).told, "ann"), (std::vector{busy}));
    cluster.set_store(true);
    cluster.run(5s);
    EXPECT_EQ(cluster.node(0).health.back(), StoreHealth::ok);
    EXPECT_EQ(cluster.record("ann")->presence.shown.status, busy);
    EXPECT_EQ(cluster.look(cluster.node(1), "eve", "ann").status, busy);
    cluster.run(200s);
    EXPECT_FALSE(cluster.connection(ann).ended);
    EXPECT_EQ(cluster.record("ann")->sessions.size(), 1U);
}

TEST(Cluster, WhoComesWhileTheStoreIsAwayIsServedAndKnownToAllAfterwards) {
    Cluster cluster(2);
    const auto bob = cluster.connect(cluster.node(0), "bob");
    cluster.set_store(false);
    cluster.run(3s);
    const auto ann = cluster.connect(cluster.node(0), "ann");
    cluster.run(20s);
    cluster.set_store(true);
    cluster.run(5s);
    ASSERT_NE(cluster.record("ann"), nullptr);
    EXPECT_EQ(cluster.record("ann")->sessions.size(), 1U);
    EXPECT_EQ(cluster.look(cluster.node(1), "eve", "ann").status, online);
}

TEST(Cluster, WatchersHearUnknownOfOtherNodesUsersAfterTenSecondsAndTheTruthAfterwards) {
    Cluster cluster(2);
    const auto bob = cluster.connect(cluster.node(0), "bob");
    const auto ann = cluster.connect(cluster.node(0), "ann");
    const auto eve = cluster.connect(cluster.node(1), "eve");
    const Version version = cluster.watch(bob, {"ann", "eve", "nobody"})[1].version;
    cluster.set_store(false);
    cluster.run(9'900ms);
    EXPECT_TRUE(cluster.connection(bob).told.empty());
    cluster.run(2'300ms);
    EXPECT_EQ(statuses(cluster.connection(bob).told, "ann"), std::vector<Status>{});
    ASSERT_EQ(statuses(cluster.connection(bob).told, "eve"), (std::vector{unknown}));
    EXPECT_EQ(cluster.connection(bob).told.front().version, version);
    EXPECT_EQ(statuses(cluster.connection(bob).told, "nobody"), (std::vector{unknown}));
    cluster.run(60s);
    cluster.set_store(true);
    cluster.run(10s);
    EXPECT_EQ(statuses(cluster.connection(bob).told, "eve"), (std::vector{unknown, online}));
    EXPECT_EQ(statuses(cluster.connection(bob).told, "nobody"), (std::vector{unknown, offline}));
    EXPECT_EQ(statuses(cluster.connection(bob).told, "ann"), std::vector<Status>{});
}

TEST(Cluster, WhileTheStoreIsAwayTheHiddenLookLikeThoseWhoNeverExisted) {
    Cluster cluster(2);
    cluster.hide("ann");
    cluster.hide("eve");
    const auto bob = cluster.connect(cluster.node(0), "bob");
    cluster.connect(cluster.node(0), "ann");
    cluster.connect(cluster.node(1), "eve");
    cluster.watch(bob, {"ann", "eve", "nobody"});
    cluster.set_store(false);
    cluster.run(3s);
    const auto what = [](Told told) {
        told.user = UserId("x");
        return told.line();
    };
    const std::string nobody = what(cluster.look(cluster.node(0), "bob", "nobody"));
    EXPECT_EQ(what(cluster.look(cluster.node(0), "bob", "ann")), nobody);
    EXPECT_EQ(what(cluster.look(cluster.node(0), "bob", "eve")), nobody);
    cluster.run(20s);
    cluster.set_store(true);
    cluster.run(20s);
    for (const char* user : {"ann", "eve", "nobody"}) {
        EXPECT_EQ(statuses(cluster.connection(bob).told, user), (std::vector{unknown, offline}));
    }
    for (const Told& told : cluster.connection(bob).told) {
        EXPECT_EQ(told.version, Version{0}) << told;
    }
}

TEST(Cluster, AChangeThatTheBusLostWhileTheStoreWasAwayIsFoundAfterwards) {
    Cluster cluster(2);
    const auto bob = cluster.connect(cluster.node(0), "bob");
    const auto eve = cluster.connect(cluster.node(1), "eve");
    cluster.watch(bob, {"eve"});
    cluster.set_store(false);
    cluster.run(3s);
    cluster.declare(cluster.node(1), "eve", DeclaredStatus::dnd);
    cluster.run(2s);
    cluster.set_store(true);
    cluster.run(10s);
    EXPECT_EQ(statuses(cluster.connection(bob).told, "eve"), (std::vector{dnd}));
}

TEST(Cluster, TwoNodesThatChangeOneUserAtOnceBothGetThrough) {
    Cluster cluster(2);
    cluster.sessions.faults().set_delay(2ms);
    const auto bob = cluster.connect(cluster.node(1), "bob");
    cluster.watch(bob, {"ann"});
    std::vector<Started<Result<StatusOutcome>>> changes;
    const auto first = cluster.connect(cluster.node(0), "ann");
    const auto second = cluster.connect(cluster.node(1), "ann");
    for (int i = 0; i < 200; ++i) {
        const DeclaredStatus status = i % 2 == 0 ? DeclaredStatus::busy : DeclaredStatus::away;
        for (const std::size_t at : {0U, 1U}) {
            changes.push_back(start_task(cluster.node(at).shard.service.change_session_status(
                (at == 0 ? first : second)->session,
                StatusChange{status, std::nullopt, false, nullptr}, false)));
        }
        cluster.run(Millis{i % 7});
    }
    cluster.run(10s);
    Version last;
    for (const Told& told : cluster.connection(bob).told) {
        EXPECT_GT(told.version, last);
        last = told.version;
    }
    for (const auto& change : changes) {
        ASSERT_TRUE(change->has_value());
        EXPECT_TRUE(change->value().has_value());
    }
    EXPECT_EQ(cluster.connection(bob).told.back().status,
              cluster.look(cluster.node(0), "bob", "ann").status);
}

}  // namespace

}  // namespace presence::testing
