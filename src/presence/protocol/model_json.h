#pragma once

#include "presence/model/custom_status.h"
#include "presence/model/privacy.h"
#include "presence/model/session.h"
#include "presence/protocol/json_writer.h"

#include <span>
#include <string_view>

namespace presence::protocol {

/// Pieces that several encoders share.

/// Adds the member `customStatus`.
void append_custom_status(ObjectWriter& object, const CustomStatus& custom);

/// Adds the member `devices`. Not for an empty set.
void append_devices(ObjectWriter& object, DeviceSet devices);

/// Adds `name` with a list of ids.
void append_users(ObjectWriter& object, std::string_view name, std::span<const UserId> users);

/// Adds `name` with a rule that holds `users` in the place of its own.
void append_rule(ObjectWriter& object, std::string_view name, Audience audience,
                 std::span<const UserId> users);

/// Whether rules of that kind have users.
[[nodiscard]] constexpr bool has_users(Audience audience) noexcept {
    return audience == Audience::contacts_except || audience == Audience::only;
}

}  // namespace presence::protocol
