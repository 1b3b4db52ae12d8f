// The anti-flap window of PresenceService (DESIGN rule 13, RULINGS 11): the first transition of a
// quiet user goes out at once, with its commit; further ones within the window are merged, and if
// the end equals what was told last, nothing is sent.

#include "presence/core/presence_service.h"
#include "presence/rules/transition.h"

namespace presence {

namespace {

constexpr Millis kWindow{1000};

/// What stands now, as it would be told of the public face.
ToldFace shown_now(const Presence& presence, MonoTime now) {
    ToldFace told;
    told.face = presence.shown;
    told.doubtful = presence.doubts(presence.shown);
    told.quiet_from = now + kWindow;
    return told;
}

/// Likewise of the own one, which the declaration is part of.
ToldFace own_now(const Presence& presence, MonoTime now) {
    ToldFace told;
    told.face = presence.own;
    told.doubtful = presence.doubts(presence.own);
    told.declared = presence.declared;
    told.declared.revision = 0;  // Nobody is told it.
    told.session_declared = presence.session_declared;
    told.quiet_from = now + kWindow;
    return told;
}

bool tell_the_same(const ToldFace& a, const ToldFace& b) {
    return a.face == b.face && a.doubtful == b.doubtful && a.declared == b.declared &&
           a.session_declared == b.session_declared;
}

/// At the end of a window. True: what stands now is told, and a new window begins.
bool end_window(ToldFace& told, ToldFace standing, std::uint64_t& swallowed) {
    told.pending = false;
    if (tell_the_same(told, standing)) {
        ++swallowed;
        return false;
    }
    told = std::move(standing);
    return true;
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
    const auto decide = [&](bool changed, ToldFace& told, ToldFace standing) {
        if (!changed) {
            return false;
        }
        if (now >= told.quiet_from) {
            if (told.pending && tell_the_same(told, standing)) {
                told.pending = false;  // Taken back after the window, before it was looked at.
                return false;
            }
            told = std::move(standing);
            return true;
        }
        told.pending = true;
        record.untold_until = parts_.clock.wall_now() + (told.quiet_from - now);
        return false;
    };
    const bool tells_shown =
        decide(transition.shown_changed, window->shown, shown_now(presence, now));
    const bool tells_own = decide(transition.own_changed, window->own, own_now(presence, now));
    PresenceEventRef event;
    if (tells_shown || tells_own) {
        event = std::make_shared<const PresenceEvent>(
            PresenceEvent{user.id, presence, record.rules_revision, tells_shown, tells_own});
    }
    return {std::move(event), std::move(window)};
}

void PresenceService::announce_pending(User& user, MonoTime now) {
    const Presence& presence = user.record->presence;
    ToldFace& shown = user.flap->shown;
    ToldFace& own = user.flap->own;
    std::uint64_t& swallowed = parts_.counters.swallowed;
    const bool tells_shown = shown.pending && now >= shown.quiet_from &&
                             end_window(shown, shown_now(presence, now), swallowed);
    const bool tells_own =
        own.pending && now >= own.quiet_from && end_window(own, own_now(presence, now), swallowed);
    if (tells_shown || tells_own) {
        ++parts_.counters.announced;
        auto event = std::make_shared<const PresenceEvent>(
            PresenceEvent{user.id, presence, user.record->rules_revision, tells_shown, tells_own});
        if (parts_.nodes.vouches(now)) {
            parts_.bus.publish(std::move(event));
        } else {
            parts_.bus.publish_here(std::move(event));
        }
    }
    if (!shown.pending && !own.pending && now >= shown.quiet_from && now >= own.quiet_from) {
        user.flap.reset();
    }
}

}  // namespace presence
