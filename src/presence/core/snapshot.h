#pragma once

#include "presence/base/clock.h"
#include "presence/base/task.h"
#include "presence/core/configs.h"
#include "presence/core/profile_cache.h"
#include "presence/model/view.h"
#include "presence/ports/session_store.h"

#include <optional>
#include <vector>

namespace presence {

/// What a look at one user found: the unfiltered record, and what the viewer may see of it. Only
/// view() makes something of it that can leave.
struct Seen {
    UserId user;
    UserRecordRef record;  ///< Null: nobody of that name was ever here.
    Verdict verdict;
    /// Neither side ever set rules, contacts or blocks: the view depends on the version alone.
    bool rules_untouched = false;

    /// The version that the viewer is told with it; 0 where nothing may be seen.
    [[nodiscard]] Version version() const {
        if (!record || !(verdict.own() || verdict.online())) {
            return {};
        }
        return verdict.own() ? record->presence.own_version : record->presence.shown_version;
    }
};

/// Reads what viewers ask for: one batch of rules, one batch of records, one verdict each (DESIGN
/// rules 20, 25). The work is the same whatever the verdicts are. One thread.
class SnapshotReader {
public:
    SnapshotReader(const Clock& clock, ProfileCache& profiles, SessionStore& sessions,
                   const CoreConfig& config)
        : clock_(clock), profiles_(profiles), sessions_(sessions), config_(config) {}

    /// One answer for each of `users`, in that order.
    /// @param viewer  Empty: a back end, which sees everything.
    /// @retval ErrorCode::unavailable  The session store does not answer.
    [[nodiscard]] Task<Result<std::vector<Seen>>> look(std::optional<UserId> viewer,
                                                       std::vector<UserId> users);

    /// What leaves for the viewer.
    [[nodiscard]] PresenceView view(const Seen& seen) const;
    [[nodiscard]] PresenceView view(const UserId& user, const Presence* presence,
                                    Verdict verdict) const;

private:
    const Clock& clock_;
    ProfileCache& profiles_;
    SessionStore& sessions_;
    const CoreConfig& config_;
};

}  // namespace presence
