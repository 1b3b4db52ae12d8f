#pragma once

#include "presence/base/ids.h"
#include "presence/model/privacy.h"
#include "presence/model/session.h"
#include "presence/protocol/client_message.h"
#include "presence/protocol/json_fields.h"

#include <optional>
#include <string_view>
#include <vector>

namespace presence::protocol {

/// Readers of what several requests share, over WebSocket and HTTP. Each refuses through the
/// fields' Refusal and then returns something of no meaning.

/// The id in `name`; refuses where it is missing.
[[nodiscard]] std::string read_id(const JsonFields& fields, std::string_view name);

/// The users in `name`, without doubles, in order; refuses where the list is missing or longer
/// than `most` as it was given.
[[nodiscard]] std::vector<UserId> read_users(const JsonFields& fields, std::string_view name,
                                             std::size_t most);

[[nodiscard]] std::optional<Device> read_device(const JsonFields& fields);
[[nodiscard]] std::optional<Activity> read_activity(const JsonFields& fields,
                                                    std::string_view name);
/// Everything that a change of status says; refuses where it names nothing to change.
[[nodiscard]] StatusChange read_status_change(const JsonFields& fields, const ParseLimits& limits);
[[nodiscard]] PrivacySettings read_privacy(const JsonFields& fields, const ParseLimits& limits);

}  // namespace presence::protocol
