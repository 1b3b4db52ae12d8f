// The anti-flap window of PresenceService (DESIGN rule 13, RULINGS 11): the first transition of a
// quiet user goes out at once, with its commit; further ones within the window are merged, and if
// the end equals what was told last, nothing is sent.

#include "presence/core/presence_service.h"
#include "presence/rules/transition.h"

namespace presence {

namespace {

constexpr Millis kWindow{1000};

bool is_told(const ToldFace& told, const Face& face, bool doubtful) {
    return told.face == face && told.doubtful == doubtful;
}

void tell(ToldFace& told, const Face& face, bool doubtful, MonoTime now) {
    told = {face, doubtful, now + kWindow, false};
}

}  // namespace

PresenceService::Announcement PresenceService::plan_announcement(
    const User& user, UserRecord& record, const rules::Transition& transition) const {
    if (!transition.shown_changed && !transition.own_changed) {
        return {};
    }
    const MonoTime now = parts_.clock.now();
    auto window =
        user.flap ? std::make_unique<FlapWindow>(*user.flap) : std::make_unique<FlapWindow>();
    const Presence& presence = record.presence;
    const auto decide = [&](bool changed, ToldFace& told, const Face& face) {
        if (!changed) {
            return false;
        }
        if (now >= told.quiet_from) {
            tell(told, face, presence.doubtful, now);
            return true;
        }
        told.pending = true;
        record.untold_until = parts_.clock.wall_now() + (told.quiet_from - now);
        return false;
    };
    const bool tells_shown = decide(transition.shown_changed, window->shown, presence.shown);
    const bool tells_own = decide(transition.own_changed, window->own, presence.own);
    PresenceEventRef event;
    if (tells_shown || tells_own) {
        event = std::make_shared<const PresenceEvent>(
            PresenceEvent{user.id, presence, record.rules_revision, tells_shown, tells_own});
    }
    return {std::move(event), std::move(window)};
}

void PresenceService::announce_pending(User& user, MonoTime now) {
    const Presence& presence = user.record->presence;
    bool tells_shown = false;
    bool tells_own = false;
    ToldFace& shown = user.flap->shown;
    if (shown.pending && now >= shown.quiet_from) {
        tells_shown = !is_told(shown, presence.shown, presence.doubtful);
        parts_.counters.swallowed += tells_shown ? 0U : 1U;
        shown.pending = false;
        if (tells_shown) {
            tell(shown, presence.shown, presence.doubtful, now);
        }
    }
    ToldFace& own = user.flap->own;
    if (own.pending && now >= own.quiet_from) {
        // Where only the declaration changed the faces are equal, and still it is news to devices.
        tells_own = true;
        tell(own, presence.own, presence.doubtful, now);
    }
    if (tells_shown || tells_own) {
        ++parts_.counters.announced;
        parts_.bus.publish(std::make_shared<const PresenceEvent>(
            PresenceEvent{user.id, presence, user.record->rules_revision, tells_shown, tells_own}));
    }
    if (!shown.pending && !own.pending && now >= shown.quiet_from && now >= own.quiet_from) {
        user.flap.reset();
    }
}

}  // namespace presence
