#pragma once

#include "presence/base/task.h"
#include "presence/core/presence_service.h"
#include "presence/core/shard.h"
#include "presence/model/past.h"
#include "presence/model/view.h"
#include "presence/rules/visibility.h"

#include <optional>
#include <vector>

namespace presence {

/// Why a viewer sees what it sees of a subject, from the sessions to the view. For back ends only:
/// but for `view` nothing in it is filtered.
struct Explanation {
    PresenceView view;
    std::vector<SessionFacts> sessions;  ///< Of the subject, those in grace included.
    DeclaredState declared;
    Status merged = Status::offline;  ///< Before any rule.
    Status shown = Status::offline;   ///< The same as everyone might see it.
    std::vector<rules::RuleCheck> checks;
    Verdict verdict;  ///< By the rules that stand now.
};

/// How it was a while ago, as far as nodes remember.
struct ExplainedMoment {
    WallTime at;
    /// False: something may have happened between the latest transition that is known and `at`.
    bool known = false;
    PastTransition::Faces faces;            ///< What stood then; meant only if `known`.
    std::optional<PastTransition> because;  ///< That brought it about; empty: none is remembered.
    /// Rules of either side were changed since, so the verdict of now is not that of then.
    bool rules_changed = false;
    /// What the viewer saw, where that can be told.
    std::optional<Status> seen;
};

/// @param of_subject, of_viewer  What Survey::past has found.
/// @param now                    The subject as it stands now, seen by that viewer.
[[nodiscard]] ExplainedMoment explain_moment(WallTime at, const Past& of_subject,
                                             const Past& of_viewer, const Explanation& now);

/// @param home  The subject's home; on its thread.
/// @retval ErrorCode::unavailable  A store does not answer, so nobody can tell.
[[nodiscard]] Task<Result<Explanation>> explain_view(Shard& home, UserId viewer, UserId subject);

}  // namespace presence
