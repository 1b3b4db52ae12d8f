#include "presence/app/webhook_config.h"

#include <fmt/format.h>

#include <utility>

namespace presence::app {

namespace {

Error wrong(std::string message) {
    return {ErrorCode::bad_request, std::move(message), 0, 0};
}

}  // namespace

Result<bool> prepare_webhooks(webhooks::WebhookConfig& config,
                              const std::vector<std::string>& secrets) {
    constexpr std::size_t kMostUrls = 10;
    constexpr std::size_t kMostSecrets = 2;
    config.secrets.clear();
    for (const std::string& text : secrets) {
        Result<webhooks::Secret> secret = webhooks::parse_secret(text);
        if (!secret) {
            return wrong("webhooks.secret " + secret.error().message);
        }
        config.secrets.push_back(std::move(*secret));
    }
    if (config.secrets.size() > kMostSecrets) {
        return wrong(fmt::format("webhooks.secret holds {}, most is {}", config.secrets.size(),
                                 kMostSecrets));
    }
    if (config.urls.size() > kMostUrls) {
        return wrong(
            fmt::format("webhooks.url holds {}, most is {}", config.urls.size(), kMostUrls));
    }
    if (!config.urls.empty() && config.secrets.empty()) {
        return wrong(
            "webhooks.url is set and webhooks.secret is empty: receivers could not tell our calls");
    }
    Result<bool> checked = webhooks::check_urls(config);
    if (!checked) {
        return wrong("webhooks.url: " + checked.error().message);
    }
    return true;
}

}  // namespace presence::app
