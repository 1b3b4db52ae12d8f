#include "presence/stores/redis/redis_registry.h"

#include "contract/node_registry_contract.h"
#include "contract/redis/redis_node.h"
#include "contract/redis/redis_server.h"

#include <array>
#include <memory>

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

}  // namespace

}  // namespace presence::testing
