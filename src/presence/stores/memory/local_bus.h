#pragma once

#include "presence/base/home_thread.h"
#include "presence/base/scheduler.h"
#include "presence/ports/presence_bus.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace presence {

/// The bus between the threads of one process: one endpoint a gateway thread, and no mutex.
///
/// Who subscribed to a user or room is kept on one thread, the home of the id. All publications
/// about it go through the home's queue of work, in the order in which they were handed in, and
/// from there once to each thread that subscribed:
///
///     any thread --publish--> home_of(user) --once each--> subscribed threads
///
/// Nothing is ever delivered from within a call, so callers may hold locks. After `unsubscribe`
/// what is already under way may still arrive. Stop all threads before destroying it.
class LocalBus {
public:
    /// The endpoints' threads, at most 64.
    explicit LocalBus(std::vector<Scheduler*> threads);
    LocalBus(const LocalBus&) = delete;
    LocalBus& operator=(const LocalBus&) = delete;
    ~LocalBus();

    /// To be used on thread `index` only.
    [[nodiscard]] PresenceBus& endpoint(std::size_t index);
    [[nodiscard]] std::size_t endpoints() const noexcept { return endpoints_.size(); }

    /// The thread that keeps the subscriptions to `user` and gets the signals for them: the user's
    /// home. Any thread.
    [[nodiscard]] std::size_t home_of(const UserId& user) const noexcept {
        return home_thread(user, endpoints_.size());
    }

    /// Likewise of what is published about `room`, and of core's RoomKeeper. Any thread.
    [[nodiscard]] std::size_t home_of(const RoomId& room) const noexcept {
        return home_thread(room, endpoints_.size());
    }

    /// Users of home `index` to whom anybody subscribed. On thread `index`.
    [[nodiscard]] std::size_t subscribed_users(std::size_t index) const;
    /// Likewise rooms.
    [[nodiscard]] std::size_t subscribed_rooms(std::size_t index) const;

private:
    class Endpoint;
    std::vector<std::unique_ptr<Endpoint>> endpoints_;
};

}  // namespace presence
