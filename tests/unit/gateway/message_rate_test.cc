// Who sends more than it may is told; who sends far more is closed.

#include "unit/gateway/gateway_world.h"

namespace presence::gateway::testing {
namespace {

Limits one_a_second() {
    Limits limits;
    limits.messages_per_second = 1;
    limits.messages_burst = 10;
    return limits;
}

class MessageRate : public GatewayWorld {
protected:
    MessageRate() : GatewayWorld(one_a_second()) {}

    void send_for(Peer& from, int seconds, int a_second) {
        for (int second = 0; second < seconds && !from.closed; ++second) {
            for (int i = 0; i < a_second; ++i) {
                from.text(R"({"type":"heartbeat","id":9})");
            }
            pump_until([&, enough = answers(from) + static_cast<std::size_t>(a_second)] {
                return answers(from) >= enough || from.got("too_many_messages");
            });
            if (from.got("too_many_messages")) {
                return;
            }
            pass(1s);
        }
    }
    static std::size_t answers(Peer& peer) {
        peer.poll();
        return peer.count(R"("id":9)");
    }

    Peer peer = welcome(token_of(user_at(0)));
};

TEST_F(MessageRate, EightTimesItIsToldForAMinuteAndNotClosed) {
    send_for(peer, 60, 8);
    EXPECT_FALSE(peer.got("too_many_messages"));
    EXPECT_EQ(answers(peer), 480U);
    // What is let through is what the rate lets through, however much was refused.
    EXPECT_NEAR(static_cast<double>(peer.count("heartbeatAck")), 70, 2);
}

TEST_F(MessageRate, TwelveTimesItIsClosedOnceTheBurstIsSpent) {
    send_for(peer, 30, 12);
    EXPECT_FALSE(peer.got("too_many_messages"));
    send_for(peer, 60, 12);
    EXPECT_TRUE(peer.got("too_many_messages"));
}

TEST_F(MessageRate, TheWaitThatIsToldIsEnough) {
    send_for(peer, 1, 50);
    peer.received.clear();
    for (int i = 0; i < 2; ++i) {
        peer.text(R"({"type":"heartbeat","id":9})");
    }
    pump_until([&] { return answers(peer) == 2; });
    EXPECT_EQ(peer.count("heartbeatAck"), 1U);
    EXPECT_TRUE(peer.got(R"("retryAfterMs":1)")) << peer.received;
    pass(1100ms);
    peer.received.clear();
    peer.text(R"({"type":"heartbeat","id":9})");
    pump_until_got(peer, "heartbeatAck");
}

}  // namespace
}  // namespace presence::gateway::testing
