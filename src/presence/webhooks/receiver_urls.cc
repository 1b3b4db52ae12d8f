#include "presence/webhooks/receiver_urls.h"

#include "presence/base/log.h"
#include "presence/webhooks/sender.h"

#include <fmt/format.h>

#include <algorithm>

namespace presence::webhooks {

namespace {

std::string_view host_of(std::string_view url) {
    const std::size_t scheme = url.find("://");
    std::string_view rest = url.substr(scheme == std::string_view::npos ? 0 : scheme + 3);
    rest = rest.substr(0, rest.find_first_of("/?#"));
    if (rest.starts_with('[')) {
        return rest.substr(0, rest.find(']') + 1);
    }
    return rest.substr(0, rest.find(':'));
}

}  // namespace

bool allows_http(const WebhookConfig& config, std::string_view url) {
    return config.allow_private ||
           std::ranges::find(config.http_hosts, host_of(url)) != config.http_hosts.end();
}

Result<bool> check_urls(const WebhookConfig& config) {
    constexpr std::size_t kLongest = 2048;
    const auto wrong = [](std::string_view url, const char* why) {
        return Error{ErrorCode::bad_request, fmt::format("{} {}", log::quoted(url, 80), why), 0, 0};
    };
    for (const std::string& url : config.urls) {
        const bool https = url.starts_with("https://");
        if ((!https && !url.starts_with("http://")) || host_of(url).empty() ||
            url.size() > kLongest || url.find_first_of(" \t\r\n\"<>\\") != std::string::npos) {
            return wrong(url, "is no URL like https://example.org/hooks");
        }
        if (url.substr(0, url.find('/', 8)).find('@') != std::string::npos) {
            return wrong("a URL", "holds a name or a password, which would end up in logs");
        }
        if (!https && !allows_http(config, url)) {
            return wrong(url,
                         "is plain http, which only webhooks.http_hosts and "
                         "webhooks.allow_private allow");
        }
    }
    return true;
}

}  // namespace presence::webhooks
