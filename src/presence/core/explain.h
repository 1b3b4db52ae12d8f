#pragma once

#include "presence/base/task.h"
#include "presence/core/presence_service.h"
#include "presence/core/shard.h"
#include "presence/model/view.h"
#include "presence/rules/visibility.h"

#include <vector>

namespace presence {

/// Why a viewer sees what it sees of a subject, from the sessions to the view. For back ends only:
/// but for `view` nothing in it is filtered.
struct Explanation {
    PresenceView view;
    std::vector<SessionFacts> sessions;  ///< Of the subject, those in grace included.
    DeclaredState declared;
    Status merged = Status::offline;  ///< Before any rule.
    std::vector<rules::RuleCheck> checks;
};

/// @param home  The subject's home; on its thread.
/// @retval ErrorCode::unavailable  A store does not answer, so nobody can tell.
[[nodiscard]] Task<Result<Explanation>> explain_view(Shard& home, UserId viewer, UserId subject);

}  // namespace presence
