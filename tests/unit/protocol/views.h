#pragma once

#include "presence/model/view.h"
#include "presence/rules/visibility.h"

#include <memory>
#include <utility>

namespace presence::protocol::testing {

inline constexpr WallTime kNow = WallTime::from_ms(1'790'000'000'000);

/// What anybody sees of a user who hides nothing.
inline PresenceView public_view(const char* user, const Presence& presence) {
    const rules::PrivacyDefaults open{{Audience::everyone, {}}, {Audience::everyone, {}}, true};
    const UserId subject(user);
    const UserId viewer("viewer");
    const Verdict verdict = rules::judge({subject, nullptr}, {viewer, nullptr}, open);
    return rules::view_for(subject, &presence, verdict, {kNow});
}

/// What the user's own sessions see.
inline PresenceView own_view(const char* user, const Presence& presence) {
    const UserId subject(user);
    const Verdict verdict = rules::judge({subject, nullptr}, {subject, nullptr}, {});
    return rules::view_for(subject, &presence, verdict, {kNow});
}

/// What one sees who may see nothing.
inline PresenceView hidden_view(const char* user, const Presence* presence = nullptr) {
    return rules::view_for(UserId(user), presence, Verdict(), {kNow});
}

inline PresenceView unknown_view(const char* user, const Presence& presence) {
    const UserId subject(user);
    const UserId viewer("viewer");
    const Verdict verdict = rules::judge({subject, nullptr}, {viewer, nullptr}, {});
    return rules::view_for(subject, &presence, verdict, {kNow, true, true});
}

/// A presence of which both faces are the same.
inline Presence presence_of(Status status, std::uint64_t version, DeviceSet devices = {}) {
    Presence presence;
    presence.own.status = presence.shown.status = status;
    presence.own.devices = presence.shown.devices = devices;
    presence.own_version = presence.shown_version = Version{version};
    return presence;
}

inline DeviceSet devices(std::initializer_list<DeviceKind> kinds) {
    DeviceSet set;
    for (const DeviceKind kind : kinds) {
        set.insert(kind);
    }
    return set;
}

}  // namespace presence::protocol::testing
