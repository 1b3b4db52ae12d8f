#include "presence/core/snapshot.h"

#include "presence/core/records.h"

namespace presence {

namespace {

const Face& face_for(const Presence& presence, Verdict verdict) {
    return verdict.own() ? presence.own : presence.shown;
}

}  // namespace

Task<Result<std::vector<Seen>>> SnapshotReader::look(std::optional<UserId> viewer,
                                                     std::vector<UserId> users) {
    std::vector<UserId> parties = users;
    if (viewer) {
        parties.push_back(*viewer);
    }
    std::vector<ProfileAnswer> profiles = co_await profiles_.get(std::move(parties));
    std::vector<UserId> subjects = users;
    Result<std::vector<UserRecordRef>> records = co_await sessions_.load(std::move(subjects));
    if (!records) {
        co_return records.error();
    }
    std::vector<Seen> seen;
    seen.reserve(users.size());
    for (std::size_t i = 0; i < users.size(); ++i) {
        const ProfileAnswer& of_subject = profiles[i];
        Seen one{std::move(users[i]), std::move((*records)[i]), {}, false};
        if (!viewer) {
            one.verdict = rules::verdict_for_back_end();
        } else if (!(one.user == *viewer) && (!of_subject.known || !profiles.back().known)) {
            one.verdict = rules::verdict_unread();
        } else {
            one.verdict = rules::judge({one.user, of_subject.profile.get()},
                                       {*viewer, profiles.back().profile.get()}, config_.privacy);
        }
        const auto untouched = [](const ProfileAnswer& answer) {
            return answer.known && (!answer.profile || answer.profile->revision == 0);
        };
        one.rules_untouched = untouched(of_subject) && (!viewer || untouched(profiles.back()));
        if (!one.record && of_subject.profile) {
            one.record = record_from(of_subject.profile);
        }
        seen.push_back(std::move(one));
    }
    co_return seen;
}

PresenceView SnapshotReader::view(const Seen& seen) const {
    return view(seen.user, seen.record ? &seen.record->presence : nullptr, seen.verdict);
}

PresenceView SnapshotReader::view(const UserId& user, const Presence* presence,
                                  Verdict verdict) const {
    const rules::Viewing viewing{
        clock_.wall_now(), config_.presence.merge.show_devices,
        presence != nullptr && presence->doubts(face_for(*presence, verdict))};
    return rules::view_for(user, presence, verdict, viewing);
}

}  // namespace presence
