#include "presence/stores/redis/redis_registry.h"

#include "contract/node_registry_contract.h"
#include "contract/redis/redis_adapters.h"

#include <chrono>
#include <string>
#include <vector>

namespace presence::testing {

namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(Redis, NodeRegistryContract, RedisRegistryAdapter<SingleRedis>);

TEST(RedisRegistryKeeps, ARecordThatNamesTheNodeAndItsIndexAndNothingElse) {
    RedisServer server;
    RedisNode node(server.config());
    SystemRandom random;
    RedisRegistry registry(*node.client, node.keys, node.loop.scheduler(), *node.bus, random);
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
