#pragma once

#include "presence/base/result.h"
#include "presence/webhooks/sender.h"

#include <string>
#include <vector>

namespace presence::app {

/// Reads the secrets into `config`, and checks all of it.
/// @retval ErrorCode::bad_request  The message names key and value; no secret is in it.
[[nodiscard]] Result<bool> prepare_webhooks(webhooks::WebhookConfig& config,
                                            const std::vector<std::string>& secrets);

}  // namespace presence::app
