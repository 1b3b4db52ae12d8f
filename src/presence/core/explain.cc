#include "presence/core/explain.h"

#include "presence/core/records.h"
#include "presence/core/store_errors.h"

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
    Explanation explanation{home.reader.view(one), std::move(*sessions), {}, Status::offline, {}};
    if (one.record) {
        const Presence& presence = one.record->presence;
        explanation.declared = presence.declared;
        explanation.merged = presence.doubts(presence.own) ? Status::unknown : presence.own.status;
    }
    explanation.checks = rules::explain({subject, profiles[0].profile.get()},
                                        {viewer, profiles[1].profile.get()}, home.config.privacy);
    co_return explanation;
}

}  // namespace presence
