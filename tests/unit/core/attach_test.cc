// How sessions begin, are taken over, and make room (DESIGN rules 7, 8, 34).

#include "unit/core/world.h"

namespace presence {
namespace {

using testing::Client;
using testing::Connecting;
using testing::start_task;
using testing::Started;
using testing::statuses;
using testing::World;

const UserId kAnn("ann");

TEST(Attach, APersonWhoConnectsIsOnlineWithTheKindOfTheirDevice) {
    World world;
    EXPECT_EQ(world.look("bob", "ann").status, Status::offline);
    EXPECT_EQ(world.look("bob", "ann").version, Version{0});

    const Client ann = world.connect("ann", {.kind = DeviceKind::mobile});
    EXPECT_FALSE(ann->resumed);
    EXPECT_FALSE(ann->id.text.empty());

    const auto seen = world.look("bob", "ann");
    EXPECT_EQ(seen.status, Status::online);
    ASSERT_TRUE(seen.devices);
    EXPECT_TRUE(seen.devices->contains(DeviceKind::mobile));
    EXPECT_GT(seen.version, Version{0});
    EXPECT_LT(seen.version.value, std::uint64_t{1} << 53);
}

TEST(Attach, AResumeKeepsTheSessionAndGivesItAHigherEpoch) {
    World world;
    const Client first = world.connect("ann");
    const Epoch before = world.record("ann")->sessions.at(0).epoch;
    world.lose(first);
    const Client second = world.resume(first);

    EXPECT_TRUE(second->resumed);
    EXPECT_EQ(second->id, first->id);
    ASSERT_EQ(world.record("ann")->sessions.size(), 1U);
    EXPECT_GT(world.record("ann")->sessions[0].epoch, before);
    EXPECT_FALSE(world.record("ann")->sessions[0].grace_until);
    EXPECT_EQ(world.counters().grace_returns, 1U);
}

TEST(Attach, TheEpochGrowsAlsoWhenTheWallClockWentBack) {
    World world;
    const Client first = world.connect("ann");
    const Epoch before = world.record("ann")->sessions.at(0).epoch;
    world.clock.step_wall(-300s);
    (void)world.resume(first);
    EXPECT_GT(world.record("ann")->sessions.at(0).epoch, before);
}

TEST(Attach, AResumeOfALiveSessionClosesItsOldConnectionAsReplaced) {
    World world;
    const Client half_open = world.connect("ann");
    const Client back = world.resume(half_open);

    EXPECT_TRUE(back->resumed);
    EXPECT_EQ(world.connection(half_open).ended, EndReason::replaced);
    EXPECT_TRUE(world.is_open(back));
    EXPECT_EQ(world.record("ann")->sessions.size(), 1U);
    EXPECT_EQ(world.shard().service.session_count(), 1U);
}

TEST(Attach, TheLateCloseOfAReplacedConnectionHarmsNobody) {
    World world;
    const Client bob = world.connect("bob");
    const Client half_open = world.connect("ann");
    world.watch(bob, {"ann"});
    const Client back = world.resume(half_open);
    const UserRecordRef before = world.record("ann");

    world.wait(world.service(kAnn).connection_lost(half_open->session, false));
    world.wait(world.service(kAnn).end(half_open->session, Cause::goodbye));
    world.service(kAnn).heartbeat(half_open->session, world.clock.now());
    world.report(half_open, std::nullopt);
    world.run(150s);

    EXPECT_EQ(world.record("ann"), before);
    EXPECT_TRUE(world.is_open(back));
    EXPECT_TRUE(world.told(bob).empty());
}

TEST(Attach, AResumeWhoseConnectionIsOverBeforeItIsLetInTakesNothing) {
    World world;
    const Client ann = world.connect("ann");
    const UserRecordRef before = world.record("ann");
    for (const bool at_once : {true, false}) {
        int asked = 0;
        AttachRequest late;
        late.user = kAnn;
        late.resume_id = ann->id;
        late.resume_hash = ann->secret;
        late.is_over = [&] { return ++asked > (at_once ? 0 : 1); };
        const Result<Attachment> refused = world.wait(world.service(kAnn).attach(std::move(late)));
        ASSERT_FALSE(refused.has_value());
        EXPECT_EQ(refused.error().code, ErrorCode::not_found);
    }
    EXPECT_EQ(world.record("ann"), before);
    EXPECT_TRUE(world.is_open(ann));
    EXPECT_EQ(world.counters().attach_timeouts, 0U);
}

TEST(Attach, AnUnknownOrForeignResumeMakesANewSession) {
    World world;
    const Client ann = world.connect("ann");
    world.lose(ann);

    const Client stranger = world.connect("bob", {.resume = ann});
    EXPECT_FALSE(stranger->resumed);
    EXPECT_NE(stranger->id, ann->id);

    const Client wrong_secret = std::make_shared<testing::ClientState>(*ann);
    wrong_secret->secret[15] ^= 1U;
    const Client other = world.resume(wrong_secret);
    EXPECT_FALSE(other->resumed);
    EXPECT_EQ(world.record("ann")->sessions.size(), 2U);
}

TEST(Attach, AResumeAfterTheGraceMakesANewSession) {
    World world;
    const Client ann = world.connect("ann");
    world.lose(ann);
    world.run(11s);
    const Client back = world.resume(ann);
    EXPECT_FALSE(back->resumed);
    EXPECT_NE(back->id, ann->id);
}

TEST(Attach, ARevokedTokenIsRefusedAndANewerOneIsNot) {
    World world;
    const WallTime now = world.clock.wall_now();
    Result<ProfileChange> revoked = world.wait(world.shard().editor.revoke(kAnn, now));
    ASSERT_TRUE(revoked.has_value());
    world.turn();

    Result<Client> old = world.try_connect(kAnn, {.token_issued_at = now - 1ms});
    ASSERT_FALSE(old.has_value());
    EXPECT_EQ(old.error().code, ErrorCode::unauthorized);
    Result<Client> undated = world.try_connect(kAnn);
    ASSERT_FALSE(undated.has_value());
    EXPECT_EQ(undated.error().code, ErrorCode::unauthorized);
    EXPECT_TRUE(world.try_connect(kAnn, {.token_issued_at = now}).has_value());
}

TEST(Attach, OfAsManySessionsAsAreAllowedAllMayBeFreshAndOneMoreIsRefused) {
    testing::WorldOptions options;
    options.limits.sessions_per_user = 3;
    World world(options);
    for (int i = 0; i < 3; ++i) {
        (void)world.connect("ann");
    }
    const UserRecordRef before = world.record("ann");
    Result<Client> fourth = world.try_connect(kAnn);

    ASSERT_FALSE(fourth.has_value());
    EXPECT_EQ(fourth.error().code, ErrorCode::limit_exceeded);
    EXPECT_EQ(fourth.error().limit, 3);
    EXPECT_EQ(world.record("ann"), before);
    EXPECT_EQ(world.counters().sessions_refused, 1U);
    EXPECT_TRUE(world.try_connect(UserId("bob")).has_value());
}

TEST(Attach, AtTheLimitAResumeIsNoNewSession) {
    testing::WorldOptions options;
    options.limits.sessions_per_user = 2;
    World world(options);
    const Client one = world.connect("ann");
    (void)world.connect("ann");
    EXPECT_TRUE(world.resume(one)->resumed);
}

TEST(Attach, AtTheLimitTheOldestInGraceMakesRoom) {
    testing::WorldOptions options;
    options.limits.sessions_per_user = 3;
    World world(options);
    const Client fresh = world.connect("ann");
    const Client lost_later = world.connect("ann");
    const Client lost_first = world.connect("ann");
    world.lose(lost_first);
    world.run(1s);
    world.lose(lost_later);

    Result<Client> fourth = world.try_connect(kAnn);
    ASSERT_TRUE(fourth.has_value());
    EXPECT_EQ(world.counters().sessions_displaced, 1U);
    EXPECT_TRUE(world.is_open(fresh));
    EXPECT_FALSE(world.resume(lost_first)->resumed);  // It has gone, and takes the next place.
    EXPECT_EQ(world.record("ann")->sessions.size(), 3U);
}

TEST(Attach, AtTheLimitTheOneLongestSilentMakesRoomOnceItIsOverdue) {
    testing::WorldOptions options;
    options.limits.sessions_per_user = 2;
    World world(options);
    const Client silent = world.connect("ann");
    const Client beating = world.connect("ann");
    testing::World::fall_silent(silent);

    world.run(45s);  // One and a half intervals: not over them yet.
    EXPECT_FALSE(world.try_connect(kAnn).has_value());
    world.run(1s);
    EXPECT_TRUE(world.try_connect(kAnn).has_value());
    EXPECT_EQ(world.connection(silent).ended, EndReason::displaced);
    EXPECT_TRUE(world.is_open(beating));
    EXPECT_EQ(world.record("ann")->sessions.size(), 2U);
    EXPECT_EQ(world.shard().service.session_count(), 2U);
}

TEST(Attach, WhatADisplacedSessionLastSaidCountsForLastSeen) {
    testing::WorldOptions options;
    options.limits.sessions_per_user = 1;
    World world(options);
    const Client ann = world.connect("ann");
    World::fall_silent(ann);
    const WallTime only_beat = world.clock.wall_now();
    world.run(50s);
    const Client board = world.connect("ann", {.observe = true});
    world.run(2s);
    EXPECT_EQ(world.connection(ann).ended, EndReason::displaced);
    EXPECT_EQ(world.look("ann", "ann").status, Status::offline);
    EXPECT_EQ(world.stored_last_seen("ann"), only_beat);
    EXPECT_TRUE(world.is_open(board));
}

TEST(Attach, WhileTheDatabaseWasNeverReadAttachIsRefusedWithATimeToRetry) {
    World world;
    world.disk->profiles.set_unavailable(true);
    Result<Client> refused = world.try_connect(kAnn);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
    EXPECT_GT(refused.error().retry_after_ms, 0);
    EXPECT_EQ(world.shard().service.user_count(), 0U);
    EXPECT_EQ(world.shard().service.session_count(), 0U);
}

TEST(Attach, NeverWaitsForAStoreLongerThanItsLimitAndLeavesNoSessionBehind) {
    World world;
    const Client bob = world.connect("bob");
    world.watch(bob, {"ann"});
    world.sessions.faults().set_delay(1500ms);  // Loading and committing make three seconds.
    const MonoTime asked_at = world.clock.now();
    Result<Client> refused = world.try_connect(kAnn);

    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
    EXPECT_LE(world.clock.now() - asked_at, 2s);
    EXPECT_EQ(world.counters().attach_timeouts, 1U);
    world.run(20s);
    EXPECT_TRUE(world.record("ann") == nullptr || world.record("ann")->sessions.empty());
    EXPECT_EQ(world.service(kAnn).session_count(), 1U);
    world.sessions.faults().set_delay(0ms);
    EXPECT_EQ(world.look("bob", "ann").status, Status::offline);
}

TEST(Attach, AResumeThatCameTooLateForItsAnswerLeavesTheSessionInItsGrace) {
    World world;
    const Client bob = world.connect("bob");
    const Client ann = world.connect("ann");
    world.watch(bob, {"ann"});
    world.lose(ann);
    world.sessions.faults().set_delay(2500ms);
    Result<Client> refused = world.try_connect(kAnn, {.resume = ann});
    ASSERT_FALSE(refused.has_value());
    world.sessions.faults().set_delay(0ms);
    world.run(5s);

    const Client back = world.resume(ann);
    EXPECT_TRUE(back->resumed);
    EXPECT_EQ(back->id, ann->id);
    world.run(60s);
    EXPECT_TRUE(world.told(bob).empty());
    EXPECT_EQ(world.record("ann")->sessions.size(), 1U);
    EXPECT_EQ(world.service(kAnn).session_count(), 2U);
}

TEST(Attach, AFullJournalRefusesNewSessionsUntilItIsWritten) {
    testing::WorldOptions options;
    options.limits.journal_queue = 4;
    World world(options);
    world.disk->journal.faults.set_unavailable(true);
    for (int i = 0; i < 4; ++i) {
        (void)world.connect(UserId("user" + std::to_string(i)));
    }
    Result<Client> refused = world.try_connect(kAnn);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::unavailable);

    world.disk->journal.faults.set_unavailable(false);
    world.run(1s);
    EXPECT_TRUE(world.try_connect(kAnn).has_value());
}

TEST(Attach, OneThatWaitedTooLongForItsTurnAsksNoStore) {
    World world;
    world.disk->profiles.faults().set_delay(5s);
    world.disk->profiles.set_unavailable(true);
    for (int i = 0; i < 4; ++i) {
        const Client client = world.new_client(kAnn);
        static_cast<void>(start_task(world.service(kAnn).attach(world.request_of(client, {}))));
    }
    world.run(60s);
    EXPECT_EQ(world.counters().profile_failures, 1U);
    EXPECT_EQ(world.counters().attach_timeouts, 4U);
    EXPECT_EQ(world.service(kAnn).user_count(), 0U);
}

TEST(Attach, FlowsAboutOnePersonDoNotHoldUpAnother) {
    World world;
    world.sessions.faults().set_delay(500ms);
    const Client ann = world.new_client(kAnn);
    const Client bob = world.new_client(UserId("bob"));
    Started<Result<Attachment>> first =
        start_task(world.service(kAnn).attach(world.request_of(ann, {})));
    Started<Result<Attachment>> second =
        start_task(world.service(bob->user).attach(world.request_of(bob, {})));
    world.run(1s);
    ASSERT_TRUE(first->has_value() && second->has_value());
    EXPECT_TRUE((*first)->has_value());
    EXPECT_TRUE((*second)->has_value());
}

TEST(Attach, TwoThatAttachAtOnceAreBothThere) {
    World world;
    world.sessions.faults().set_delay(100ms);
    std::vector<Started<Result<Attachment>>> attaching;
    for (int i = 0; i < 5; ++i) {
        const Client client = world.new_client(kAnn);
        attaching.push_back(start_task(world.service(kAnn).attach(world.request_of(client, {}))));
    }
    world.run(2s);
    for (const auto& one : attaching) {
        ASSERT_TRUE(one->has_value());
        EXPECT_TRUE((*one)->has_value());
    }
    EXPECT_EQ(world.record("ann")->sessions.size(), 5U);
}

TEST(Attach, ACommitFromElsewhereIsNotOverwritten) {
    World world;
    const Client ann = world.connect("ann");
    // Somebody else commits: as another node would.
    const UserRecordRef before = world.record("ann");
    auto changed = make_ref<UserRecord>(*before);
    changed->commit = before->commit + 1;
    Session foreign = before->sessions.at(0);
    foreign.id = SessionId("elsewhere");
    changed->sessions.push_back(foreign);
    ASSERT_EQ(world.sessions.commit({kAnn, before->commit, changed, 1h, nullptr}, nullptr),
              CommitOutcome::committed);

    (void)world.connect("ann");
    EXPECT_EQ(world.record("ann")->sessions.size(), 3U);
    EXPECT_EQ(world.counters().conflicts, 1U);
}

}  // namespace
}  // namespace presence
