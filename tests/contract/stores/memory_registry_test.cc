#include "presence/stores/memory/memory_registry.h"

#include "contract/node_registry_contract.h"
#include "support/run_task.h"
#include "support/virtual_time.h"

namespace presence::testing {

namespace {

class MemoryRegistryAdapter {
public:
    NodeRegistry& registry(int node) { return node == 0 ? first_ : second_; }
    SessionStore& store(int node) { return node == 0 ? first_store_ : second_store_; }
    template <class T>
    T run(Task<T> task) {
        return run_until_complete(std::move(task));
    }
    void pass(Millis time) { clock_.pass(time); }
    void lose_all() { nodes_.lose_all(); }
    void know_life_of(const UserId& /*user*/) {}

private:
    VirtualClock clock_;
    MemorySessions sessions_{clock_};
    MemoryNodes nodes_{clock_, sessions_};
    MemoryRegistry first_{nodes_};
    MemoryRegistry second_{nodes_};
    MemorySessionStore first_store_{sessions_, nullptr};
    MemorySessionStore second_store_{sessions_, nullptr};
};

INSTANTIATE_TYPED_TEST_SUITE_P(Memory, NodeRegistryContract, MemoryRegistryAdapter);

}  // namespace

}  // namespace presence::testing
