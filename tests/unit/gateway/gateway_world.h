#pragma once

#include "presence/base/random.h"
#include "presence/core/shard.h"
#include "presence/gateway/gateway.h"
#include "presence/net/server.h"
#include "presence/stores/memory/local_bus.h"
#include "presence/stores/memory/memory_profiles.h"
#include "presence/stores/memory/memory_sessions.h"

#include "support/virtual_time.h"
#include "unit/net/net_fixture.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace presence::gateway::testing {

using net::testing::Peer;
using presence::testing::VirtualClock;
using presence::testing::VirtualScheduler;

/// Takes the tokens that a test has written down. Those `fetched` are known only to who waits for
/// `answer_fetch`, as tokens are whose key has yet to be fetched.
class FakeTokens final : public TokenVerifier {
public:
    Result<TokenClaims> verify(std::string_view token) const override {
        return fetched.contains(token) ? refused() : find(token);
    }
    Task<Result<TokenClaims>> verify_patiently(std::string token, Scheduler& home) const override {
        if (fetched.contains(token)) {
            Completion<bool> completion([&](auto done) {
                waiting.push_back([&home, done = std::move(done)]() mutable {
                    home.post([done = std::move(done)]() mutable { done(true); });
                });
            });
            co_await completion;
        }
        co_return find(token);
    }
    Millis leeway() const override { return kLeeway; }

    /// The keys have come. Whoever waited goes on at the next turn of its loop.
    void answer_fetch() {
        for (UniqueFunction<void()>& go_on : std::exchange(waiting, {})) {
            go_on();
        }
    }

    static constexpr Millis kLeeway{30'000};
    std::map<std::string, TokenClaims, std::less<>> claims;
    std::set<std::string, std::less<>> fetched;
    mutable std::vector<UniqueFunction<void()>> waiting;

private:
    static Error refused() { return {ErrorCode::unauthorized, "the token was refused", 0, 0}; }
    Result<TokenClaims> find(std::string_view token) const {
        const auto found = claims.find(token);
        return found == claims.end() ? Result<TokenClaims>(refused()) : found->second;
    }
};

/// Two threads' gateways in virtual time, behind real sockets of loopback, all on the thread of
/// the test. Clients come in at the first; nothing happens but within `turn`, `pump_until` and
/// `pass`.
class GatewayWorld : public ::testing::Test {
protected:
    explicit GatewayWorld(Limits with = {}) : limits(with) {
        config.heartbeat.ttl = 1000h;  // Nobody here beats.
        for (std::size_t i = 0; i < 2; ++i) {
            shards.all.push_back(&threads[i]->shard);
        }
        shards.connect_rooms();
        for (const auto& thread : threads) {
            thread->gateway.connect(thread->sockets, {&threads[0]->gateway, &threads[1]->gateway});
        }
        threads[0]->server.listen(listener);
    }

    /// Hands on to the gateway, as the front door does.
    class Door final : public net::Handler {
    public:
        explicit Door(Gateway& gateway) : gateway_(gateway) {}
        void on_request(net::ConnectionId id, net::HttpRequest& request) override {
            gateway_.on_upgrade(id, request);
        }
        void on_sign_of_life(net::ConnectionId, net::UserTag tag, net::LifeKind kind) override {
            gateway_.on_sign_of_life(tag, kind);
        }
        bool on_message(net::ConnectionId id, net::UserTag tag, std::string_view text) override {
            return gateway_.on_message(id, tag, text);
        }
        void on_drained(net::ConnectionId, net::UserTag tag) override { gateway_.on_drained(tag); }
        void on_closed(net::ConnectionId, net::UserTag tag, const net::CloseInfo& info) override {
            gateway_.on_closed(tag, info);
        }

    private:
        Gateway& gateway_;
    };

    struct Thread {
        Thread(GatewayWorld& world, std::size_t index)
            : loop(*world.loops[index]),
              store(world.sessions, &world.bus.endpoint(index), &world.scheduler),
              profile_store(world.profiles, &world.scheduler),
              shard({world.scheduler, world.clock, world.random, store, profile_store,
                     world.bus.endpoint(index), nullptr, world.config, world.limits}),
              gateway({index, loop, world.clock, world.random, shard, world.shards.homes,
                       world.tokens, [](std::string_view) { return ResumeHash{}; }, world.config,
                       world.limits}),
              door(gateway),
              server(loop, door),
              sockets(server, loop) {}
        Loop& loop;
        MemorySessionStore store;
        MemoryProfileStore profile_store;
        Shard shard;
        Gateway gateway;
        Door door;
        net::Server server;
        ServerSockets sockets;
    };

    /// One turn of each loop: what its sockets hold, then what was posted.
    void turn() {
        for (const auto& loop : loops) {
            loop->post([&loop] { loop->stop(); });
            loop->run();
        }
        scheduler.run_ready();
    }
    void pump_until(const std::function<bool()>& done) {
        const MonoTime end = machine.now() + 10s;
        while (!done()) {
            turn();
            ASSERT_LT(machine.now(), end) << "waited in vain";
        }
    }
    void pump_until_got(Peer& peer, std::string_view text) {
        pump_until([&] {
            peer.poll();
            return peer.got(text) || peer.closed;
        });
        EXPECT_TRUE(peer.got(text)) << "got instead: " << peer.received.substr(0, 300);
    }
    /// Lets virtual time pass, then what it made go out arrive.
    void pass(Millis time) {
        for (Millis done{0}; done < time; done += PresenceService::kTick) {
            scheduler.advance(PresenceService::kTick);
            for (const auto& thread : threads) {
                thread->gateway.tick();
            }
        }
        turn();
    }

    /// A token of the user that ends in `life`; empty: never.
    std::string token_of(const std::string& user, std::optional<Millis> life = {}) {
        const std::string token = "t" + std::to_string(tokens.claims.size());
        TokenClaims claims;
        claims.user = UserId(user);
        claims.issued_at = clock.wall_now();
        if (life) {
            claims.expires_at = clock.wall_now() + *life;
        }
        tokens.claims[token] = claims;
        return token;
    }
    /// A user whose home is thread `index`.
    [[nodiscard]] std::string user_at(std::size_t index) const {
        for (int i = 0;; ++i) {
            const std::string name = "u" + std::to_string(i);
            if (shards.homes.index_of(UserId(name)) == index) {
                return name;
            }
        }
    }
    /// An upgraded connection that has not said hello.
    Peer open() {
        Peer peer(listener->port());
        peer.send(net::testing::kUpgrade);
        pump_until_got(peer, "\r\n\r\n");
        peer.received.clear();
        return peer;
    }
    static void say_hello(Peer& peer, const std::string& token) {
        peer.text(R"({"type":"hello","id":1,"device":{"type":"web"},"token":")" + token + R"("})");
    }
    Peer welcome(const std::string& token) {
        Peer peer = open();
        say_hello(peer, token);
        pump_until_got(peer, R"("type":"welcome")");
        peer.received.clear();
        return peer;
    }
    static void say_auth(Peer& peer, const std::string& token) {
        peer.text(R"({"type":"auth","id":2,"token":")" + token + R"("})");
    }
    void auth(Peer& peer, const std::string& token) {
        peer.received.clear();
        say_auth(peer, token);
        pump_until_got(peer, R"("type":"ack")");
    }
    static std::size_t warnings(Peer& peer) {
        peer.poll();
        return peer.count(R"("type":"tokenExpiring")");
    }
    [[nodiscard]] Gateway& gateway(std::size_t index = 0) { return threads[index]->gateway; }

    VirtualClock clock;
    VirtualScheduler scheduler{clock};
    SystemClock machine;  ///< Of the loops, which only carry bytes here.
    std::vector<std::unique_ptr<Loop>> loops = [this] {
        std::vector<std::unique_ptr<Loop>> made;
        made.push_back(std::make_unique<Loop>(machine));
        made.push_back(std::make_unique<Loop>(machine));
        return made;
    }();
    SeededRandom random{1};
    MemorySessions sessions{clock};
    MemoryProfiles profiles;
    LocalBus bus{{&scheduler, &scheduler}};
    CoreConfig config;
    Limits limits;
    FakeTokens tokens;
    Shards shards{Homes({loops[0].get(), loops[1].get()}), {}};
    std::shared_ptr<net::Listener> listener = net::Listener::open("127.0.0.1:0").value();
    std::vector<std::unique_ptr<Thread>> threads = [this] {
        std::vector<std::unique_ptr<Thread>> made;
        made.push_back(std::make_unique<Thread>(*this, 0));
        made.push_back(std::make_unique<Thread>(*this, 1));
        return made;
    }();
};

}  // namespace presence::gateway::testing
