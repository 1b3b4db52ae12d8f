#pragma once

#include "presence/base/task.h"
#include "presence/ports/presence_bus.h"

#include <boost/unordered/unordered_flat_map.hpp>

#include <cstddef>

namespace presence {

/// The rooms that a thread is subscribed to, for all on the thread that want them: its keeper and
/// its replicas. One thread.
class RoomSubscriptions {
public:
    explicit RoomSubscriptions(PresenceBus& bus) : bus_(bus) {}

    /// Wanted from now on; when it completes, the subscription is in force. Balanced by drop.
    [[nodiscard]] Task<Result<bool>> want(RoomId room) {
        ++wanted_[room];
        return bus_.subscribe_room(std::move(room));
    }
    void drop(const RoomId& room) {
        const auto found = wanted_.find(room);
        if (found != wanted_.end() && --found->second == 0) {
            wanted_.erase(found);
            bus_.unsubscribe_room(room);
        }
    }
    [[nodiscard]] std::size_t size() const noexcept { return wanted_.size(); }

private:
    PresenceBus& bus_;
    boost::unordered_flat_map<RoomId, std::size_t, IdHash, IdEqual> wanted_;
};

}  // namespace presence
