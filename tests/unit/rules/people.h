#pragma once

#include "presence/model/presence.h"
#include "presence/model/privacy.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

/// Small makers of people, sessions and words for the tests of the rules.
namespace presence::rules::test {

/// 2023-11-14 22:13:20 UTC, 20 seconds into a minute.
inline constexpr WallTime kNow = WallTime::from_ms(1'700'000'000'000);

inline CustomStatusRef words(std::string text, std::optional<WallTime> end = std::nullopt) {
    return make_ref<const CustomStatus>(CustomStatus{std::move(text), "", end});
}

inline Session session(std::string id, DeviceKind kind = DeviceKind::web) {
    Session made;
    made.id = SessionId(std::move(id));
    made.device.kind = kind;
    made.connected_at = kNow - 1h;
    return made;
}

inline Session declaring(std::string id, DeclaredStatus status) {
    Session made = session(std::move(id));
    made.declared = status;
    return made;
}

inline DeclaredState for_all(DeclaredStatus status, std::optional<WallTime> end = std::nullopt) {
    DeclaredState made;
    made.status = status;
    made.expires_at = end;
    return made;
}

inline PrivacyRule rule(Audience audience, std::vector<UserId> users = {}) {
    return {audience, UserSet(std::move(users))};
}

}  // namespace presence::rules::test
