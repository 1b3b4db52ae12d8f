// What people declare: expiry, rate, scope, invisibility (DESIGN rules 9 to 11, 18; RULINGS 12,
// 31).

#include "unit/core/world.h"

namespace presence {
namespace {

using testing::Client;
using testing::statuses;
using testing::World;
using Statuses = std::vector<Status>;

const UserId kAnn("ann");

struct StatusTest : ::testing::Test {
    World world;
    Client bob = world.connect("bob");
    Client ann = world.connect("ann");

    void SetUp() override {
        world.run(5s);
        world.watch(bob, {"ann"});
    }
    WallTime now() { return world.clock.wall_now(); }
    Statuses of_ann() { return statuses(world.told(bob), "ann"); }
};

TEST_F(StatusTest, IsToldAtOnceAndStored) {
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::dnd));
    EXPECT_EQ(of_ann(), Statuses{Status::dnd});
    ASSERT_TRUE(world.stored("ann"));
    EXPECT_EQ(world.stored("ann")->declared.status, DeclaredStatus::dnd);
}

TEST_F(StatusTest, OfUserScopeCoversAllDevicesAndOfSessionScopeOnlyItsOwn) {
    const Client second = world.connect("ann");
    ASSERT_TRUE(world.declare_on(second, DeclaredStatus::dnd));
    EXPECT_EQ(world.look("bob", "ann").status, Status::online);
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::dnd));
    EXPECT_EQ(world.look("bob", "ann").status, Status::dnd);
}

TEST_F(StatusTest, InvisibleExistsOnlyInUserScope) {
    Result<StatusOutcome> refused = world.declare_on(ann, DeclaredStatus::invisible);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::bad_request);
    EXPECT_EQ(world.look("bob", "ann").status, Status::online);
}

TEST_F(StatusTest, EndsWithinASecondOfItsEnd) {
    const WallTime end = now() + 60s;
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::busy, end));
    world.run(59'999ms);
    EXPECT_EQ(of_ann(), Statuses{Status::busy});
    world.run(1001ms);
    EXPECT_EQ(of_ann(), (Statuses{Status::busy, Status::online}));
}

TEST_F(StatusTest, OfASessionEndsWithinASecondOfItsEnd) {
    ASSERT_TRUE(world.declare_on(ann, DeclaredStatus::busy, now() + 60s));
    world.run(61s);
    EXPECT_EQ(of_ann(), (Statuses{Status::busy, Status::online}));
}

TEST_F(StatusTest, FO101FarEndsNeitherFireAtOnceNorAreLost) {
    for (const Millis far : {Millis{2'147'483'647} - 1s, Millis{2'147'483'647} + 1s,
                             Millis{31 * 24h}, Millis{87'600h}}) {
        const WallTime end = now() + far;
        ASSERT_TRUE(world.say(kAnn, "away on leave", end));
        world.run(1h);
        EXPECT_EQ(world.look("bob", "ann").text, "away on leave");
        EXPECT_EQ(world.stored("ann")->declared.custom->expires_at, end);
    }
    ASSERT_TRUE(world.say(kAnn, "till then", WallTime::from_ms(253'402'300'799'000)));
    ASSERT_TRUE(world.say(kAnn, "till then", WallTime::from_ms((1LL << 53) - 1)));
    world.run(1h);
    EXPECT_EQ(world.look("bob", "ann").text, "till then");
}

TEST_F(StatusTest, FO101AnEndInThePastIsRefusedAndChangesNothing) {
    Result<StatusOutcome> refused = world.declare(kAnn, DeclaredStatus::busy, now());
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::bad_request);
    EXPECT_FALSE(world.say(kAnn, "x", now() - 1s).has_value());
    EXPECT_FALSE(world.declare_on(ann, DeclaredStatus::busy, now()).has_value());
    EXPECT_TRUE(of_ann().empty());
    EXPECT_FALSE(world.stored("ann"));
}

TEST_F(StatusTest, FO102AnExpiredTextIsShownToNobodyThoughItsOwnerIsGone) {
    ASSERT_TRUE(world.say(kAnn, "lunch", now() + 60s));
    EXPECT_EQ(world.told(bob).back().text, "lunch");
    world.run(5s);
    world.bye(ann);
    world.run(56s);
    const Client again = world.connect("ann");
    EXPECT_EQ(world.look("bob", "ann").text, "");
    EXPECT_EQ(world.told(bob).back().text, "");
    (void)again;
}

TEST_F(StatusTest, FO102AnExpiredTextEndsOnceForItsWatchers) {
    ASSERT_TRUE(world.say(kAnn, "lunch", now() + 60s));
    world.run(300s);
    ASSERT_EQ(world.told(bob).size(), 2U);
    EXPECT_EQ(world.told(bob)[1].text, "");
}

TEST_F(StatusTest, OutlivesSessionsAndRecords) {
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::dnd, now() + 168h));
    world.run(2s);
    world.bye(ann);
    world.run(4h);
    EXPECT_EQ(world.record("ann"), nullptr);  // The session store has forgotten.
    (void)world.connect("ann");
    EXPECT_EQ(world.look("bob", "ann").status, Status::dnd);
}

TEST_F(StatusTest, FO024SettingWhatStandsChangesNothing) {
    const Version before = world.look("bob", "ann").version;
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::online));
    EXPECT_TRUE(of_ann().empty());
    EXPECT_EQ(world.look("bob", "ann").version, before);
    EXPECT_EQ(world.look("bob", "ann").status, Status::online);
}

TEST_F(StatusTest, TheDatabaseAwayRefusesAndChangesNothing) {
    world.disk->profiles.set_unavailable(true);
    Result<StatusOutcome> refused = world.declare(kAnn, DeclaredStatus::busy);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
    EXPECT_TRUE(of_ann().empty());
    EXPECT_EQ(world.look("bob", "ann").status, Status::online);
}

TEST_F(StatusTest, OverTheRateTheNewestIsKeptAndAppliedWhenTheBucketRefills) {
    Millis applied_in{0};
    for (int i = 0; i < 40; ++i) {
        const bool away = i % 2 == 0;
        Result<StatusOutcome> outcome = world.declare(
            kAnn,
            StatusChange{away ? DeclaredStatus::busy : DeclaredStatus::away, {}, false, nullptr},
            true);
        ASSERT_TRUE(outcome.has_value());
        applied_in = outcome->applied_in;
        EXPECT_EQ(applied_in > 0ms, i >= 10) << i;
    }
    EXPECT_LE(applied_in, 1001ms);
    world.run(2s);
    EXPECT_EQ(world.look("bob", "ann").status, Status::away);
    EXPECT_EQ(world.stored("ann")->declared.status, DeclaredStatus::away);
    EXPECT_EQ(world.stored("ann")->declared.revision, 11U);
    EXPECT_EQ(world.counters().status_deferred, 30U);
}

TEST_F(StatusTest, OverTheRateTheNewestOfASessionIsKeptToo) {
    Millis applied_in{0};
    for (int i = 0; i < 40; ++i) {
        const DeclaredStatus status = i % 2 == 0 ? DeclaredStatus::busy : DeclaredStatus::away;
        Result<StatusOutcome> outcome = world.declare_on(ann, status, {}, true);
        ASSERT_TRUE(outcome.has_value());
        applied_in = outcome->applied_in;
        EXPECT_EQ(applied_in > 0ms, i >= 10) << i;
    }
    EXPECT_LE(applied_in, 1001ms);
    const std::uint64_t commit = world.record("ann")->commit;
    world.run(500ms);
    ASSERT_TRUE(world.declare_on(ann, DeclaredStatus::dnd, {}, true));
    EXPECT_EQ(world.record("ann")->commit, commit);
    world.run(2s);
    EXPECT_EQ(world.look("bob", "ann").status, Status::dnd);
    EXPECT_EQ(world.record("ann")->commit, commit + 1);
    EXPECT_EQ(world.counters().status_deferred, 31U);
}

TEST_F(StatusTest, WhatWaitsOfASessionGoesOnWithAResumeAndEndsWithTheSession) {
    for (int i = 0; i < 11; ++i) {
        ASSERT_TRUE(
            world.declare_on(ann, i == 10 ? DeclaredStatus::dnd : DeclaredStatus::busy, {}, true));
    }
    const Client back = world.resume(ann);
    ASSERT_TRUE(back->resumed);
    world.run(2s);
    EXPECT_EQ(world.look("bob", "ann").status, Status::dnd);
    for (int i = 0; i < 11; ++i) {
        ASSERT_TRUE(world.declare_on(back, DeclaredStatus::busy, {}, true));
    }
    world.bye(back);
    world.run(2s);
    EXPECT_EQ(world.look("bob", "ann").status, Status::offline);
}

TEST_F(StatusTest, ADeferredChangeSurvivesADatabaseThatIsAwayForAMoment) {
    for (int i = 0; i < 11; ++i) {
        ASSERT_TRUE(world.declare(
            kAnn, StatusChange{i == 10 ? DeclaredStatus::dnd : DeclaredStatus::busy, {}, false, {}},
            true));
    }
    world.disk->profiles.set_unavailable(true);
    world.run(5s);
    world.disk->profiles.set_unavailable(false);
    world.run(3s);
    EXPECT_EQ(world.look("bob", "ann").status, Status::dnd);
}

TEST_F(StatusTest, ADeferredChangeDoesNotFillTheWheel) {
    for (int i = 0; i < 12; ++i) {
        (void)world.declare(kAnn, StatusChange{DeclaredStatus::busy, {}, false, {}}, true);
    }
    const std::size_t before = world.service(kAnn).wheel_size();
    for (int i = 0; i < 200; ++i) {
        (void)world.declare(kAnn, StatusChange{DeclaredStatus::busy, {}, false, {}}, true);
        world.run(50ms);
    }
    EXPECT_LE(world.service(kAnn).wheel_size(), before + 10);
}

TEST_F(StatusTest, GoingAwayAndComingBackDoesNotRefillTheBucket) {
    for (int i = 0; i < 10; ++i) {
        ASSERT_TRUE(world.declare(
            kAnn, StatusChange{i % 2 ? DeclaredStatus::busy : DeclaredStatus::dnd, {}, false, {}},
            true));
    }
    world.bye(ann);
    world.run(3s);
    (void)world.connect("ann");
    int at_once = 0;
    for (int i = 0; i < 10; ++i) {
        at_once += world.declare(kAnn, StatusChange{DeclaredStatus::away, {}, false, {}}, true)
                       ->applied_in == 0ms;
    }
    EXPECT_LE(at_once, 4);
}

TEST_F(StatusTest, AFullBucketIsForgottenWithItsPerson) {
    ASSERT_TRUE(world.declare(kAnn, StatusChange{DeclaredStatus::busy, {}, false, {}}, true));
    world.bye(ann);
    world.bye(bob);
    world.run(5s);
    EXPECT_EQ(world.service(kAnn).user_count(), 0U);
}

TEST_F(StatusTest, FO008ToggledOverAndOverIsCoalescedAndEndsRight) {
    for (int i = 1; i <= 40; ++i) {
        (void)world.declare(
            kAnn,
            StatusChange{i % 2 ? DeclaredStatus::online : DeclaredStatus::away, {}, false, {}},
            true);
        world.run(250ms);
    }
    EXPECT_LE(world.told(bob).size(), 11U);
    world.run(2s);
    EXPECT_EQ(world.told(bob).back().status, Status::away);
    for (std::size_t i = 1; i < world.told(bob).size(); ++i) {
        EXPECT_GT(world.told(bob)[i].version, world.told(bob)[i - 1].version);
        EXPECT_GE(world.told(bob)[i].at - world.told(bob)[i - 1].at, 950ms);
    }
    for (const Status status : of_ann()) {
        EXPECT_NE(status, Status::offline);
    }
}

TEST_F(StatusTest, InvisibleIsOfflineToOthersAndItselfToOwnDevices) {
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::invisible));
    EXPECT_EQ(of_ann(), Statuses{Status::offline});
    EXPECT_EQ(world.look("ann", "ann").status, Status::invisible);
    EXPECT_EQ(world.look_as_back_end("ann").status, Status::invisible);
    EXPECT_EQ(world.look("bob", "ann").status, Status::offline);
}

TEST_F(StatusTest, FO048NothingMovesForOthersWhileInvisible) {
    world.change_contacts("bob", "ann", true);
    world.change_contacts("ann", "bob", true);
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::invisible));
    world.run(3s);
    const auto before = world.look("bob", "ann");
    world.told(bob).clear();

    ASSERT_TRUE(world.say(kAnn, "secret"));
    world.report(ann, 0ms);
    const Client phone = world.connect("ann", {.kind = DeviceKind::mobile});
    world.run(5s);
    world.report(ann, std::nullopt);
    world.lose(phone);
    world.run(20s);
    world.bye(ann);
    world.run(20s);
    const Client again = world.connect("ann");
    world.run(5s);
    world.bye(again);
    world.run(20s);

    EXPECT_TRUE(world.told(bob).empty());
    const auto after = world.look("bob", "ann");
    EXPECT_EQ(after.version, before.version);
    ASSERT_TRUE(before.last_seen && after.last_seen);
    EXPECT_EQ(after.status, Status::offline);
}

TEST_F(StatusTest, FO049AnInvisibleLeavesNoSecondOfflineBehind) {
    const Client carl = world.connect("carl");
    world.run(2s);
    world.watch(bob, {"carl"});
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::invisible));
    world.bye(carl);
    world.run(30s);
    world.bye(ann);
    world.run(30s);
    EXPECT_EQ(of_ann(), Statuses{Status::offline});
    EXPECT_EQ(statuses(world.told(bob), "carl"), Statuses{Status::offline});
}

TEST_F(StatusTest, ASessionThatIsOverRefusesItsStatus) {
    world.bye(ann);
    Result<StatusOutcome> refused = world.declare_on(ann, DeclaredStatus::busy);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::not_found);
}

TEST_F(StatusTest, VersionsGrowAlsoForOneWhoIsOfflineAndForgottenByTheStore) {
    world.bye(ann);
    world.run(2s);
    for (int i = 0; i < 5; ++i) {
        ASSERT_TRUE(
            world.declare(UserId("dora"), i % 2 ? DeclaredStatus::busy : DeclaredStatus::dnd));
    }
    const Version before = world.look_as_back_end("dora").version;
    for (int hour = 0; hour < 6; ++hour) {
        world.run(11min);
        ASSERT_TRUE(world.declare(UserId("dora"),
                                  hour % 2 ? DeclaredStatus::away : DeclaredStatus::online));
        const Version after = world.look_as_back_end("dora").version;
        EXPECT_GT(after, before);
    }
}

}  // namespace
}  // namespace presence
