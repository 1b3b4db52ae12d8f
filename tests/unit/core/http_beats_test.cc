// Sessions that live by heartbeats over HTTP (DESIGN rules 2, 5, 8, 16, 19, 32; RULINGS 19).

#include "presence/core/barred_devices.h"

#include "unit/core/world.h"

namespace presence {
namespace {

using testing::Client;
using testing::statuses;
using testing::World;
using testing::WorldOptions;
using Statuses = std::vector<Status>;

const UserId kAnn("ann");

struct HttpBeats : ::testing::Test {
    std::shared_ptr<testing::Disk> disk = std::make_shared<testing::Disk>();
    WorldOptions options;
    std::unique_ptr<World> world = live();

    std::unique_ptr<World> live() {
        options.disk = disk;
        return std::make_unique<World>(options);
    }
    void crash(Millis away = 1s) {
        world.reset();
        disk->clock.pass(away);
        world = live();
    }

    Result<Attachment> try_beat(const char* user = "ann", const char* device = "phone",
                                std::optional<bool> active = {},
                                std::optional<DeviceKind> kind = {}) {
        BeatRequest request;
        request.user = UserId(user);
        request.token_issued_at = disk->clock.wall_now();
        request.session = beating_session(device);
        request.active = active;
        if (kind) {
            request.device = Device{*kind, ""};
        }
        Result<Attachment> beat = world->wait(world->service(request.user).beat(request));
        world->turn();
        return beat;
    }
    void beat(const char* user = "ann", const char* device = "phone",
              std::optional<bool> active = {}, std::optional<DeviceKind> kind = {}) {
        EXPECT_TRUE(try_beat(user, device, active, kind).has_value());
    }
    Client watcher() {
        const Client bob = world->connect("bob");
        world->watch(bob, {"ann"});
        return bob;
    }
    [[nodiscard]] std::uint64_t commits(const char* user = "ann") {
        return world->record(user)->commit;
    }
};

TEST_F(HttpBeats, SilenceEndsItAtTheTtlAndNotBefore) {
    beat();
    const Client bob = watcher();
    world->run(60s);
    beat();
    const MonoTime last = disk->clock.now();
    const WallTime last_seen = disk->clock.wall_now();
    world->run_to(last + 100s - 1ms);
    EXPECT_TRUE(world->told(bob).empty());
    world->run_to(last + 100s + 500ms);
    EXPECT_EQ(statuses(world->told(bob), "ann"), Statuses{Status::offline});
    EXPECT_EQ(world->record("ann")->presence.last_seen, last_seen);
    EXPECT_EQ(world->counters().silent_deaths, 1U);
    EXPECT_EQ(world->counters().pings, 0U);
}

TEST_F(HttpBeats, KeepOneSessionAliveAndAreNotedAtMostOnceInFiveSeconds) {
    beat();
    const std::uint64_t first = commits();
    for (int i = 0; i < 40; ++i) {
        world->run(1s);
        beat();
    }
    EXPECT_EQ(world->record("ann")->sessions.size(), 1U);
    EXPECT_EQ(world->service(kAnn).session_count(), 1U);
    EXPECT_EQ(commits() - first, 8U);
    const auto until = *world->record("ann")->sessions[0].beats_until;
    EXPECT_LE(until - disk->clock.wall_now(), 100s);
    EXPECT_GT(until - disk->clock.wall_now(), 95s);
    EXPECT_EQ(world->counters().transitions[static_cast<std::size_t>(Cause::beat)], 0U);
}

TEST_F(HttpBeats, TellNobodyAnything) {
    beat();
    const Client bob = watcher();
    for (int i = 0; i < 10; ++i) {
        world->run(10s);
        beat();
    }
    EXPECT_TRUE(world->told(bob).empty());
}

TEST_F(HttpBeats, ARevocationTellsTheTimeOfTheLastHeartbeat) {
    beat();
    const WallTime last_beat = disk->clock.wall_now();
    world->run(40s);
    ASSERT_TRUE(world->wait(world->service(kAnn).end_revoked(kAnn, disk->clock.wall_now())));
    world->run(2s);
    EXPECT_EQ(world->look("bob", "ann").status, Status::offline);
    EXPECT_EQ(world->stored_last_seen("ann"), last_beat);
}

TEST_F(HttpBeats, ASignOutEndsAtOnce) {
    beat();
    const Client bob = watcher();
    world->run(2s);
    EXPECT_TRUE(*world->wait(world->service(kAnn).sign_out(kAnn, beating_session("phone"))));
    world->turn();
    EXPECT_EQ(statuses(world->told(bob), "ann"), Statuses{Status::offline});
    EXPECT_FALSE(*world->wait(world->service(kAnn).sign_out(kAnn, beating_session("phone"))));
}

TEST_F(HttpBeats, ActivityAndDeviceStandUntilTheySaySomethingElse) {
    beat("ann", "phone", true, DeviceKind::mobile);
    const Client bob = watcher();
    world->run(2s);
    beat("ann", "phone", false);
    EXPECT_EQ(statuses(world->told(bob), "ann"), Statuses{Status::away});
    world->run(30s);
    beat("ann", "phone", {}, DeviceKind::tablet);
    EXPECT_EQ(world->record("ann")->presence.own.status, Status::away);
    EXPECT_TRUE(world->record("ann")->presence.own.devices.contains(DeviceKind::tablet));
    EXPECT_FALSE(world->record("ann")->presence.own.devices.contains(DeviceKind::mobile));
}

TEST_F(HttpBeats, OneThatWasActiveGoesIdleByItself) {
    beat("ann", "phone", true);
    for (int i = 0; i < 21; ++i) {
        world->run(30s);
        beat();
    }
    EXPECT_EQ(world->record("ann")->presence.own.status, Status::away);
}

TEST_F(HttpBeats, MergesWithOtherDevices) {
    beat("ann", "phone", false);
    const Client laptop = world->connect("ann", {.kind = DeviceKind::desktop});
    EXPECT_EQ(world->record("ann")->presence.own.status, Status::online);
    world->bye(laptop);
    EXPECT_EQ(world->record("ann")->presence.own.status, Status::away);
}

TEST_F(HttpBeats, AtTheLimitAnOverdueOneMakesRoomAndAFreshOneDoesNot) {
    world.reset();
    options.limits.sessions_per_user = 2;
    world = live();
    beat("ann", "a");
    world->run(20s);
    beat("ann", "b");
    const Result<Attachment> refused = try_beat("ann", "c");
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::limit_exceeded);
    world->run(26s);  // "a" is silent for 46 s, over one and a half intervals.
    beat("ann", "c");
    std::vector<std::string> names;
    for (const Session& session : world->record("ann")->sessions) {
        names.emplace_back(session.id.text);
    }
    EXPECT_EQ(names, (std::vector<std::string>{"http:b", "http:c"}));
}

TEST_F(HttpBeats, ANodeThatWasStoppedEndsNobodyForIt) {
    beat();
    world->run(50s);
    world->stall(300s);
    world->run(40s);
    EXPECT_EQ(world->record("ann")->presence.own.status, Status::online);
    world->run(20s);
    EXPECT_EQ(world->record("ann")->presence.own.status, Status::offline);
}

TEST_F(HttpBeats, TwoFirstHeartbeatsAtOnceMakeOneSession) {
    BeatRequest request;
    request.user = kAnn;
    request.session = beating_session("phone");
    const auto one = testing::start_task(world->service(kAnn).beat(request));
    const auto two = testing::start_task(world->service(kAnn).beat(request));
    world->run(1s);
    ASSERT_TRUE(one->has_value() && two->has_value());
    EXPECT_TRUE((*one)->has_value() && (*two)->has_value());
    EXPECT_EQ(world->record("ann")->sessions.size(), 1U);
    EXPECT_EQ(world->service(kAnn).session_count(), 1U);
}

TEST_F(HttpBeats, NoConnectionCanTakeItOver) {
    beat();
    const Client thief = world->new_client(kAnn);
    AttachRequest request = world->request_of(thief, {});
    request.resume_id = beating_session("phone");
    request.resume_hash = {};  // As it stands in the record.
    Result<Attachment> attached = world->wait(world->service(kAnn).attach(std::move(request)));
    ASSERT_TRUE(attached.has_value());
    EXPECT_FALSE(attached->resumed);
    EXPECT_EQ(world->record("ann")->sessions.size(), 2U);
}

// -- Crash and restart --------------------------------------------------------------------------

TEST_F(HttpBeats, FO002_AfterARestartItKeepsWhatWasLeftOfItsTtl) {
    beat();
    world->run(30s);
    beat();
    const WallTime last_beat = disk->clock.wall_now();
    world->run(40s);
    crash(10s);
    const MonoTime ready_at = disk->clock.now();
    EXPECT_EQ(world->look("bob", "ann").status, Status::unknown);
    const Client bob = watcher();
    world->run_to(ready_at + 55s);  // 60 s were left, give or take what was not noted.
    EXPECT_TRUE(world->told(bob).empty());
    world->run_to(ready_at + 70s);
    EXPECT_EQ(statuses(world->told(bob), "ann"), Statuses{Status::offline});
    const std::optional<WallTime> last_seen = world->stored_last_seen("ann");
    ASSERT_TRUE(last_seen);
    EXPECT_LE(*last_seen, last_beat);
    EXPECT_GE(*last_seen, last_beat - 5s);
}

TEST_F(HttpBeats, AHeartbeatAfterARestartTakesItUpAgainAndNobodyHearsOfOffline) {
    beat();
    world->run(30s);
    crash(5s);
    const Client bob = watcher();
    world->run(20s);
    beat();
    EXPECT_EQ(statuses(world->told(bob), "ann"), Statuses{Status::online});
    EXPECT_EQ(world->record("ann")->sessions.size(), 1U);
    EXPECT_EQ(world->service(kAnn).session_count(), 2U);  // And the watcher's.
    world->run(90s);
    EXPECT_EQ(world->told(bob).size(), 1U);
    world->run(11s);
    EXPECT_EQ(statuses(world->told(bob), "ann"), (Statuses{Status::online, Status::offline}));
}

// -- Thrown out ----------------------------------------------------------------------------------

TEST_F(HttpBeats, AKickedDeviceIsRefusedForOneTtlAndOthersAreNot) {
    beat();
    ASSERT_TRUE(*world->wait(world->service(kAnn).kick(kAnn, beating_session("phone"))));
    const Result<Attachment> refused = try_beat();
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::forbidden);
    EXPECT_EQ(world->counters().http_beats_refused, 1U);
    beat("ann", "tablet");
    world->run(options.config.heartbeat.ttl - 1s);
    EXPECT_FALSE(try_beat().has_value());
    world->run(1s);
    beat();
}

TEST_F(HttpBeats, OneThatSignsOutAfterAKickHasUnderstood) {
    beat();
    ASSERT_TRUE(*world->wait(world->service(kAnn).kick(kAnn, beating_session("phone"))));
    EXPECT_FALSE(*world->wait(world->service(kAnn).sign_out(kAnn, beating_session("phone"))));
    beat();
}

TEST(BarredDevices, AreForgottenInTimeAndNeverMoreThanTheirBound) {
    const WallTime now = WallTime::from_ms(1'000'000);
    BarredDevicesRef barred = barring(nullptr, {SessionId("a"), now + 10ms}, now);
    EXPECT_TRUE(is_barred(barred, SessionId("a"), now));
    EXPECT_FALSE(is_barred(barred, SessionId("b"), now));
    EXPECT_FALSE(is_barred(barred, SessionId("a"), now + 10ms));
    EXPECT_EQ(allowing(barred, SessionId("a"), now), nullptr);
    EXPECT_EQ(barring(barred, {SessionId("b"), now + 1s}, now + 10ms)->size(), 1U);
    EXPECT_EQ(barring(barred, {SessionId("a"), now + 1s}, now)->size(), 1U);
    for (std::size_t i = 0; i < kMostBarred + 10; ++i) {
        barred = barring(barred, {SessionId(std::to_string(i)), now + 1s}, now);
    }
    EXPECT_EQ(barred->size(), kMostBarred);
    EXPECT_TRUE(is_barred(barred, SessionId(std::to_string(kMostBarred + 9)), now));
}

}  // namespace
}  // namespace presence
