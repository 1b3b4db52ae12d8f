#pragma once

#include "presence/base/time.h"
#include "presence/model/custom_status.h"
#include "presence/model/status.h"

#include <optional>

namespace presence {

/// What a person wants said, with ends already turned into moments.
struct StatusChange {
    std::optional<DeclaredStatus> status;
    std::optional<WallTime> status_until;
    bool sets_custom = false;
    CustomStatusRef custom;  ///< With sets_custom; null clears it.
};

}  // namespace presence
