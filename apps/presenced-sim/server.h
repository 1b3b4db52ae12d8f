#pragma once

#include "presence/core/cluster_member.h"
#include "presence/core/connect_shards.h"
#include "presence/core/shard.h"
#include "presence/core/spool_drainer.h"
#include "presence/core/survey.h"
#include "presence/gateway/gateway.h"
#include "presence/ports/token_verifier.h"
#include "presence/stores/memory/memory_spool.h"

#include "bus.h"
#include "network.h"
#include "process.h"
#include "store.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace presence::sim {

/// A machine outlives its processes: its clock, and the spool on its disk.
struct Machine {
    explicit Machine(const VirtualClock& world) : clock(world) {}
    MachineClock clock;
    MemorySpoolState disk;
};

/// A token is the name of its user.
class NameTokens final : public TokenVerifier {
public:
    Result<TokenClaims> verify(std::string_view token) const override {
        TokenClaims claims;
        claims.user = UserId(token);
        return claims;
    }
    Task<Result<TokenClaims>> verify_patiently(std::string token, Scheduler&) const override {
        co_return verify(token);
    }
    Millis leeway() const override { return Millis{30'000}; }
};

/// One life of one `presenced` on several nodes: all of its flows and its gateway as in
/// app/node_build.cc, one thread, and in the place of sockets and stores those of this folder.
class Server {
public:
    struct Parts {
        VirtualScheduler& scheduler;
        Machine& machine;
        Stores& stores;
        Bus& bus;
        ServerSide& side;
        const CoreConfig& config;
        const Limits& limits;
        std::uint64_t serial;  ///< Of all servers of the world.
        std::uint64_t seed;
        std::function<void()> on_renewed;
    };
    explicit Server(const Parts& parts);

    void start();
    /// kill -9. `silently`: its machine goes with it, and clients hear nothing.
    void kill(bool silently);
    /// SIGTERM; `over` when the process has ended. As Node::drain_and_stop.
    void drain(std::function<void()> over);
    [[nodiscard]] bool dead() const { return process.dead(); }
    /// What is left in queues and maps, one line each; empty: nothing.
    [[nodiscard]] std::string leftovers();

    std::uint64_t serial;
    ProcessScheduler process;
    Machine& machine;
    ReferenceClock clock;
    SeededRandom random;
    Link link;
    Bus::Endpoint endpoint;
    LinkedSessions sessions;
    LinkedProfiles profiles;
    LinkedRegistry registry;
    MemorySpool spool;
    NameTokens tokens;
    const CoreConfig& config;
    const Limits& limits;
    Shard shard;
    Shards shards;
    gateway::Gateway gateway;
    Network network;
    ClusterMember member;
    Survey survey;
    SpoolDrainer drainer;
    bool draining = false;

private:
    void tick();
    Detached finish(std::function<void()> over);
    void wait_for_clients(MonoTime deadline, std::function<void()> over);
};

}  // namespace presence::sim
