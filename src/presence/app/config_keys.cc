#include "presence/app/config_keys.h"

#include "presence/app/config_fields.h"
#include "presence/app/config_limit_keys.h"

#include <algorithm>
#include <array>

namespace presence::app {

namespace {

constexpr std::array<Word<rules::MergePolicy>, 3> kPolicies{{
    {"most_available", rules::MergePolicy::most_available},
    {"least_interruptible", rules::MergePolicy::least_interruptible},
    {"most_recent", rules::MergePolicy::most_recent},
}};

constexpr std::array<Word<Audience>, 3> kAudiences{{
    {"everyone", Audience::everyone},
    {"contacts", Audience::contacts},
    {"nobody", Audience::nobody},
}};

constexpr std::array<Word<DegradedShow>, 3> kShows{{
    {"unknown", DegradedShow::unknown},
    {"offline", DegradedShow::offline},
    {"last_known", DegradedShow::last_known},
}};

constexpr std::array<Word<MetricsAccess>, 3> kMetricsAccess{{
    {"open", MetricsAccess::open},
    {"key", MetricsAccess::key},
    {"off", MetricsAccess::off},
}};

void add_server_keys(std::vector<ConfigKey>& keys) {
    keys.push_back(
        text("listen", "Address and port; port 0 takes a free one.", PRESENCED_FIELD(node.listen)));
    keys.push_back(number("threads", "Gateway threads; by default one a core.",
                          PRESENCED_FIELD(node.threads), 1, 64));
    keys.push_back(text("data_dir", "Folder of the embedded database and of spools.",
                        PRESENCED_FIELD(data_dir)));
    keys.push_back(url("store.url",
                       "Shared session store: redis://[user:password@]host:port, "
                       "redis-cluster://host:port,host:port, rediss for TLS; memory: is this "
                       "process alone. file:PATH works.",
                       PRESENCED_FIELD(store_url)));
    keys.push_back(flag("store.write_every_heartbeat",
                        "Writes presence:USER (with the ttl) and presence:beats at each heartbeat, "
                        "for systems that read them; needs a shared store.",
                        PRESENCED_FIELD(node.write_every_heartbeat)));
    keys.push_back(url("database.url",
                       "Durable store: sqlite:FILE (in data_dir unless absolute), "
                       "postgresql://USER@HOST/NAME, or memory: (lost with the process). "
                       "file:PATH works.",
                       PRESENCED_FIELD(database_url)));
    keys.push_back(number("database.connections", "Connections to PostgreSQL.",
                          PRESENCED_FIELD(node.postgres_connections), 1, 64));
    keys.push_back(duration("drain.timeout", "Most time that SIGTERM may take.",
                            PRESENCED_FIELD(node.core.drain_timeout)));
    keys.push_back(text("tls.certificate", "PEM file with the certificate chain; empty: no TLS.",
                        PRESENCED_FIELD(node.tls_certificate)));
    keys.back().live = true;
    keys.push_back(
        text("tls.key", "PEM file with its private key.", PRESENCED_FIELD(node.tls_key)));
    keys.back().live = true;
    keys.push_back(
        list("proxies.trusted",
             "Addresses and networks (10.0.0.0/8) of proxies in front: their "
             "X-Forwarded-For says whose a connection is, for the limits of one address.",
             PRESENCED_FIELD(trusted_proxies)));
    keys.push_back(
        text("log.level", "debug, info, warning, error or off.", PRESENCED_FIELD(log_level)));
    keys.back().live = true;
    keys.push_back(text("log.format", "text or json.", PRESENCED_FIELD(log_format)));
    keys.back().live = true;
}

void add_presence_keys(std::vector<ConfigKey>& keys) {
    keys.push_back(text("heartbeat.profile",
                        "mobile and default are 30s/100s/10s, collaboration is 15s/55s/5s; single "
                        "keys win over it.",
                        PRESENCED_FIELD(profile)));
    keys.push_back(duration("heartbeat.interval", "How often a client beats.",
                            PRESENCED_FIELD(node.core.heartbeat.interval)));
    keys.push_back(duration("heartbeat.ttl", "Silence that ends a session; at least 3 intervals.",
                            PRESENCED_FIELD(node.core.heartbeat.ttl)));
    keys.push_back(duration("heartbeat.grace", "Wait after a lost connection before anyone hears.",
                            PRESENCED_FIELD(node.core.heartbeat.grace)));
    keys.push_back(duration("presence.idle_after", "Without activity that long: away.",
                            PRESENCED_FIELD(node.core.presence.idle_after)));
    keys.push_back(flag("presence.show_devices", "Whether viewers are told kinds of device.",
                        PRESENCED_FIELD(node.core.presence.merge.show_devices)));
    keys.push_back(choice("merge.policy",
                          "Which device speaks for the user: most_available, "
                          "least_interruptible or most_recent.",
                          PRESENCED_FIELD(node.core.presence.merge.policy), kPolicies));
    keys.push_back(flag("privacy.reciprocity", "Whether hiding costs seeing.",
                        PRESENCED_FIELD(node.core.privacy.reciprocity)));
    keys.push_back(choice("privacy.default_online",
                          "Who sees a user that set no rule: everyone, contacts or nobody.",
                          PRESENCED_FIELD(node.core.privacy.online.audience), kAudiences));
    keys.push_back(choice("privacy.default_last_seen", "The same for last seen.",
                          PRESENCED_FIELD(node.core.privacy.last_seen.audience), kAudiences));
    keys.push_back(choice("metrics.access",
                          "Who may read /metrics: open (anybody), key (back ends) or off.",
                          PRESENCED_FIELD(node.metrics), kMetricsAccess));
    keys.push_back(flag("truth.canaries",
                        "Whether the node measures by made-up users how late changes and deaths "
                        "are told.",
                        PRESENCED_FIELD(node.canaries)));
    keys.push_back(choice("degraded.show",
                          "What others' users look like while the store is away: unknown, offline "
                          "or last_known.",
                          PRESENCED_FIELD(node.core.degraded_show), kShows));
}

void add_auth_keys(std::vector<ConfigKey>& keys) {
    const std::size_t first = keys.size();
    keys.push_back(list("auth.secret", "HS256 secret; several during a rotation. file:PATH works.",
                        PRESENCED_FIELD(node.auth.secrets), true));
    keys.push_back(list("auth.public_keys", "PEM files for RS256, ES256 and EdDSA.",
                        PRESENCED_FIELD(node.auth.public_keys)));
    keys.push_back(
        text("auth.jwks", "A JSON Web Key Set: file or URL.", PRESENCED_FIELD(node.auth.jwks)));
    keys.push_back(duration("auth.jwks_refresh", "How often a URL is fetched anyway, 1m or more.",
                            PRESENCED_FIELD(node.auth.jwks_refresh), Millis{60'000}));
    keys.push_back(text("auth.issuer", "iss must be this; empty: not checked.",
                        PRESENCED_FIELD(node.auth.issuer)));
    keys.push_back(list("auth.audience", "aud must hold one of these; empty: not checked.",
                        PRESENCED_FIELD(node.auth.audiences)));
    keys.push_back(flag("auth.require_expiry", "Whether a token must have exp.",
                        PRESENCED_FIELD(node.auth.require_expiry)));
    keys.push_back(duration("auth.leeway", "How far clocks may differ, at most 60s.",
                            PRESENCED_FIELD(node.auth.leeway)));
    keys.push_back(list("auth.api_keys",
                        "Keys of back ends, in the clear, as sha256:HEX or file:PATH.",
                        PRESENCED_FIELD(node.api_keys), true));
    keys.push_back(list("auth.allowed_origins", "Origins of pages that may call; * is any.",
                        PRESENCED_FIELD(node.allowed_origins)));
    for (std::size_t i = first; i < keys.size(); ++i) {
        keys[i].live = true;
    }
    keys.push_back(text("auth.cookie",
                        "Cookie that may bring the token of a stream or poll; empty: none.",
                        PRESENCED_FIELD(node.auth_cookie)));
}

void add_webhook_keys(std::vector<ConfigKey>& keys) {
    const std::size_t first = keys.size();
    keys.push_back(list("webhooks.url", "Receivers of webhooks; https unless allowed otherwise.",
                        PRESENCED_FIELD(node.webhooks.urls)));
    keys.push_back(list("webhooks.secret",
                        "Secret that signs them, whsec_ and base64; two during a rotation. "
                        "file:PATH works.",
                        PRESENCED_FIELD(webhook_secrets), true));
    keys.push_back(list("webhooks.http_hosts", "Hosts that may be called by plain http.",
                        PRESENCED_FIELD(node.webhooks.http_hosts)));
    keys.push_back(flag("webhooks.allow_private",
                        "Whether receivers may stand on private and loopback addresses, and be "
                        "called by plain http.",
                        PRESENCED_FIELD(node.webhooks.allow_private)));
    for (std::size_t i = first; i < keys.size(); ++i) {
        keys[i].live = true;
    }
}

std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) {
        row[j] = j;
    }
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
        }
    }
    return row[b.size()];
}

}  // namespace

const std::vector<ConfigKey>& config_keys() {
    static const std::vector<ConfigKey> keys = [] {
        std::vector<ConfigKey> made;
        add_server_keys(made);
        add_presence_keys(made);
        add_auth_keys(made);
        add_webhook_keys(made);
        add_limit_keys(made);
        return made;
    }();
    return keys;
}

const ConfigKey* find_key(std::string_view name) {
    const auto& keys = config_keys();
    const auto found = std::ranges::find(keys, name, &ConfigKey::name);
    return found == keys.end() ? nullptr : &*found;
}

std::string_view nearest_key(std::string_view name) {
    constexpr std::size_t kLongestName = 64;
    std::string_view nearest;
    std::size_t best = 4;  // Further off is no typing mistake.
    for (const ConfigKey& key : config_keys()) {
        const std::size_t apart = distance(name.substr(0, kLongestName), key.name);
        if (apart < best) {
            best = apart;
            nearest = key.name;
        }
    }
    return nearest;
}

}  // namespace presence::app
