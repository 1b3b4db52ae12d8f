#pragma once

#include "presence/base/scheduler.h"
#include "presence/base/task.h"
#include "presence/core/presence_service.h"
#include "presence/core/profile_cache.h"

#include <utility>
#include <vector>

namespace presence {

/// Gives the sessions that a life before this one left open back to the service, and tries again
/// as long as a store is away: none of them may be forgotten, or its last seen would be lost. One
/// thread, that of the users' home.
class Restorer {
public:
    struct Left {
        UserId user;
        std::vector<Session> sessions;
    };

    Restorer(Scheduler& scheduler, ProfileCache& profiles, PresenceService& service)
        : scheduler_(scheduler), profiles_(profiles), service_(service) {}

    /// Tries once; whom it cannot restore now it goes on with in the background.
    [[nodiscard]] Task<bool> restore(std::vector<Left> left, WallTime last_alive);

    /// Users still to be restored.
    [[nodiscard]] std::size_t waiting() const noexcept { return waiting_; }

private:
    [[nodiscard]] Task<std::vector<Left>> try_once(std::vector<Left> left, WallTime last_alive);
    Detached try_later(std::vector<Left> left, WallTime last_alive);

    Scheduler& scheduler_;
    ProfileCache& profiles_;
    PresenceService& service_;
    std::size_t waiting_ = 0;
};

}  // namespace presence
