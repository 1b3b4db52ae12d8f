// What the keys of a configuration must be to each other, and what their values must be beyond what
// a single key can tell.

#include "presence/app/config.h"
#include "presence/app/config_fields.h"
#include "presence/auth/api_keys.h"
#include "presence/net/server.h"
#include "presence/stores/postgres/connection.h"
#include "presence/stores/redis/redis_beat_mirror.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace presence::app {

namespace {

Result<bool> is_loopback(std::string_view listen) {
    const std::string_view host = listen.substr(0, listen.rfind(':'));
    const bool is_number = host.find_first_not_of("0123456789.") == std::string_view::npos;
    if ((host.starts_with("127.") && is_number) || host == "[::1]") {
        return true;
    }
    return wrong_value(
        fmt::format("listen is {}, but --dev serves on loopback only", log::quoted(listen, 80)));
}

/// An origin as browsers send it: scheme, host and maybe a port, in small letters.
bool is_origin(std::string_view text) {
    const std::size_t colon = text.find("://");
    if (colon == 0 || colon == std::string_view::npos) {
        return false;
    }
    const std::string_view host = text.substr(colon + 3);
    constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyz0123456789.-:[]+";
    return !host.empty() && host.find_first_not_of(kAllowed) == std::string_view::npos &&
           text.substr(0, colon).find_first_not_of(kAllowed) == std::string_view::npos;
}

Result<bool> check_origins(const Config& config) {
    for (const std::string& origin : config.node.allowed_origins) {
        if (origin == "*" && !config.node.auth_cookie.empty()) {
            return wrong_value(
                "auth.allowed_origins is *, which auth.cookie forbids: any page could act "
                "as its visitor; name the origins");
        }
        if (origin != "*" && !is_origin(origin)) {
            return wrong_value(
                fmt::format("auth.allowed_origins: {} is no origin like "
                            "https://example.org or http://localhost:5173",
                            log::quoted(origin, 80)));
        }
    }
    return true;
}

/// A cookie's name is a token of HTTP (RFC 6265).
Result<bool> check_cookie(const Config& config) {
    const std::string& name = config.node.auth_cookie;
    const bool is_token = std::ranges::all_of(name, [](char c) {
        return c > ' ' && c < '\x7f' &&
               std::string_view("()<>@,;:\\\"/[]?={}").find(c) == std::string_view::npos;
    });
    return is_token ? Result<bool>(true)
                    : wrong_value(fmt::format("auth.cookie: {} is no name of a cookie",
                                              log::quoted(name, 80)));
}

Result<bool> check_store(const Config& config) {
    if (config.store_url != "memory:" && !redis::is_redis_url(config.store_url)) {
        return wrong_value(
            "store.url is neither memory: nor a URL of redis, rediss, redis-cluster or "
            "rediss-cluster");
    }
    if (!config.node.write_every_heartbeat) {
        return true;
    }
    if (!config.node.redis) {
        return wrong_value(
            "store.write_every_heartbeat is true, but store.url is memory:, which no other system "
            "reads");
    }
    if (config.node.redis->prefix == RedisBeatMirror::kPrefix) {
        return wrong_value(
            "store.write_every_heartbeat writes keys that begin with presence:, so the prefix in "
            "store.url must be another");
    }
    return true;
}

Result<bool> check_database(const Config& config) {
    const std::string& url = config.database_url;
    if (is_postgres(url)) {
        Result<bool> checked = postgres::check_url(url);
        if (!checked) {
            return wrong_value("database.url " + checked.error().message);
        }
        return true;
    }
    if (url != "memory:" && (!url.starts_with("sqlite:") || url == "sqlite:")) {
        return wrong_value(
            "database.url is none of sqlite:FILE, postgresql://USER@HOST/NAME, memory:");
    }
    return true;
}

Result<bool> check_log(const Config& config) {
    constexpr std::array<std::string_view, 5> kLevels{"debug", "info", "warning", "error", "off"};
    if (std::ranges::find(kLevels, config.log_level) == kLevels.end()) {
        return wrong_value(fmt::format("log.level: {} is none of debug, info, warning, error, off",
                                       log::quoted(config.log_level, 80)));
    }
    if (config.log_format != "text" && config.log_format != "json") {
        return wrong_value(fmt::format("log.format: {} is neither text nor json",
                                       log::quoted(config.log_format, 80)));
    }
    return true;
}

/// Who may come in, and as whom.
Result<bool> check_auth(const Config& config) {
    const NodeConfig& node = config.node;
    if (node.auth.leeway > Millis{60'000}) {
        return wrong_value(
            fmt::format("auth.leeway is {}, most is 60s", show_duration(node.auth.leeway)));
    }
    if (node.auth.secrets.empty() && node.auth.public_keys.empty() && node.auth.jwks.empty()) {
        return wrong_value(
            "auth.secret, auth.public_keys and auth.jwks are all empty: no token could "
            "ever be checked; set one of them, or start with --dev");
    }
    Result<auth::ApiKeys> keys = auth::ApiKeys::make(node.api_keys);
    if (!keys) {
        return keys.error();
    }
    if (config.dev) {
        Result<bool> loopback = is_loopback(node.listen);
        if (!loopback) {
            return loopback;
        }
    } else if (std::ranges::find(node.auth.secrets, "dev") != node.auth.secrets.end() ||
               std::ranges::find(node.api_keys, "dev") != node.api_keys.end()) {
        return wrong_value("auth.secret or auth.api_keys is the word dev, which everybody knows");
    }
    return true;
}

Result<bool> check_tls(const Config& config) {
    if (config.node.tls_certificate.empty() != config.node.tls_key.empty()) {
        return wrong_value("tls.certificate and tls.key go together: one of them is empty");
    }
    return true;
}

Result<bool> check_message_sizes(const Config& config) {
    const Limits& limits = config.node.limits;
    if (limits.hello_bytes > limits.message_bytes) {
        return wrong_value(fmt::format("limits.hello_bytes is {}, most is limits.message_bytes, {}",
                                       limits.hello_bytes, limits.message_bytes));
    }
    return true;
}

}  // namespace

Result<bool> validate(const Config& config) {
    Result<bool> heartbeat = config.node.core.heartbeat.validate();
    if (!heartbeat) {
        return heartbeat;
    }
    const NodeConfig& node = config.node;
    if (node.core.presence.idle_after < Millis{1'000}) {
        return wrong_value(fmt::format("presence.idle_after is {}, least is 1s",
                                       show_duration(node.core.presence.idle_after)));
    }
    Result<bool> listen = net::Listener::check(node.listen);
    if (!listen) {
        return wrong_value("listen: " + listen.error().message);
    }
    for (const auto check : {check_auth, check_tls, check_store, check_database,
                             check_message_sizes, check_origins, check_cookie, check_log}) {
        Result<bool> checked = check(config);
        if (!checked) {
            return checked;
        }
    }
    return true;
}

}  // namespace presence::app
