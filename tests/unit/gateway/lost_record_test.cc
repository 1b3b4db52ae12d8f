// A client whose record the store has lost, while the database is away as well.

#include "unit/gateway/gateway_world.h"

namespace presence::gateway::testing {
namespace {

class LostRecord : public GatewayWorld {};

TEST_F(LostRecord, ASignalOfOneOfWhomNothingCanBeReadIsAnsweredAndTheServerGoesOn) {
    const std::string user = user_at(0);
    Peer peer = welcome(token_of(user));
    sessions.erase(UserId(user));
    threads[0]->shard.cache.invalidate(UserId(user));
    profiles.set_unavailable(true);
    peer.text(R"({"type":"signal","to":{"userId":"bob"},"kind":"typing","active":true,"id":7})");
    pump_until_got(peer, R"("id":7)");
    EXPECT_TRUE(peer.got("ack")) << peer.received;
    peer.text(R"({"type":"heartbeat","id":9})");
    pump_until_got(peer, "heartbeatAck");
}

}  // namespace
}  // namespace presence::gateway::testing
