// The contracts of the stores on three real masters with a replica each, and what else is the same
// there as on one server.

#include "presence/stores/redis/redis_beat_mirror.h"

#include "contract/node_registry_contract.h"
#include "contract/presence_bus_contract.h"
#include "contract/redis/redis_adapters.h"
#include "contract/session_store_contract.h"

namespace presence::testing {

namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(RedisCluster, SessionStoreContract,
                               RedisSessionsAdapter<ClusterOfRedis>);
INSTANTIATE_TYPED_TEST_SUITE_P(RedisCluster, NodeRegistryContract,
                               RedisRegistryAdapter<ClusterOfRedis>);
INSTANTIATE_TYPED_TEST_SUITE_P(RedisCluster, PresenceBusContract, RedisBusAdapter<ClusterOfRedis>);

TEST(RedisClusterBeats, KeysForOtherSystemsAreWrittenAndTakenAwayWhereverTheirSlotIs) {
    empty_all<ClusterOfRedis>();
    RedisNode node(ClusterOfRedis::config());
    ASSERT_TRUE(node.until([&] { return node.client->usable(); }));
    constexpr Millis kTtl{60'000};
    RedisBeatMirror mirror(*node.client, node.clock, node.loop.scheduler(), kTtl);
    std::vector<ShownBeat> beats;
    std::vector<UserId> gone;
    for (int i = 0; i < 60; ++i) {
        const UserId user("user" + std::to_string(i));
        beats.push_back({user, node.clock.wall_now()});
        if (i % 2 == 0) {
            gone.push_back(user);
        }
    }
    const auto count = [](const std::vector<std::string>& command) {
        std::size_t sum = 0;
        for (const RedisServer* const master : ClusterOfRedis::masters()) {
            const std::string lines = master->command(command);
            sum +=
                lines.empty() ? 0U : static_cast<std::size_t>(std::ranges::count(lines, '\n')) + 1;
        }
        return sum;
    };
    ASSERT_TRUE(node.run(mirror.write(NodeId{1}, std::move(beats), {})).has_value());
    EXPECT_EQ(count({"KEYS", "presence:user*"}), 60U);
    ASSERT_TRUE(node.run(mirror.write(NodeId{1}, {}, std::move(gone))).has_value());
    EXPECT_EQ(count({"KEYS", "presence:user*"}), 30U);
    expect_a_ttl_everywhere<ClusterOfRedis>();
}

}  // namespace

}  // namespace presence::testing
