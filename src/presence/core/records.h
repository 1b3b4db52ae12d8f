#pragma once

#include "presence/model/presence.h"
#include "presence/model/privacy.h"

namespace presence {

/// The record of a user of whom the session store knows nothing: where the database left them.
[[nodiscard]] inline UserRecordRef record_from(const ProfileRef& profile) {
    auto record = std::make_shared<UserRecord>();
    if (profile) {
        record->presence.own_version = profile->own_version;
        record->presence.shown_version = profile->shown_version;
        record->presence.last_seen = profile->last_seen;
        record->presence.declared = profile->declared;
        record->rules_revision = profile->revision;
    }
    return record;
}

}  // namespace presence
