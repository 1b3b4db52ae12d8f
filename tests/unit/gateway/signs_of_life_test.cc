// Signs of life are noted for many connections at once: none is lost by it, and none counts as
// earlier than it was.

#include "support/run_task.h"
#include "unit/gateway/gateway_world.h"

namespace presence::gateway::testing {
namespace {

class SignsOfLife : public GatewayWorld {
protected:
    /// The first connection of the first gateway.
    static constexpr SlotId kConnection{0, 1};

    void sign() { gateway().on_sign_of_life(to_tag(kConnection), net::LifeKind::pong); }
    /// Of the one session.
    SessionFacts facts() {
        const auto found =
            run_until_complete(scheduler, threads[0]->shard.service.sessions_of(UserId(user)));
        EXPECT_TRUE(found && found->size() == 1);
        return found ? found->front() : SessionFacts{};
    }

    std::string user = user_at(0);
    Peer peer = welcome(token_of(user));
};

TEST_F(SignsOfLife, AreNotedAtTheEndOfTheTurnWithAMomentThatIsNotBeforeThem) {
    clock.pass(5s);
    sign();
    clock.pass(30ms);
    const WallTime end = clock.wall_now();
    gateway().flush();
    clock.pass(1s);
    EXPECT_EQ(facts().last_heartbeat, end);
}

TEST_F(SignsOfLife, AreNotedBeforeATickLooksForSilence) {
    clock.pass(5s);
    sign();
    const WallTime now = clock.wall_now();
    gateway().tick();
    clock.pass(1s);
    EXPECT_EQ(facts().last_heartbeat, now);
}

TEST_F(SignsOfLife, AreNotedBeforeTheConnectionIsGone) {
    clock.pass(5s);
    sign();
    const WallTime now = clock.wall_now();
    gateway().on_closed(to_tag(kConnection), {net::CloseInfo::How::lost, 0, false});
    clock.pass(1s);
    EXPECT_EQ(facts().session.closed_at, now);
}

TEST_F(SignsOfLife, MoreThanAreNotedAtOnceAreAllCounted) {
    gateway().flush();
    const std::uint64_t before = gateway().counters().heartbeats;
    for (int i = 0; i < 200; ++i) {
        sign();
    }
    gateway().on_sign_of_life(to_tag({7, 3}), net::LifeKind::pong);  // Of nobody.
    gateway().flush();
    EXPECT_EQ(gateway().counters().heartbeats - before, 200U);
}

}  // namespace
}  // namespace presence::gateway::testing
