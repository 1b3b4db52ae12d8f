#pragma once

#include "presence/base/time.h"

#include <atomic>
#include <string>

namespace presence::api {

/// What is true of the whole node, for all its threads.
struct NodeFacts {
    std::atomic<bool> ready{false};     ///< It serves.
    std::atomic<bool> draining{false};  ///< It lets everybody go.
    std::string version;
    WallTime started_at;
};

}  // namespace presence::api
