#pragma once

#include "load_client.h"
#include "targets.h"

#include <chrono>
#include <cstddef>

namespace presence::bench {

/// What deliveries cost in one phase.
struct DeliveryCost {
    double cpu_ns = 0;            ///< Of the server, per delivery.
    double last_delivery_us = 0;  ///< Median time from the change to the last watcher.
};

/// Sixteen subjects whose changes all watchers hear, on one server.
class Audience {
public:
    static constexpr std::size_t kSubjects = 16;
    /// Above the second within which further changes of one user are merged.
    static constexpr std::chrono::milliseconds kChangeEvery{1'200};

    Audience(std::uint16_t port, std::size_t watchers);

    /// Changes `burst` subjects at once, each time after the last delivery of those before.
    DeliveryCost measure(const Target& target, std::size_t burst,
                         std::chrono::milliseconds duration);

    /// Payload bytes of an update that tells of one change.
    [[nodiscard]] std::size_t update_bytes() const noexcept { return update_bytes_; }

private:
    void watch();
    /// Gives the microseconds until the last watcher has heard of all of it.
    double change(std::size_t burst);

    LoadClient subjects_;
    LoadClient watchers_;
    std::size_t watcher_count_;
    std::size_t turn_ = 0;
    std::size_t delivered_ = 0;
    std::size_t update_bytes_ = 0;
};

}  // namespace presence::bench
