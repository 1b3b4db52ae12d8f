// What stands in the files that a configuration names.

#include "presence/app/config.h"
#include "presence/app/config_fields.h"
#include "presence/auth/key_set.h"
#include "presence/net/server.h"

#include <fmt/format.h>

namespace presence::app {

namespace {

bool is_url(std::string_view text) {
    return text.starts_with("http://") || text.starts_with("https://");
}

Result<bool> check_keys(std::string_view key, const std::string& path, bool is_key_set) {
    const Result<auth::KeySet> read = auth::read_key_file(path, is_key_set);
    if (!read) {
        return wrong_value(fmt::format("{}: {}", key, read.error().message));
    }
    return true;
}

}  // namespace

Result<bool> check_files(const Config& config) {
    const NodeConfig& node = config.node;
    for (const std::string& path : node.auth.public_keys) {
        Result<bool> checked = check_keys("auth.public_keys", path, false);
        if (!checked) {
            return checked;
        }
    }
    if (!node.auth.jwks.empty() && !is_url(node.auth.jwks)) {
        Result<bool> checked = check_keys("auth.jwks", node.auth.jwks, true);
        if (!checked) {
            return checked;
        }
    }
    if (!node.tls_certificate.empty()) {
        const auto loaded = net::TlsContext::load(node.tls_certificate, node.tls_key);
        if (!loaded) {
            return wrong_value(fmt::format("tls.certificate, tls.key: {}", loaded.error().message));
        }
    }
    return true;
}

}  // namespace presence::app
