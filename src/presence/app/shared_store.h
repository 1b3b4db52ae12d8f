#pragma once

#include "presence/base/clock.h"
#include "presence/base/random.h"
#include "presence/ports/beat_mirror.h"
#include "presence/ports/node_registry.h"
#include "presence/ports/presence_bus.h"
#include "presence/ports/session_store.h"
#include "presence/stores/redis/client.h"
#include "presence/stores/redis/deployment.h"
#include "presence/stores/redis/keys.h"
#include "presence/stores/redis/redis_bus.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace presence::app {

/// What a node shares with others: records and bus in Redis.
class SharedStore {
public:
    /// Connects. One that cannot be reached yet is no error: it is tried on and on.
    /// @param shared_loop  Where its connections live; null: on a thread of their own. It need not
    ///                     run yet, and lives until `stop`.
    /// @retval ErrorCode::bad_request  Password, version, TLS.
    /// @retval ErrorCode::conflict     Another deployment's store.
    [[nodiscard]] static Result<std::unique_ptr<SharedStore>> open(redis::RedisConfig config,
                                                                   const Clock& clock,
                                                                   Loop* shared_loop);
    ~SharedStore();
    SharedStore(const SharedStore&) = delete;
    SharedStore& operator=(const SharedStore&) = delete;

    /// The node's threads, before any of those below is called. `seed` tells nodes apart.
    void connect(std::vector<Scheduler*> threads, std::uint64_t seed);
    [[nodiscard]] std::unique_ptr<SessionStore> sessions(Scheduler& home);
    [[nodiscard]] std::unique_ptr<NodeRegistry> registry(Scheduler& home, Random& random);
    /// For store.write_every_heartbeat; `clock` is the reference's.
    [[nodiscard]] std::unique_ptr<BeatMirror> beat_mirror(Scheduler& home, const Clock& clock,
                                                          Millis ttl);
    [[nodiscard]] PresenceBus& endpoint(std::size_t thread) { return bus_->endpoint(thread); }

    /// Told on the thread that changes may have been missed.
    void set_gap_handler(std::size_t thread, std::function<void(const PartitionSet&)> handler) {
        bus_->set_gap_handler(thread, std::move(handler));
    }

    // For metrics; any thread.
    [[nodiscard]] const redis::Client& client() const noexcept { return *client_; }
    [[nodiscard]] const RedisBusCounters& bus_counters() const noexcept { return bus_->counters(); }

    /// Ends all calls. While the threads still run.
    void stop();

private:
    explicit SharedStore(std::unique_ptr<redis::Client> client);

    redis::Keys keys_;
    redis::Lives lives_;
    std::unique_ptr<redis::Client> client_;
    std::unique_ptr<redis::Deployment> deployment_;
    std::unique_ptr<RedisBus> bus_;
};

}  // namespace presence::app
