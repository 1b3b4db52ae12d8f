// Any bytes, as the configuration of webhooks: a receiver that passes the check is the one that
// libcurl will call, and no address of the inside passes for one of the outside. The first byte
// chooses what the rest is. (Of a receiver's answer only its status is looked at, by libcurl.)
#include "presence/base/assert.h"
#include "presence/webhooks/address_filter.h"
#include "presence/webhooks/sender.h"
#include "presence/webhooks/signature.h"

#include <boost/asio/ip/address.hpp>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <curl/curl.h>
#include <memory>
#include <string>
#include <string_view>

namespace {

using namespace presence;
using namespace presence::webhooks;

const std::string kAllowed = "hooks.example";

struct FreeUrl {
    void operator()(CURLU* url) const noexcept { curl_url_cleanup(url); }
};

/// As libcurl reads it; empty where it does not take it or there is none.
std::string part_of(CURLU* url, CURLUPart part) {
    char* text = nullptr;
    if (curl_url_get(url, part, &text, 0) != CURLUE_OK) {
        return {};
    }
    std::string copy(text);
    curl_free(text);
    return copy;
}

std::string in_lower_case(std::string text) {
    std::ranges::transform(text, text.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

void try_url(std::string_view text) {
    WebhookConfig config;
    config.urls = {std::string(text)};
    config.http_hosts = {kAllowed};
    if (!check_urls(config) || text.find('\0') != std::string_view::npos) {
        return;
    }
    const std::unique_ptr<CURLU, FreeUrl> url(curl_url());
    if (curl_url_set(url.get(), CURLUPART_URL, config.urls.front().c_str(), 0) != CURLUE_OK) {
        return;  // It will not be called.
    }
    const std::string scheme = part_of(url.get(), CURLUPART_SCHEME);
    PRESENCE_ASSERT(scheme == "https" || scheme == "http");
    PRESENCE_ASSERT(part_of(url.get(), CURLUPART_USER).empty());
    PRESENCE_ASSERT(part_of(url.get(), CURLUPART_PASSWORD).empty());
    if (scheme == "http") {
        PRESENCE_ASSERT(in_lower_case(part_of(url.get(), CURLUPART_HOST)) == kAllowed);
    }
}

void try_address(std::string_view text) {
    if (!is_public_address(text)) {
        return;
    }
    const std::string name(text.substr(0, text.find('\0')));
    const auto address = boost::asio::ip::make_address(name);
    PRESENCE_ASSERT(!address.is_loopback() && !address.is_multicast() && !address.is_unspecified());
    if (address.is_v6()) {
        const auto six = address.to_v6();
        PRESENCE_ASSERT(!six.is_link_local() && !six.is_site_local());
        if (six.is_v4_mapped()) {
            const auto four = boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, six);
            PRESENCE_ASSERT(is_public_address(four.to_string()));
        }
    }
}

void try_secret(std::string_view text) {
    const Result<Secret> secret = parse_secret(text);
    if (secret) {
        PRESENCE_ASSERT(secret->key.size() >= 24 && secret->key.size() <= 64);
        const Secret secrets[]{*secret};
        PRESENCE_ASSERT(sign(secrets, "id", WallTime::from_ms(0), text).starts_with("v1,"));
    } else {
        PRESENCE_ASSERT(secret.error().message == parse_secret("another").error().message);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
    if (data[0] == 'a') {
        try_address(text);
    } else if (data[0] == 's') {
        try_secret(text);
    } else {
        try_url(text);
    }
    return 0;
}
