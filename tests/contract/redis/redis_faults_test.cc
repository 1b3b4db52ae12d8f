// One real server that is stopped, paused, locked and emptied.

#include "contract/redis/redis_node.h"
#include "contract/redis/redis_server.h"
#include "contract/session_store_contract.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

namespace presence::testing {

namespace {

const UserId kAda("ada");

TEST(RedisFaults, FO_069_FO_071_WhatIsStoredTwiceUnderANastyIdStaysApart) {
    RedisServer server;
    RedisNode node(server.config());
    ASSERT_TRUE(node.until([&] { return node.client->usable(); }));
    const std::vector<UserId> ids = nasty_ids();
    ASSERT_TRUE(node.subscribe(ids));
    for (const UserId& id : ids) {
        ASSERT_EQ(node.commit(id, 1).value(), CommitOutcome::committed) << id.text.view();
    }
    ASSERT_TRUE(node.until([&] { return node.receiver.told.size() == ids.size(); }));
    for (const auto& [user, times] : node.receiver.told) {
        EXPECT_EQ(times, 1) << user;
    }
    EXPECT_TRUE(keys_without_ttl(server).empty());
}

TEST(RedisFaults, AKeyThatIsNotOursIsReplaced) {
    RedisServer server;
    RedisNode node(server.config());
    ASSERT_TRUE(node.until([&] { return node.client->usable(); }));
    server.command({"SET", node.keys.record(kAda), "online"});
    server.command({"LPUSH", node.keys.record(UserId("bob")), "x"});
    EXPECT_EQ(node.stored(kAda), 0);
    EXPECT_EQ(node.commit(kAda, 1).value(), CommitOutcome::committed);
    EXPECT_EQ(node.commit(UserId("bob"), 1).value(), CommitOutcome::committed);
    EXPECT_EQ(node.stored(kAda), 1);
    EXPECT_TRUE(keys_without_ttl(server).empty());
}

TEST(RedisFaults, FO_089_AScriptThatTheServerForgotIsSentAgain) {
    RedisServer server;
    RedisNode node(server.config());
    ASSERT_TRUE(node.until([&] { return node.client->usable(); }));
    ASSERT_EQ(node.commit(kAda, 1).value(), CommitOutcome::committed);
    const std::uint64_t sent = node.client->counters().scripts_sent;
    ASSERT_EQ(node.commit(kAda, 2).value(), CommitOutcome::committed);
    EXPECT_EQ(node.client->counters().scripts_sent, sent);  // Known by now.
    server.command({"SCRIPT", "FLUSH"});
    EXPECT_EQ(node.commit(kAda, 3).value(), CommitOutcome::committed);
    EXPECT_GT(node.client->counters().scripts_sent, sent);
}

TEST(RedisFaults, AServerThatIsGoneIsUnavailableAtOnceAndFoundAgain) {
    RedisServer server;
    RedisNode node(server.config());
    ASSERT_TRUE(node.until([&] { return node.client->usable(); }));
    ASSERT_TRUE(node.subscribe({kAda}));
    server.stop();
    ASSERT_TRUE(node.until([&] { return !node.client->usable(); }));
    node.pass(Millis{300});  // The first attempt to come back has failed as well.
    const MonoTime before = node.clock.now();
    EXPECT_EQ(node.stored(kAda), -1);
    EXPECT_LT(node.clock.now() - before, node.client->config().request_timeout);
    server.start();
    ASSERT_TRUE(node.until([&] { return node.client->usable(); }, Millis{3'000}));
    EXPECT_EQ(node.stored(kAda), 0);
    // The subscription is back too, says so, and tells each change once (FO-087, FO-088).
    ASSERT_TRUE(node.until([&] {
        return std::ranges::any_of(node.receiver.gaps,
                                   [](const PartitionSet& lost) { return lost.holds(kAda); });
    }));
    // Each is with another server, and in another life.
    EXPECT_TRUE(
        node.until([&] { return node.bus->counters().shaken == 2 * node.keys.partitions(); }));
    EXPECT_EQ(node.commit(kAda, 1).value(), CommitOutcome::committed);
    ASSERT_TRUE(node.until([&] { return node.receiver.told["ada"] > 0; }));
    node.pass(Millis{200});
    EXPECT_EQ(node.receiver.told["ada"], 1);
}

/// Takes connections in the place of a server that is gone, and closes them.
class ShutDoor {
public:
    explicit ShutDoor(std::uint16_t port)
        : acceptor_(loop_, boost::asio::ip::tcp::endpoint(
                               boost::asio::ip::make_address("127.0.0.1"), port)) {
        accept();
        thread_ = std::thread([this] { loop_.run(); });
    }
    ~ShutDoor() {
        loop_.stop();
        thread_.join();
    }
    ShutDoor(const ShutDoor&) = delete;
    ShutDoor& operator=(const ShutDoor&) = delete;
    [[nodiscard]] int knocks() const { return knocks_; }

private:
    void accept() {
        acceptor_.async_accept([this](boost::system::error_code, boost::asio::ip::tcp::socket) {
            ++knocks_;
            accept();
        });
    }
    boost::asio::io_context loop_;
    boost::asio::ip::tcp::acceptor acceptor_;
    std::atomic<int> knocks_ = 0;
    std::thread thread_;
};

TEST(RedisFaults, AttemptsToComeBackBecomeRarer) {
    RedisServer server;
    RedisNode node(server.config());
    ASSERT_TRUE(node.until([&] { return node.client->usable(); }));
    ASSERT_TRUE(node.subscribe({kAda}));  // Two connections, for commands and for what it hears.
    server.stop();
    const ShutDoor door(server.port());
    node.pass(Millis{5'000});
    // At once, then after 50, 100, 200 ms and so on up to a second, less up to half of it.
    const int first = door.knocks();
    EXPECT_GE(first, 2 * 5);
    EXPECT_LE(first, 2 * 15);
    node.pass(Millis{5'000});
    EXPECT_GE(door.knocks() - first, 2 * 4);
    EXPECT_LE(door.knocks() - first, 2 * 11);
}

TEST(RedisFaults, WhatAnEndpointAskedForWhileAwayComesIntoForceByItself) {
    RedisServer server;
    RedisNode node(server.config());
    ASSERT_TRUE(node.until([&] { return node.client->usable(); }));
    server.stop();
    ASSERT_TRUE(node.until([&] { return !node.client->usable(); }));
    EXPECT_TRUE(node.subscribe({UserId("bob")}));  // Waited for in vain.
    const MonoTime before = node.clock.now();
    EXPECT_TRUE(node.subscribe({kAda}));
    EXPECT_LT(node.clock.now() - before, node.client->config().request_timeout);
    // Those of this node are told what this node says meanwhile.
    auto here = std::make_shared<PresenceEvent>();
    here->user = UserId("bob");
    here->presence.own_version = Version{5};
    node.bus->endpoint(0).publish_here(here);
    EXPECT_TRUE(node.until([&] { return node.receiver.newest["bob"] == 5; }));
    server.start();
    ASSERT_TRUE(node.until(
        [&] {
            return node.client->usable() &&
                   std::ranges::any_of(node.receiver.gaps,
                                       [](const PartitionSet& lost) { return lost.holds(kAda); });
        },
        Millis{5'000}));
    EXPECT_EQ(node.commit(kAda, 1).value(), CommitOutcome::committed);
    EXPECT_TRUE(node.until([&] { return node.receiver.told["ada"] == 1; }));
}

TEST(RedisFaults, AServerWithoutRoomIsSaidToRefuseWritesThoughNobodyWrites) {
    RedisServer server({"--maxmemory-policy", "noeviction"});
    RedisNode node(server.config());
    ASSERT_TRUE(node.until([&] { return node.client->usable(); }));
    ASSERT_EQ(node.commit(kAda, 1).value(), CommitOutcome::committed);
    node.pass(Millis{1'200});
    EXPECT_FALSE(node.client->refuses_writes());
    server.command({"CONFIG", "SET", "maxmemory", "1"});
    ASSERT_TRUE(node.until([&] { return node.client->refuses_writes(); }, Millis{4'000}));
    EXPECT_FALSE(node.commit(kAda, 2));
    EXPECT_EQ(node.stored(kAda), 1);
    server.command({"CONFIG", "SET", "maxmemory", "0"});
    ASSERT_TRUE(node.until([&] { return !node.client->refuses_writes(); }, Millis{3'000}));
    EXPECT_EQ(node.commit(kAda, 2).value(), CommitOutcome::committed);
}

TEST(RedisFaults, APausedServerCostsNobodyMoreThanTheTimeout) {
    RedisServer server;
    RedisNode node(server.config());
    ASSERT_TRUE(node.until([&] { return node.client->usable(); }));
    ASSERT_EQ(node.commit(kAda, 1).value(), CommitOutcome::committed);
    server.signal(SIGSTOP);
    MonoTime before = node.clock.now();
    EXPECT_EQ(node.stored(kAda), -1);
    EXPECT_LT(node.clock.now() - before, Millis{2'500});
    node.pass(Millis{1'500});  // By now it is known to be down.
    before = node.clock.now();
    EXPECT_EQ(node.stored(kAda), -1);
    EXPECT_LT(node.clock.now() - before, Millis{200});
    server.signal(SIGCONT);
    ASSERT_TRUE(node.until([&] { return node.client->usable(); }, Millis{4'000}));
    EXPECT_EQ(node.stored(kAda), 1);
    EXPECT_EQ(node.client->waiting(), 0U);
}

TEST(RedisFaults, CallsThatWaitAreBounded) {
    RedisServer server;
    redis::RedisConfig config = server.config();
    config.queue = 100;
    RedisNode node(config);
    ASSERT_TRUE(node.until([&] { return node.client->usable(); }));
    server.signal(SIGSTOP);
    std::vector<Started<Result<std::vector<UserRecordRef>>>> calls;
    for (int i = 0; i < 300; ++i) {
        calls.push_back(start_task(node.store.load({kAda})));
    }
    EXPECT_GE(node.client->counters().refused, 200U);
    EXPECT_LE(node.client->waiting(), 100U);
    ASSERT_TRUE(node.until([&] {
        return std::ranges::all_of(calls, [](const auto& call) { return call->has_value(); });
    }));
    server.signal(SIGCONT);
    ASSERT_TRUE(node.until([&] { return node.client->usable(); }));
    EXPECT_EQ(node.stored(kAda), 0);
}

TEST(RedisFaults, AServerThatBecameAReplicaIsAwayUntilItIsAMasterAgain) {
    RedisServer server;
    RedisServer other;
    RedisNode node(server.config());
    ASSERT_TRUE(node.until([&] { return node.client->usable(); }));
    ASSERT_EQ(node.commit(kAda, 1).value(), CommitOutcome::committed);
    server.command({"REPLICAOF", "127.0.0.1", std::to_string(other.port())});
    EXPECT_FALSE(node.commit(kAda, 2).has_value());  // READONLY
    ASSERT_TRUE(node.until([&] { return !node.client->usable(); }));
    server.command({"REPLICAOF", "NO", "ONE"});
    ASSERT_TRUE(node.until([&] { return node.client->usable(); }, Millis{5'000}));
    const std::int64_t stands = node.stored(kAda);
    ASSERT_GE(stands, 0);
    EXPECT_EQ(node.commit(kAda, static_cast<std::uint64_t>(stands) + 1).value(),
              CommitOutcome::committed);
}

TEST(RedisFaults, FO_086_AfterALossChannelsAreAskedForInCommandsOfBoundedSize) {
    RedisServer server;
    redis::RedisConfig config = server.config();
    config.channels_at_once = 50;
    RedisNode node(config);
    ASSERT_TRUE(node.until([&] { return node.client->usable(); }));
    std::vector<UserId> users;  // All in one slot, so that its size alone bounds a command.
    for (int i = 0; users.size() < 1'000; ++i) {
        UserId user("user" + std::to_string(i));
        if (node.keys.partition_of(user) == 0) {
            users.push_back(std::move(user));
        }
    }
    ASSERT_TRUE(node.subscribe(users));
    const auto asked = [&] {
        const std::string stats = server.command({"INFO", "commandstats"});
        const std::string name = "cmdstat_ssubscribe:calls=";
        const std::size_t at = stats.find(name);
        return at == std::string::npos ? 0L : std::stol(stats.substr(at + name.size()));
    };
    const long before = asked();
    server.command({"CLIENT", "KILL", "TYPE", "pubsub"});
    ASSERT_TRUE(node.until([&] {
        return std::ranges::any_of(node.receiver.gaps,
                                   [&](const PartitionSet& lost) { return lost.contains(0); });
    }));
    const long commands = asked() - before;
    EXPECT_GE(commands, static_cast<long>(users.size() / config.channels_at_once));
    EXPECT_LE(commands, static_cast<long>(users.size() / config.channels_at_once +
                                          2 * node.keys.partitions()));
    for (const UserId& user : users) {
        ASSERT_EQ(node.commit(user, 1).value(), CommitOutcome::committed);
    }
    EXPECT_TRUE(node.until([&] { return node.receiver.told.size() == users.size(); }));
    for (const auto& [user, times] : node.receiver.told) {
        EXPECT_EQ(times, 1) << user;
    }
}

TEST(RedisFaults, AWrongPasswordAndAnOldServerAreSaidClearly) {
    RedisServer server({"--requirepass", "right"});
    SystemClock clock;
    redis::RedisConfig config = server.config();
    config.password = "wrong";
    {
        const auto client = redis::Client::start(config, clock).value();
        const Result<bool> contact = client->wait_for_first_contact(Millis{5'000});
        ASSERT_FALSE(contact);
        EXPECT_NE(contact.error().message.find("WRONGPASS"), std::string::npos);
    }
    config.password.clear();
    {
        const auto client = redis::Client::start(config, clock).value();
        const Result<bool> contact = client->wait_for_first_contact(Millis{5'000});
        ASSERT_FALSE(contact);
        EXPECT_NE(contact.error().message.find("NOAUTH"), std::string::npos);
    }
    config.password = "right";
    const auto client = redis::Client::start(config, clock).value();
    EXPECT_TRUE(client->wait_for_first_contact(Millis{5'000}).value());
}

TEST(RedisFaults, AnEmptiedStoreIsNoticedByItsIncarnation) {
    RedisServer server;
    redis::RedisConfig config = server.config();
    config.probe_every = Millis{300};
    RedisNode node(config);
    // Each partition has been heard once, so that its incarnation is known.
    ASSERT_TRUE(node.until([&] {
        const std::string keys = server.command({"KEYS", "pd{*}i"});
        return static_cast<std::size_t>(std::ranges::count(keys, '\n')) + 1 ==
               node.keys.partitions();
    }));
    node.pass(Millis{1'500});
    EXPECT_EQ(node.bus->counters().shaken, 0U);
    server.command({"FLUSHALL"});
    EXPECT_TRUE(node.until([&] { return node.bus->counters().shaken == node.keys.partitions(); }));
    EXPECT_TRUE(keys_without_ttl(server).empty());
}

TEST(RedisFaults, ADeafSubscriptionIsFoundByProbesAndHealed) {
    RedisServer server;
    redis::RedisConfig config = server.config();
    config.probe_every = Millis{200};
    config.probe_missing = Millis{600};
    RedisNode node(config, 1);
    RedisNode other(config, 2);
    ASSERT_TRUE(node.until([&] { return node.client->usable() && other.client->usable(); }));
    ASSERT_TRUE(node.subscribe({kAda}));
    // Taking the right to the channels away drops whoever listens, and refuses to listen again.
    server.command({"ACL", "SETUSER", "default", "resetchannels"});
    EXPECT_TRUE(node.until([&] { return node.bus->counters().probes_missed > 0; }));
    server.command({"ACL", "SETUSER", "default", "allchannels"});
    ASSERT_TRUE(node.until([&] {
        return std::ranges::any_of(node.receiver.gaps,
                                   [](const PartitionSet& lost) { return lost.holds(kAda); });
    }));
    EXPECT_EQ(other.commit(kAda, 1).value(), CommitOutcome::committed);
    EXPECT_TRUE(node.until([&] { return node.receiver.told["ada"] == 1; }));
}

/// Two nodes, of which one may not publish until it is let.
TEST(RedisFaults, OneNodeSendsForEachPartitionAndTheNextTakesOver) {
    RedisServer server;
    redis::RedisConfig config = server.config();
    config.probe_every = Millis{600};
    auto first = std::make_unique<RedisNode>(config, 1);
    RedisNode second(config, 2);
    ASSERT_TRUE(second.until([&] { return second.client->usable(); }));
    second.pass(Millis{3'000});  // Both have settled who sends where.
    const auto sent = [&] {
        return first->bus->counters().probes_sent + second.bus->counters().probes_sent;
    };
    const std::uint64_t before = sent();
    const std::uint64_t of_second = second.bus->counters().probes_sent;
    second.pass(Millis{3'000});
    const std::uint64_t both = sent() - before;
    // Five rounds at most; two nodes that both sent everywhere would make twice as many.
    EXPECT_LE(both, 64U * 5U * 4U / 3U);
    EXPECT_GE(both, 64U * 2U);
    EXPECT_LT(second.bus->counters().probes_sent - of_second, both);
    first.reset();
    const std::uint64_t alone = second.bus->counters().probes_sent;
    second.pass(Millis{2'500});
    EXPECT_GE(second.bus->counters().probes_sent - alone, 64U * 2U);
    EXPECT_EQ(second.bus->counters().probes_missed, 0U);
}

TEST(RedisFaults, ASubscriptionThatNobodyWantsGoesAfterItsLinger) {
    RedisServer server;
    redis::RedisConfig config = server.config();
    config.linger = Millis{300};
    RedisNode node(config);
    ASSERT_TRUE(node.until([&] { return node.client->usable(); }));
    ASSERT_TRUE(node.subscribe({kAda}));
    const auto listeners = [&] {
        return server.command({"PUBSUB", "SHARDNUMSUB", node.keys.channel(kAda)});
    };
    EXPECT_TRUE(listeners().ends_with("\n1"));
    node.bus->endpoint(0).unsubscribe(kAda);
    ASSERT_TRUE(node.subscribe({kAda}));  // Within the linger: nothing goes over the wire.
    node.pass(Millis{900});
    EXPECT_TRUE(listeners().ends_with("\n1"));
    node.bus->endpoint(0).unsubscribe(kAda);
    EXPECT_TRUE(node.until([&] { return listeners().ends_with("\n0"); }));
    EXPECT_EQ(node.bus->counters().subscriptions, 0U);
}

TEST(RedisFaults, WhatIsHandedInTogetherGoesOutTogether) {
    RedisServer server;
    RedisNode node(server.config());
    ASSERT_TRUE(node.until([&] { return node.client->usable(); }));
    const std::uint64_t commands = node.client->wire_counters().commands;
    const std::uint64_t writes = node.client->wire_counters().writes;
    std::vector<Started<Result<std::vector<UserRecordRef>>>> calls;
    for (int i = 0; i < 2'000; ++i) {
        calls.push_back(start_task(node.store.load({UserId("user " + std::to_string(i))})));
    }
    ASSERT_TRUE(node.until([&] {
        return std::ranges::all_of(calls, [](const auto& call) { return call->has_value(); });
    }));
    const double per_write = static_cast<double>(node.client->wire_counters().commands - commands) /
                             static_cast<double>(node.client->wire_counters().writes - writes);
    RecordProperty("commands_per_write", std::to_string(per_write));
    EXPECT_GT(per_write, 10.0);
}

}  // namespace

}  // namespace presence::testing
