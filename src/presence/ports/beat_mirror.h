#pragma once

#include "presence/base/ids.h"
#include "presence/base/result.h"
#include "presence/base/task.h"
#include "presence/base/time.h"

#include <vector>

namespace presence {

/// A user who has just shown life.
struct ShownBeat {
    UserId user;
    WallTime at;  ///< Reference clock.
};

/// Shows who is there to other systems that read the shared store by themselves, in keys of the
/// plainest form (`store.write_every_heartbeat`). Nothing of ours reads them back.
///
/// One object a thread; completes on it. Adapter: stores/redis.
class BeatMirror {
public:
    virtual ~BeatMirror() = default;

    /// Shows `alive` as held by `node`, and takes `gone` out; no user is in both.
    /// @retval ErrorCode::unavailable  Some of it may have been written.
    [[nodiscard]] virtual Task<Result<bool>> write(NodeId node, std::vector<ShownBeat> alive,
                                                   std::vector<UserId> gone) = 0;
};

}  // namespace presence
