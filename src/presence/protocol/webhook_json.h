#pragma once

#include "presence/model/webhook_event.h"

#include <string>
#include <string_view>
#include <vector>

namespace presence::protocol {

/// One event of PROTOCOL.md section 3.
[[nodiscard]] std::string encode_webhook_event(const WebhookEvent& event, std::string_view id);

}  // namespace presence::protocol
