#include "presence/stores/redis/redis_bus.h"

#include "contract/presence_bus_contract.h"
#include "contract/redis/redis_server.h"
#include "support/loop_scheduler.h"
#include "support/run_task.h"

#include <memory>
#include <string>
#include <vector>

namespace presence::testing {

namespace {

RedisServer& shared_server() {
    static RedisServer server;
    return server;
}

/// Three threads of one node.
class RedisBusAdapter {
public:
    static constexpr int kThreads = 3;

    RedisBusAdapter() {
        client_ = redis::Client::start(shared_server().config(), clock_).value();
        EXPECT_TRUE(client_->wait_for_first_contact(Millis{5'000}).value());
        bus_ = std::make_unique<RedisBus>(*client_, keys_,
                                          std::vector<Scheduler*>{&loop_, &loop_, &loop_}, 1);
        bus_->set_node(NodeId{7});
        settle();
    }
    ~RedisBusAdapter() {
        client_->stop();
        bus_.reset();
    }
    RedisBusAdapter(const RedisBusAdapter&) = delete;
    RedisBusAdapter& operator=(const RedisBusAdapter&) = delete;

    NodeId node(int /*thread*/) const { return NodeId{7}; }
    PresenceBus& endpoint(int thread) { return bus_->endpoint(static_cast<std::size_t>(thread)); }
    template <class T>
    T run(int /*thread*/, Task<T> task) {
        return run_until_complete(loop_, std::move(task));
    }
    /// What was handed in before has been answered by the server when what comes after it has, and
    /// has come back when a later subscription is in force.
    void settle() {
        for (int round = 0; round < 3; ++round) {
            const UserId fresh("settle " + std::to_string(++settled_));
            EXPECT_TRUE(run(0, bus_->endpoint(0).subscribe({fresh})));
        }
        loop_.run_ready();
    }

private:
    SystemClock clock_;
    LoopScheduler loop_;
    redis::Keys keys_{"pd", 64};
    std::unique_ptr<redis::Client> client_;
    std::unique_ptr<RedisBus> bus_;
    int settled_ = 0;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Redis, PresenceBusContract, RedisBusAdapter);

}  // namespace

}  // namespace presence::testing
