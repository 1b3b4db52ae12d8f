#pragma once

#include "presence/base/ids.h"
#include "presence/base/time.h"
#include "presence/model/view.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace presence {

enum class WebhookType : std::uint8_t {
    presence_changed,
    user_online,
    user_offline,
    room_occupied,
    room_vacated,
    room_joined,
    room_left,
    test,
};

[[nodiscard]] constexpr std::string_view wire_name(WebhookType type) noexcept {
    switch (type) {
        case WebhookType::presence_changed:
            return "presence.changed";
        case WebhookType::user_online:
            return "user.online";
        case WebhookType::user_offline:
            return "user.offline";
        case WebhookType::room_occupied:
            return "room.occupied";
        case WebhookType::room_vacated:
            return "room.vacated";
        case WebhookType::room_joined:
            return "room.joined";
        case WebhookType::room_left:
            return "room.left";
        case WebhookType::test:
            return "test";
    }
    return "test";
}

/// What a receiver of webhooks is told once. It follows the public face alone (RULINGS 4): of one
/// who is invisible nothing is said after the first offline (DESIGN rule 18).
struct WebhookEvent {
    WebhookType type = WebhookType::test;
    UserId user;  ///< Empty: of no user.
    RoomId room;  ///< Empty: of no room.
    WallTime at;
    Version version;                     ///< Orders the events of one user, or of one room.
    std::optional<PresenceView> before;  ///< With presence_changed.
    std::optional<PresenceView> after;
    std::optional<WallTime> last_seen;  ///< With user_offline.
};

}  // namespace presence
