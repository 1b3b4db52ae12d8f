#include "presence/stores/redis/redis_registry.h"

#include "contract/node_registry_contract.h"
#include "contract/redis/redis_node.h"
#include "contract/redis/redis_server.h"

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace presence::testing {

namespace {

RedisServer& shared_server() {
    static RedisServer server;
    return server;
}

class RedisRegistryAdapter {
public:
    RedisRegistryAdapter() {
        shared_server().command({"FLUSHALL"});
        EXPECT_TRUE(node_.until([&] { return node_.client->usable(); }));
        for (std::size_t i = 0; i < 2; ++i) {
            registries_[i] = std::make_unique<RedisRegistry>(*node_.client, node_.keys, node_.loop,
                                                             *node_.bus, random_);
            stores_[i] = std::make_unique<RedisSessionStore>(*node_.client, node_.keys, node_.loop);
        }
    }
    ~RedisRegistryAdapter() { EXPECT_TRUE(keys_without_ttl(shared_server()).empty()); }
    RedisRegistryAdapter(const RedisRegistryAdapter&) = delete;
    RedisRegistryAdapter& operator=(const RedisRegistryAdapter&) = delete;

    NodeRegistry& registry(int node) { return *registries_.at(static_cast<std::size_t>(node)); }
    SessionStore& store(int node) { return *stores_.at(static_cast<std::size_t>(node)); }
    template <class T>
    T run(Task<T> task) {
        return node_.run(std::move(task));
    }
    void pass(Millis time) { node_.pass(time); }  // The server's clock is nobody's to set.
    void lose_all() { shared_server().command({"FLUSHALL"}); }

private:
    RedisNode node_{shared_server().config()};
    SystemRandom random_;
    std::array<std::unique_ptr<RedisRegistry>, 2> registries_;
    std::array<std::unique_ptr<RedisSessionStore>, 2> stores_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Redis, NodeRegistryContract, RedisRegistryAdapter);

TEST(RedisRegistryKeeps, ARecordThatNamesTheNodeAndItsIndexAndNothingElse) {
    RedisServer server;
    RedisNode node(server.config());
    SystemRandom random;
    RedisRegistry registry(*node.client, node.keys, node.loop, *node.bus, random);
    ASSERT_TRUE(node.until([&] { return node.client->usable(); }));
    constexpr NodeId kSelf{11};
    const UserId ann("ann");
    const UserId bob("bob");
    const auto commit = [&](const UserId& user, NodeId holder) {
        auto record = make_ref<UserRecord>();
        record->commit = 1;
        Session& session = record->sessions.emplace_back();
        session.id = SessionId("session");
        session.node = holder;
        ASSERT_TRUE(node.run(node.store.commit({user, 0, record, Millis{60'000}, nullptr})));
    };
    commit(ann, kSelf);
    commit(bob, NodeId{22});
    const std::string index = node.keys.index(node.keys.partition_of(ann), kSelf);
    for (const std::string& key : {node.keys.record(ann), node.keys.record(bob), index}) {
        server.command({"PEXPIRE", key, "50000"});
    }
    const auto commits = node.run(registry.commits_of({ann, UserId("nobody"), bob}, kSelf));
    ASSERT_TRUE(commits);
    EXPECT_EQ(*commits, (std::vector<std::uint64_t>{1, 0, 1}));
    const auto left = [&](const std::string& key) {
        return Millis{std::stoll(server.command({"PTTL", key}))};
    };
    EXPECT_GT(left(node.keys.record(ann)), std::chrono::hours{25});
    EXPECT_GT(left(index), std::chrono::hours{47});
    EXPECT_LE(left(node.keys.record(bob)), Millis{50'000});
}

}  // namespace

}  // namespace presence::testing
