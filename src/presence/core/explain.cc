#include "presence/core/explain.h"

#include "presence/core/records.h"
#include "presence/core/store_errors.h"

#include <utility>

namespace presence {

Task<Result<Explanation>> explain_view(Shard& home, UserId viewer, UserId subject) {
    std::vector<UserId> parties{subject, viewer};
    std::vector<ProfileAnswer> profiles = co_await home.cache.get(std::move(parties));
    if (!profiles[0].known || !profiles[1].known) {
        co_return database_away();
    }
    std::vector<UserId> subjects{subject};
    Result<std::vector<Seen>> seen = co_await home.reader.look(viewer, std::move(subjects));
    if (!seen) {
        co_return seen.error();
    }
    Result<std::vector<SessionFacts>> sessions = co_await home.service.sessions_of(subject);
    if (!sessions) {
        co_return sessions.error();
    }
    const Seen& one = seen->front();
    Explanation explanation{home.reader.view(one),
                            std::move(*sessions),
                            {},
                            Status::offline,
                            Status::offline,
                            {},
                            one.verdict};
    if (one.record) {
        const Presence& presence = one.record->presence;
        explanation.declared = presence.declared;
        explanation.merged = presence.doubts(presence.own) ? Status::unknown : presence.own.status;
        explanation.shown =
            presence.doubts(presence.shown) ? Status::unknown : presence.shown.status;
    }
    explanation.checks = rules::explain({subject, profiles[0].profile.get()},
                                        {viewer, profiles[1].profile.get()}, home.config.privacy);
    co_return explanation;
}

ExplainedMoment explain_moment(WallTime at, const Past& of_subject, const Past& of_viewer,
                               const Explanation& now) {
    ExplainedMoment moment;
    moment.at = at;
    moment.known = at >= of_subject.since && at >= of_viewer.since;
    moment.faces = {now.merged, now.shown};
    bool later_one = false;
    for (const PastTransition& one : of_subject.transitions) {
        if (one.rules_changed) {
            moment.rules_changed = moment.rules_changed || one.at > at;
        } else if (one.at <= at) {
            moment.because = one;
            moment.faces = one.after;
        } else if (!std::exchange(later_one, true)) {
            moment.faces = one.before;
        }
    }
    for (const PastTransition& one : of_viewer.transitions) {
        moment.rules_changed = moment.rules_changed || (one.rules_changed && one.at > at);
    }
    if (moment.known && !moment.rules_changed && !now.verdict.unread()) {
        moment.seen = now.verdict.own()      ? moment.faces.own
                      : now.verdict.online() ? moment.faces.shown
                                             : Status::offline;
    }
    return moment;
}

}  // namespace presence
