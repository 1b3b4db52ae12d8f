#pragma once

#include <string_view>

namespace presence::webhooks {

struct WebhookConfig;

/// Whether `url`, which has passed check_urls, may be called by plain http.
[[nodiscard]] bool allows_http(const WebhookConfig& config, std::string_view url);

}  // namespace presence::webhooks
