#pragma once

#include "presence/base/clock.h"
#include "presence/core/shard.h"

#include <atomic>
#include <cstddef>
#include <vector>

namespace presence::app {

/// Simulated people in one room, a few more than a room may list, so that the demo page shows a
/// count. They come one after the other; then a few leave and are back, so that the count moves.
/// Like DemoPeople they go through the doors of everybody.
class DemoCrowd {
public:
    DemoCrowd(const Clock& clock, const Shards& shards);

    void start();  ///< Any thread.
    void stop();   ///< Any thread. They end where they are, with the process.

    static constexpr const char* kRoom = "stadium";

private:
    struct Fan {
        UserId id;
        SlotId session;
    };
    /// Those whose home is one thread.
    struct Stand {
        Shard* shard = nullptr;
        std::vector<Fan> fans;
        std::size_t turn = 0;
    };
    Detached take_turn(Stand& stand);
    Task<bool> come(Stand& stand, Fan& fan);
    void beat(Stand& stand);

    const Clock& clock_;
    std::vector<Stand> stands_;  ///< By thread; each is that thread's alone.
    std::atomic<bool> stopped_{false};
};

}  // namespace presence::app
