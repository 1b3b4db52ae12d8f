// What becomes of a connection as its token ages and is replaced.

#include "support/run_task.h"
#include "unit/gateway/gateway_world.h"

namespace presence::gateway::testing {
namespace {

class GatewayTokens : public GatewayWorld {
protected:
    std::string user = user_at(0);
};

TEST_F(GatewayTokens, ATokenOfAnHourIsWarnedOfOnceAndAMinuteAhead) {
    Peer peer = welcome(token_of(user, 1h));

    pass(3539s);
    EXPECT_EQ(warnings(peer), 0U);
    pass(2s);
    EXPECT_EQ(warnings(peer), 1U);
    EXPECT_TRUE(peer.got(R"("inMs":60000)") || peer.got(R"("inMs":599)")) << peer.received;
    pass(59s + FakeTokens::kLeeway - 1s);
    EXPECT_EQ(warnings(peer), 1U);
    EXPECT_FALSE(peer.got("token_expired"));
    pass(2s);
    pump_until_got(peer, "token_expired");
}

TEST_F(GatewayTokens, AShortOneIsWarnedOfAtHalfOfItsLife) {
    Peer peer = welcome(token_of(user, 100s));

    pass(49s);
    EXPECT_EQ(warnings(peer), 0U);
    pass(2s);
    EXPECT_EQ(warnings(peer), 1U);
}

TEST_F(GatewayTokens, AFreshTokenIsWarnedOfBeforeItsOwnEndOnly) {
    Peer peer = welcome(token_of(user, 1h));
    pass(600s);
    auth(peer, token_of(user, 1h));

    pass(3539s);
    EXPECT_EQ(warnings(peer), 0U);
    pass(2s);
    EXPECT_EQ(warnings(peer), 1U);
    pass(61s);
    EXPECT_EQ(warnings(peer), 1U);
}

TEST_F(GatewayTokens, AFreshTokenThatEndsSoonerIsWarnedOfAndEndsSooner) {
    Peer peer = welcome(token_of(user, 1h));
    pass(10s);
    auth(peer, token_of(user, 200s));

    pass(139s);
    EXPECT_EQ(warnings(peer), 0U);
    pass(2s);
    EXPECT_EQ(warnings(peer), 1U);
    pass(60s + FakeTokens::kLeeway);
    pump_until_got(peer, "token_expired");
    EXPECT_EQ(warnings(peer), 1U);
}

TEST_F(GatewayTokens, AFreshTokenWithoutAnEndEndsNothing) {
    Peer peer = welcome(token_of(user, 200s));
    auth(peer, token_of(user));

    pass(2h);
    EXPECT_EQ(warnings(peer), 0U);
    EXPECT_FALSE(peer.closed);
}

TEST_F(GatewayTokens, AThousandFreshOnesLeaveNoMoreTimersThanOne) {
    Peer peer = welcome(token_of(user, 1h));
    const std::size_t before = gateway().timer_count();
    for (int i = 0; i < 1000; ++i) {
        auth(peer, token_of(user, 1h));
        pass(50ms);
    }
    EXPECT_LE(gateway().timer_count(), before + 1);
    pass(3000s);
    EXPECT_LE(gateway().timer_count(), before + 1);
    pass(700s);
    pump_until_got(peer, "token_expired");
    EXPECT_EQ(warnings(peer), 1U);
}

TEST_F(GatewayTokens, AFreshOneWhoseKeyMustBeFetchedIsWaitedFor) {
    Peer peer = welcome(token_of(user, 100s));
    const std::string fresh = token_of(user, 1h);
    tokens.fetched.insert(fresh);

    say_auth(peer, fresh);
    pump_until([&] { return !tokens.waiting.empty(); });
    tokens.answer_fetch();
    pump_until_got(peer, R"("type":"ack","id":2,"expiresAt":)");
    pass(200s);
    EXPECT_EQ(warnings(peer), 0U);
    EXPECT_FALSE(peer.got("token_expired"));
}

TEST_F(GatewayTokens, WhoLeavesWhileItsKeyIsFetchedIsForgotten) {
    Peer peer = welcome(token_of(user));
    const std::string fresh = token_of(user, 1h);
    tokens.fetched.insert(fresh);

    say_auth(peer, fresh);
    pump_until([&] { return !tokens.waiting.empty(); });
    peer.reset_connection();
    pump_until([&] { return gateway().connection_count() == 0; });
    tokens.answer_fetch();
    turn();
    EXPECT_EQ(gateway().connection_count(), 0U);
}

TEST_F(GatewayTokens, WhoLeavesInTheTurnInWhichItsKeyComesIsNotHandedOver) {
    const std::string token = token_of(user_at(1));
    tokens.fetched.insert(token);
    Peer peer = open();
    say_hello(peer, token);
    pump_until([&] { return !tokens.waiting.empty(); });

    peer.reset_connection();
    tokens.answer_fetch();
    turn();
    turn();
    EXPECT_EQ(gateway(0).counters().handed_over, 0U);
    EXPECT_EQ(gateway(0).connection_count(), 0U);
    EXPECT_EQ(gateway(1).connection_count(), 0U);
}

TEST_F(GatewayTokens, ARevocationThatCannotBeReadIsLookedForUntilItCan) {
    Peer peer = welcome(token_of(user));
    clock.pass(5s);
    MemoryProfileStore database(profiles);
    ASSERT_TRUE(
        presence::testing::run_until_complete(database.revoke(UserId(user), clock.wall_now()))
            .has_value());
    profiles.set_unavailable(true);
    gateway().look_for_revoked();  // As where its word was lost.
    threads[0]->shard.cache.invalidate(UserId(user));
    gateway().look_for_revoked();
    pass(5s);
    EXPECT_FALSE(peer.got("token_revoked"));
    profiles.set_unavailable(false);
    pass(1100ms);
    pump_until_got(peer, "token_revoked");
}

TEST_F(GatewayTokens, ATokenThatIsRevokedWhileItsSessionIsBeingMadeEndsIt) {
    const std::string token = token_of(user);
    pass(5s);
    sessions.faults().set_delay(200ms);
    Peer peer = open();
    say_hello(peer, token);
    pump_until([&] { return threads[0]->shard.service.user_count() == 1; });
    pass(50ms);
    MemoryProfileStore database(profiles);
    ASSERT_TRUE(
        presence::testing::run_until_complete(database.revoke(UserId(user), clock.wall_now()))
            .has_value());
    gateway().on_profile_changed(UserId(user), 1);
    pass(1s);
    pump_until_got(peer, "token_revoked");
    EXPECT_EQ(threads[0]->shard.service.session_count(), 0U);
}

TEST_F(GatewayTokens, WhoHasGoneBeforeTheRulesAreReadIsNotLetIn) {
    profiles.faults().set_delay(200ms);
    Peer peer = open();
    say_hello(peer, token_of(user));
    pump_until([&] { return threads[0]->shard.service.user_count() == 1; });
    gateway().on_closed(to_tag(SlotId{0, 1}), {net::CloseInfo::How::lost, 0, false});
    pass(2s);
    EXPECT_EQ(threads[0]->shard.service.session_count(), 0U);
    EXPECT_EQ(sessions.load(UserId(user)), nullptr);
}

TEST_F(GatewayTokens, ARevocationThatNobodyHeardOfIsFoundWhileTheStoreIsAway) {
    Peer peer = welcome(token_of(user));
    pass(5s);
    MemoryProfileStore database(profiles);
    ASSERT_TRUE(
        presence::testing::run_until_complete(database.revoke(UserId(user), clock.wall_now()))
            .has_value());
    pass(30s);
    peer.poll();
    EXPECT_FALSE(peer.got("token_revoked"));
    for (const auto& thread : threads) {
        thread->shard.nodes.health = StoreHealth::down;
    }
    gateway().set_store_health(StoreHealth::down);
    pass(11s);
    pump_until_got(peer, "token_revoked");
}

TEST_F(GatewayTokens, ARevocationOfOneWhoOnlyReadsIsLookedForUntilItCanBeRead) {
    struct Reading final : ReaderOwner {
        explicit Reading(const std::string& user) : reader(user) {}
        void on_profile_changed(const UserId& user) override { heard.push_back(user); }
        std::vector<UserId> users() const override { return {reader}; }
        void end_readers(const UserId&) override {}
        OpenConnections connections() const override { return {}; }
        UserId reader;
        std::vector<UserId> heard;
    };
    Reading readers(user);
    threads[0]->shard.readers = &readers;
    MemoryProfileStore database(profiles);
    ASSERT_TRUE(
        presence::testing::run_until_complete(database.revoke(UserId(user), clock.wall_now()))
            .has_value());
    profiles.set_unavailable(true);
    gateway().look_for_revoked();
    pass(5s);
    EXPECT_TRUE(readers.heard.empty());
    profiles.set_unavailable(false);
    pass(1100ms);
    EXPECT_EQ(readers.heard, std::vector<UserId>{UserId(user)});
    threads[0]->shard.readers = nullptr;
}

}  // namespace
}  // namespace presence::gateway::testing
