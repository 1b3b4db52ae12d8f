// What back ends do to people: kick, revoke, erase.

#include "unit/core/world.h"

namespace presence {
namespace {

using testing::Client;
using testing::statuses;
using testing::World;
using Statuses = std::vector<Status>;

const UserId kAnn("ann");

struct RemovalTest : ::testing::Test {
    World world;
    Client bob = world.connect("bob");
    Client ann = world.connect("ann");

    void SetUp() override {
        world.change_contacts("ann", "bob", true);
        world.change_contacts("bob", "ann", true);
        world.run(5s);
        world.watch(bob, {"ann"});
    }
    Result<bool> kick(const SessionId& session) {
        Result<bool> kicked = world.wait(world.service(kAnn).kick(kAnn, session));
        world.turn();
        return kicked;
    }
    void erase() {
        Result<bool> ended = world.wait(world.service(kAnn).erase(kAnn));
        ASSERT_TRUE(ended.has_value());
        Result<bool> erased = world.wait(world.shard().editor.erase(kAnn, world.clock.wall_now()));
        ASSERT_TRUE(erased.has_value());
        world.turn();
    }
};

TEST_F(RemovalTest, AKickEndsOneSessionAtOnceAndWithoutGrace) {
    const Client phone = world.connect("ann");
    ASSERT_TRUE(*kick(phone->id));
    EXPECT_EQ(world.connection(phone).ended, EndReason::kicked);
    EXPECT_TRUE(world.is_open(ann));
    EXPECT_TRUE(statuses(world.told(bob), "ann").empty());
    ASSERT_TRUE(*kick(ann->id));
    EXPECT_EQ(statuses(world.told(bob), "ann"), Statuses{Status::offline});
    EXPECT_FALSE(world.resume(ann)->resumed);
}

TEST_F(RemovalTest, AKickOfNobodySaysSo) {
    Result<bool> kicked = kick(SessionId("nobody"));
    ASSERT_TRUE(kicked.has_value());
    EXPECT_FALSE(*kicked);
}

TEST_F(RemovalTest, AKickWorksInTheGraceToo) {
    world.lose(ann);
    ASSERT_TRUE(*kick(ann->id));
    EXPECT_EQ(statuses(world.told(bob), "ann"), Statuses{Status::offline});
    EXPECT_FALSE(world.resume(ann)->resumed);
}

TEST_F(RemovalTest, AKickThatTheStoreWouldNotTakeSaysSoAndIsDoneLater) {
    world.sessions.set_unavailable(true);
    Result<bool> kicked = kick(ann->id);
    ASSERT_FALSE(kicked.has_value());
    EXPECT_EQ(kicked.error().code, ErrorCode::unavailable);
    EXPECT_EQ(world.connection(ann).ended, EndReason::kicked);
    world.run(5s);
    world.sessions.set_unavailable(false);
    world.run(2s);
    EXPECT_EQ(statuses(world.told(bob), "ann"), Statuses{Status::offline});
}

TEST_F(RemovalTest, ARevocationClosesEveryConnectionWithTheReason) {
    const Client phone = world.connect("ann");
    ASSERT_TRUE(world.wait(world.service(kAnn).end_revoked(kAnn, world.clock.wall_now())));
    world.turn();
    EXPECT_EQ(world.connection(ann).ended, EndReason::revoked);
    EXPECT_EQ(world.connection(phone).ended, EndReason::revoked);
    EXPECT_EQ(statuses(world.told(bob), "ann"), Statuses{Status::offline});
}

TEST_F(RemovalTest, ARevocationReachesWhoIsAlreadyKnownToTheCache) {
    const WallTime issued = world.clock.wall_now();
    EXPECT_TRUE(world.try_connect(kAnn, {.token_issued_at = issued}));
    world.run(1s);
    ASSERT_TRUE(world.wait(world.shard().editor.revoke(kAnn, world.clock.wall_now())));
    EXPECT_FALSE(world.try_connect(kAnn, {.token_issued_at = issued}));
}

TEST_F(RemovalTest, ARevocationEndsWhoIsInGraceAtOnce) {
    const WallTime issued = world.clock.wall_now();
    const Client carl = world.connect("carl", {.token_issued_at = issued});
    const Client fresh = world.connect("carl", {.token_issued_at = issued + 60s});
    world.watch(bob, {"carl"});
    world.run(5s);
    world.lose(carl);
    const UserId user("carl");
    ASSERT_TRUE(world.wait(world.service(user).end_revoked(user, issued + 1s)));
    world.turn();
    EXPECT_TRUE(world.is_open(fresh));
    EXPECT_FALSE(world.resume(carl)->resumed);
    ASSERT_TRUE(world.wait(world.service(user).end_revoked(user, issued + 61s)));
    world.turn();
    EXPECT_EQ(world.connection(fresh).ended, EndReason::revoked);
    EXPECT_EQ(statuses(world.told(bob), "carl"), Statuses{Status::offline});
}

TEST_F(RemovalTest, ATokenThatWasRenewedIsTheOneThatIsRevoked) {
    const WallTime issued = world.clock.wall_now();
    const Client carl = world.connect("carl", {.token_issued_at = issued});
    world.service(kAnn).renew_token(carl->session, issued + 60s);
    const UserId user("carl");
    ASSERT_TRUE(world.wait(world.service(user).end_revoked(user, issued + 1s)));
    EXPECT_TRUE(world.is_open(carl));
}

TEST_F(RemovalTest, FO005AnErasureEndsEverySessionOnceAndTellsNoTime) {
    const Client phone = world.connect("ann");
    erase();
    world.run(5s);
    EXPECT_EQ(world.connection(ann).ended, EndReason::erased);
    EXPECT_EQ(world.connection(phone).ended, EndReason::erased);
    // Whom she had among her contacts was erased with her, so Bob may see no time either.
    EXPECT_EQ(world.told(bob).back().status, Status::offline);
    for (const auto& told : world.told(bob)) {
        EXPECT_FALSE(told.last_seen);
    }
    EXPECT_LE(world.told(bob).size(), 2U);
    EXPECT_FALSE(world.stored_last_seen("ann"));
    EXPECT_FALSE(world.look_as_back_end("ann").last_seen);
    EXPECT_EQ(world.service(kAnn).session_count(), 1U);
}

TEST_F(RemovalTest, AnErasureOfOneWhoIsOfflineTakesBackTheTime) {
    world.bye(ann);
    world.run(3s);
    ASSERT_TRUE(world.told(bob).back().last_seen);
    const Version before = world.told(bob).back().version;
    erase();
    world.run(3s);
    EXPECT_FALSE(world.told(bob).back().last_seen);
    const Version after = world.told(bob).back().version;
    EXPECT_TRUE(after > before || after == Version{0});
    EXPECT_FALSE(world.stored_last_seen("ann"));
    EXPECT_FALSE(world.look_as_back_end("ann").last_seen);
}

TEST_F(RemovalTest, AfterAnErasureStatusAndTextAreGoneAndVersionsGoOn) {
    ASSERT_TRUE(world.declare(kAnn, DeclaredStatus::busy));
    ASSERT_TRUE(world.say(kAnn, "secret"));
    world.run(2s);
    const Version before = world.look("bob", "ann").version;
    erase();
    (void)world.connect("ann");
    world.run(2s);
    const auto after = world.look("bob", "ann");
    EXPECT_EQ(after.status, Status::online);
    EXPECT_EQ(after.text, "");
    EXPECT_GT(after.version, before);
    EXPECT_EQ(world.told(bob).back().status, Status::online);
}

TEST_F(RemovalTest, AChangeThatWaitedDoesNotComeBackAfterTheErasure) {
    for (int i = 0; i < 12; ++i) {
        (void)world.declare(kAnn, StatusChange{DeclaredStatus::busy, {}, false, {}}, true);
    }
    erase();
    world.run(5s);
    (void)world.connect("ann");
    EXPECT_EQ(world.look("bob", "ann").status, Status::online);
}

TEST_F(RemovalTest, AnErasureThatTheStoreWouldNotTakeSaysSoAndCanBeRepeated) {
    world.sessions.set_unavailable(true);
    EXPECT_FALSE(world.wait(world.service(kAnn).erase(kAnn)).has_value());
    world.sessions.set_unavailable(false);
    erase();
    world.run(5s);
    EXPECT_EQ(world.look("bob", "ann").status, Status::offline);
    EXPECT_EQ(world.service(kAnn).session_count(), 1U);
    EXPECT_FALSE(world.stored_last_seen("ann"));
}

}  // namespace
}  // namespace presence
