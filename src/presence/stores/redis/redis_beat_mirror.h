#pragma once

#include "presence/base/clock.h"
#include "presence/base/scheduler.h"
#include "presence/ports/beat_mirror.h"
#include "presence/stores/redis/client.h"

#include <string>
#include <string_view>
#include <vector>

namespace presence {

/// The plain scheme that other systems read: `presence:USER` holds the node's name until the user
/// has been silent for the ttl, and the sorted set `presence:beats` the time of the last beat, in
/// seconds. One object a thread; completes on `home`.
///
/// In a cluster these keys lie wherever their names say; nothing is atomic across them.
class RedisBeatMirror final : public BeatMirror {
public:
    /// What the names begin with. A deployment of ours must not have it for a prefix.
    static constexpr std::string_view kPrefix = "presence";

    /// @param ttl  HeartbeatConfig::ttl.
    RedisBeatMirror(redis::Client& client, const Clock& clock, Scheduler& home, Millis ttl)
        : client_(client), clock_(clock), home_(home), ttl_(ttl) {}

    [[nodiscard]] Task<Result<bool>> write(NodeId node, std::vector<ShownBeat> alive,
                                           std::vector<UserId> gone) override;

private:
    redis::Client& client_;
    const Clock& clock_;
    Scheduler& home_;
    Millis ttl_;
};

}  // namespace presence
