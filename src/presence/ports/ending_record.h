#pragma once

#include "presence/model/presence.h"

#include <algorithm>

namespace presence {

/// Whether nobody is there by `record` who is not in grace. A commit of such a one gives memory
/// free, and goes through also where a store has none left; all others need some.
[[nodiscard]] inline bool is_ending(const UserRecord& record) {
    return std::ranges::all_of(
        record.sessions, [](const Session& session) { return session.grace_until.has_value(); });
}

}  // namespace presence
