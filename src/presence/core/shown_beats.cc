// What `store.write_every_heartbeat` shows to other systems: who is not offline to everybody, and
// so never one who is invisible (DESIGN rule 18).

#include "presence/core/presence_service.h"
#include "presence/model/canary.h"

#include <algorithm>

namespace presence {

void PresenceService::show_beat(const LocalSession& local) {
    const User& user = users_.at(local.user);
    if (!local.ending && !local.orphaned && user.record && !is_canary(user.id) &&
        user.record->presence.shown.status != Status::offline) {
        parts_.beats->alive(user.id, wall_of(local.last_heartbeat));
    }
}

void PresenceService::show_change(const User& user, const Face& before) {
    const bool was_shown = before.status != Status::offline;
    const bool is_shown = user.record->presence.shown.status != Status::offline;
    if (was_shown && !is_shown) {
        parts_.beats->gone(user.id);
    } else if (is_shown && !was_shown) {
        for (const SlotId local : user.sessions) {
            show_beat(sessions_.at(local));
        }
    }
}

}  // namespace presence
