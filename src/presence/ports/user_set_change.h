#pragma once

#include "presence/ports/profile_store.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace presence {

/// What `before` becomes: replaced, then added to, then removed from. The same in every adapter.
[[nodiscard]] inline UserSet changed_by(const UserSet& before, const UserSetChange& change) {
    const UserSet& base = change.replace ? *change.replace : before;
    std::vector<UserId> users;
    std::set_union(base.users().begin(), base.users().end(), change.add.users().begin(),
                   change.add.users().end(), std::back_inserter(users));
    std::erase_if(users, [&](const UserId& user) { return change.remove.contains(user); });
    return UserSet(std::move(users));
}

/// Whether a set may go from `before` to `after`. One that is over the limit already may shrink.
[[nodiscard]] inline bool within_limit(const UserSet& before, const UserSet& after,
                                       std::size_t limit) {
    return after.size() <= limit || after.size() <= before.size();
}

[[nodiscard]] inline Error set_too_large(std::size_t limit) {
    return {ErrorCode::limit_exceeded, "most users a list may hold: " + std::to_string(limit), 0,
            static_cast<std::int64_t>(limit)};
}

}  // namespace presence
