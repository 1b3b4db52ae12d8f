#pragma once

#include "presence/base/time.h"
#include "presence/model/status_change.h"

#include <cstdint>
#include <optional>

namespace presence {

/// One that waits until its person may change again.
struct DeferredChange {
    StatusChange change;
    MonoTime due;
    /// What was declared when it was put off, of user scope: what another node has changed since is
    /// newer. Empty: not known.
    std::optional<DeclaredState> over{};
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
