// Whom a thread holds, for all that goes through these users: checks of their records, counts.

#include "presence/core/presence_service.h"

namespace presence {

namespace {

bool is_held(const User& user) {
    return !user.sessions.empty() || user.ahead;
}

std::uint64_t settled_commit(const User& user) {
    return user.record && user.loaded && !user.ahead && !user.lock.held() ? user.record->commit : 0;
}

bool is_unsure(const User& user) {
    return (user.ahead || !user.loaded) && !user.lock.held();
}

HeldUser held(const User& user) {
    return {user.id, settled_commit(user), is_unsure(user)};
}

}  // namespace

std::vector<HeldUser> PresenceService::users_here() {
    std::vector<HeldUser> users;
    users.reserve(users_.size());
    users_.for_each([&](SlotId, const User& user) {
        if (is_held(user)) {
            users.push_back(held(user));
        }
    });
    return users;
}

HeldPart PresenceService::users_from(std::uint32_t place, const HeldFilter& wanted) {
    HeldPart part;
    part.next = users_.for_some(place, kHeldPlaces, [&](const User& user) {
        if (is_held(user) && (is_unsure(user) || wanted(user.id))) {
            part.users.push_back(held(user));
        }
    });
    return part;
}

std::uint64_t PresenceService::commit_here(const UserId& id) {
    const SlotId slot = users_.find(id);
    const User* const user = slot ? users_.get(slot) : nullptr;
    return user != nullptr ? settled_commit(*user) : 0;
}

UserRecordRef PresenceService::record_here(const UserId& id) {
    const SlotId slot = users_.find(id);
    const User* const user = slot ? users_.get(slot) : nullptr;
    return user != nullptr && !user->sessions.empty() ? user->record : nullptr;
}

}  // namespace presence
