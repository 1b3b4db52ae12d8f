#pragma once

#include "presence/base/random.h"
#include "presence/core/shard.h"
#include "presence/stores/memory/local_bus.h"
#include "presence/stores/memory/memory_profiles.h"
#include "presence/stores/memory/memory_sessions.h"

#include "support/virtual_time.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace presence::bench {

/// The core of one thread of a server with nothing around it: no sockets, stores in memory, and a
/// clock that stands still until it is moved. One thread.
class Engine final : private SessionOwner, private WatchSink {
public:
    Engine();
    ~Engine() override;
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    /// People come, one session each, evenly over one interval of heartbeats. Once.
    void attach(std::uint32_t people);
    /// Each of `order` gives a sign of life, by number.
    void beat(const std::vector<std::uint32_t>& order);
    /// Somebody looks at `users`, by number. Fails if one of them is not online.
    void look(const std::vector<std::uint32_t>& users);
    /// The person of that number watches `users`.
    void watch(std::uint32_t viewer, const std::vector<std::uint32_t>& users);
    void unwatch_all(std::uint32_t viewer);
    /// All fall silent, and time goes on until nobody is left. Fails if somebody is.
    void expire();

    [[nodiscard]] std::size_t sessions() const;

private:
    void end_connection(SlotId, EndReason) override {}
    void ping_connection(SlotId) override {}
    const UserId* viewer_of(std::uint32_t connection) override;
    bool can_take(std::uint32_t) override { return true; }
    void deliver_news(std::uint32_t, std::span<WatchIndex::Subject* const>,
                      std::span<const Verdict>) override {}
    void deliver_seen(std::uint32_t, std::span<const Seen* const>) override {}

    void pass(Millis time);

    testing::VirtualClock clock_;
    testing::VirtualScheduler scheduler_;
    SeededRandom random_{1};
    CoreConfig config_;
    Limits limits_;
    MemorySessions records_;
    MemoryProfiles profiles_;
    LocalBus bus_;
    MemorySessionStore sessions_;
    MemoryProfileStore profile_store_;
    Shard shard_;
    std::vector<SlotId> slots_;
    UserId viewer_;
};

}  // namespace presence::bench
