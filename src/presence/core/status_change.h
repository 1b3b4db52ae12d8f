#pragma once

#include "presence/base/time.h"
#include "presence/model/custom_status.h"
#include "presence/model/status.h"

#include <cstdint>
#include <optional>

namespace presence {

/// What a person wants said, with ends already turned into moments.
struct StatusChange {
    std::optional<DeclaredStatus> status;
    std::optional<WallTime> status_until;
    bool sets_custom = false;
    CustomStatusRef custom;  ///< With sets_custom; null clears it.
};

/// One that waits until its person may change again.
struct DeferredChange {
    StatusChange change;
    MonoTime due;
};

/// What is done with a change of one who changes too often.
enum class OverRate : std::uint8_t {
    defer,   ///< The newest is applied when the rate allows (RULINGS 12).
    refuse,  ///< `rate_limited`: the caller has no other answer to give than what stands.
};

/// What became of it.
struct StatusOutcome {
    Millis applied_in{0};  ///< Over the rate: when the newest change will be applied.
};

}  // namespace presence
