// What one person declares through several nodes (RULINGS 12, 31), and how one who is invisible
// looks while a store is away (DESIGN rule 18).

#include "unit/core/cluster.h"

#include <gmock/gmock.h>

namespace presence::testing {
namespace {

using enum Status;
using ::testing::IsEmpty;

const UserId kAnn("ann");

StatusChange status(DeclaredStatus declared) {
    return {declared, std::nullopt, false, nullptr};
}

StatusChange text(const char* words) {
    StatusChange change;
    change.sets_custom = true;
    change.custom = make_ref<const CustomStatus>(CustomStatus{words, "", std::nullopt});
    return change;
}

struct ClusterStatus : ::testing::Test {
    Cluster cluster{2};
    Cluster::DeviceRef ann = cluster.connect(cluster.node(0), "ann");
    Cluster::DeviceRef bob = cluster.connect(cluster.node(1), "bob");

    ClusterStatus() {
        cluster.run(3s);
        cluster.watch(bob, {"ann"});
    }
    PresenceService& service(std::size_t node) { return cluster.node(node).shard.service; }
    Result<StatusOutcome> change(std::size_t node, StatusChange change, bool limited = false) {
        Result<StatusOutcome> done =
            cluster.wait(service(node).change_status(kAnn, std::move(change), limited));
        cluster.run(Millis{10});
        return done;
    }
    /// Until the next one over the rate waits.
    void use_up_the_rate() {
        for (int i = 0; i < 200; ++i) {
            const Result<StatusOutcome> done = change(0, status(DeclaredStatus::away), true);
            ASSERT_TRUE(done.has_value());
            if (done->applied_in > Millis{0}) {
                return;
            }
        }
        FAIL() << "there is no rate";
    }
    DeclaredState declared() { return cluster.record("ann")->presence.declared; }
    DeclaredState stored() {
        Result<ProfileRef> profile =
            cluster.wait(cluster.node(1).shard.editor.stored_profile(kAnn));
        return *profile ? (*profile)->declared : DeclaredState{};
    }
};

TEST_F(ClusterStatus, WhatTwoNodesDeclareAtOnceBothStands) {
    for (int round = 0; round < 20; ++round) {
        cluster.profiles.faults().set_delay(Millis{round % 5});
        const auto one = start_task(service(0).change_status(
            kAnn, status(round % 2 == 0 ? DeclaredStatus::busy : DeclaredStatus::dnd), false));
        const std::string words = "round " + std::to_string(round);
        const auto other = start_task(service(1).change_status(kAnn, text(words.c_str()), false));
        cluster.run(2s);
        ASSERT_TRUE(one->has_value() && (*one)->has_value());
        ASSERT_TRUE(other->has_value() && (*other)->has_value());
        const DeclaredStatus wanted = round % 2 == 0 ? DeclaredStatus::busy : DeclaredStatus::dnd;
        EXPECT_EQ(declared().status, wanted) << round;
        ASSERT_TRUE(declared().custom) << round;
        EXPECT_EQ(declared().custom->text, words);
        EXPECT_EQ(stored().status, wanted) << round;
        EXPECT_EQ(stored().custom->text, words);
    }
}

TEST_F(ClusterStatus, AChangeThatWaitsGivesWayToANewerOneOfAnotherNode) {
    use_up_the_rate();
    ASSERT_TRUE(change(0, status(DeclaredStatus::busy), true).has_value());
    ASSERT_TRUE(change(1, status(DeclaredStatus::dnd)).has_value());
    cluster.run(60s);
    EXPECT_EQ(declared().status, DeclaredStatus::dnd);
    EXPECT_EQ(stored().status, DeclaredStatus::dnd);
}

TEST_F(ClusterStatus, AChangeThatWaitsKeepsWhatNobodyElseTouched) {
    use_up_the_rate();
    ASSERT_TRUE(change(0, status(DeclaredStatus::busy), true).has_value());
    ASSERT_TRUE(change(1, text("lunch")).has_value());
    cluster.run(60s);
    EXPECT_EQ(declared().status, DeclaredStatus::busy);
    ASSERT_TRUE(declared().custom);
    EXPECT_EQ(declared().custom->text, "lunch");
}

TEST_F(ClusterStatus, WhatWaitsIsNotAppliedOnceItsTokenIsRevoked) {
    use_up_the_rate();
    ASSERT_TRUE(change(0, status(DeclaredStatus::busy), true).has_value());
    cluster.wait(service(0).end_revoked(kAnn, cluster.clock.wall_now() + 1s));
    cluster.run(60s);
    EXPECT_EQ(stored().status, DeclaredStatus::away);
}

TEST_F(ClusterStatus, OneWhoIsInvisibleLooksAsOneWhoIsNotThereWhileTheStoreIsAway) {
    const auto carl = cluster.connect(cluster.node(1), "carl");
    cluster.declare(cluster.node(1), "carl", DeclaredStatus::invisible);
    cluster.run(3s);
    cluster.watch(bob, {"carl", "nobody"});
    cluster.connection(bob).told.clear();
    cluster.set_store(false);
    cluster.run(15s);
    EXPECT_EQ(cluster.look(cluster.node(1), "bob", "carl").status, unknown);
    EXPECT_EQ(cluster.look(cluster.node(1), "bob", "nobody").status, unknown);
    EXPECT_EQ(statuses(cluster.connection(bob).told, "carl"), (std::vector{unknown}));
    EXPECT_EQ(statuses(cluster.connection(bob).told, "nobody"), (std::vector{unknown}));
    cluster.set_store(true);
    cluster.run(20s);
    EXPECT_EQ(statuses(cluster.connection(bob).told, "carl"), (std::vector{unknown, offline}));
    EXPECT_EQ(statuses(cluster.connection(bob).told, "nobody"), (std::vector{unknown, offline}));
}

TEST_F(ClusterStatus, AfterTheStoreLostItsDataOneWhoIsInvisibleIsToldNoMoreOfThanOthers) {
    const auto carl = cluster.connect(cluster.node(1), "carl");
    cluster.declare(cluster.node(1), "carl", DeclaredStatus::invisible);
    cluster.run(3s);
    const Told before = cluster.watch(bob, {"carl"}).front();
    cluster.connection(bob).told.clear();
    cluster.nodes.lose_all();
    cluster.run(60s);
    EXPECT_THAT(statuses(cluster.connection(bob).told, "carl"), IsEmpty());
    EXPECT_EQ(cluster.look(cluster.node(1), "bob", "carl").version, before.version);
}

TEST_F(ClusterStatus, NobodyIsToldWhenASessionOfOneWhoIsInvisibleEndsWhileTheStoreIsAway) {
    const auto also = cluster.connect(cluster.node(1), "ann");
    cluster.declare(cluster.node(0), "ann", DeclaredStatus::invisible);
    cluster.run(35s);  // Node 1 has read of it.
    cluster.connection(bob).told.clear();
    cluster.set_store(false);
    cluster.run(15s);
    ASSERT_EQ(statuses(cluster.connection(bob).told, "ann"), (std::vector{unknown}));
    cluster.connection(bob).told.clear();
    cluster.lose(also);
    cluster.run(15s);
    EXPECT_THAT(cluster.connection(bob).told, IsEmpty());
}

TEST_F(ClusterStatus, WhoBecameInvisibleDuringAnOutageIsNotShownByARecordOfBefore) {
    cluster.set_store(false);
    cluster.run(2s);
    cluster.declare(cluster.node(0), "ann", DeclaredStatus::invisible);
    cluster.run(15s);
    ASSERT_EQ(cluster.connection(bob).told.back().status, Status::unknown);
    cluster.pause(cluster.node(0));  // It does not state what it holds.
    cluster.set_store(true);
    Cluster::close_gap(cluster.node(1));
    cluster.run(3s);
    ASSERT_EQ(cluster.record("ann")->presence.shown.status, Status::online);
    EXPECT_NE(cluster.look(cluster.node(1), "bob", "ann").status, Status::online);
    EXPECT_NE(cluster.connection(bob).told.back().status, Status::online);
    cluster.go_on(cluster.node(0));
    cluster.run(10s);
    EXPECT_EQ(cluster.connection(bob).told.back().status, Status::offline);
}

/// Rule 12: when somebody was last seen is shown, so no look shows another time under the version
/// that a watcher holds.
TEST(ClusterLastSeen, WhatIsKnownLaterOfWhoBecameInvisibleInAnOutageIsUnderAHigherVersion) {
    CoreConfig config;
    config.privacy.last_seen.audience = Audience::everyone;
    Cluster cluster{2, config};
    const auto ann = cluster.connect(cluster.node(0), "ann");
    const auto tablet = cluster.connect(cluster.node(1), "ann");
    const auto phone = cluster.connect(cluster.node(1), "ann");
    const auto bob = cluster.connect(cluster.node(1), "bob");
    cluster.run(3s);
    cluster.watch(bob, {"ann"});
    cluster.set_store(false);
    cluster.run(3s);
    cluster.bye(phone);  // The newest sign of life that node 1 has noted.
    cluster.run(70s);
    cluster.declare(cluster.node(0), "ann", DeclaredStatus::invisible);
    cluster.run(70s);
    cluster.pause(cluster.node(0));  // Node 1 states first what it reads in the database.
    cluster.set_store(true);
    cluster.run(3s);
    ASSERT_EQ(cluster.record("ann")->presence.shown.status, offline);
    cluster.go_on(cluster.node(0));
    cluster.run(20s);
    const Told& held = cluster.connection(bob).told.back();
    ASSERT_EQ(held.user, kAnn);
    EXPECT_EQ(held.line(), cluster.look(cluster.node(1), "bob", "ann").line());
}

TEST_F(ClusterStatus, WhoLooksBetweenADeclarationAndItsCommitHearsThatItWasTakenBack) {
    const auto carl = cluster.connect(cluster.node(0), "carl");
    ASSERT_TRUE(change(0, status(DeclaredStatus::busy)).has_value());
    ASSERT_EQ(statuses(cluster.connection(bob).told, "ann"), std::vector{Status::busy});
    cluster.sessions.faults().set_delay(100ms);
    const auto declaring =
        start_task(service(0).change_status(kAnn, status(DeclaredStatus::away), false));
    cluster.run(10ms);
    cluster.sessions.faults().set_delay(0ms);
    ASSERT_EQ(cluster.watch(carl, {"ann"}).front().status, Status::away);
    ASSERT_EQ(cluster.record("ann")->presence.shown.status, Status::busy);
    cluster.run(200ms);
    ASSERT_TRUE(declaring->has_value());
    ASSERT_EQ(cluster.record("ann")->presence.shown.status, Status::away);
    ASSERT_TRUE(change(0, status(DeclaredStatus::busy)).has_value());
    cluster.run(5s);
    EXPECT_EQ(statuses(cluster.connection(bob).told, "ann"), std::vector{Status::busy});
    EXPECT_EQ(statuses(cluster.connection(carl).told, "ann"), std::vector{Status::busy});
}

}  // namespace
}  // namespace presence::testing
