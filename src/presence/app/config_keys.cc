#include "presence/app/config_keys.h"

#include "presence/app/config_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

namespace presence::app {

namespace {

Error wrong(std::string message) {
    return {ErrorCode::bad_request, std::move(message), 0, 0};
}

/// What an accessor returns: a reference into the configuration.
template <class Access>
using Field = std::remove_reference_t<std::invoke_result_t<Access, Config&>>;

template <class Access, class Parse, class Show>
ConfigKey scalar(std::string_view name, std::string_view unit, std::string_view doc, Access access,
                 Parse parse, Show show) {
    ConfigKey key{name, unit, doc, false, false, nullptr, nullptr};
    key.set = [access, parse](Config& config, const ConfigValue& value) -> Result<bool> {
        if (value.size() != 1) {
            return wrong("is a list, but takes one value");
        }
        auto parsed = parse(value.front());
        if (!parsed) {
            return parsed.error();
        }
        access(config) = static_cast<Field<Access>>(*parsed);
        return true;
    };
    key.show = [access, show](const Config& config) {
        return show(access(const_cast<Config&>(config)));  // NOLINT: only read here.
    };
    return key;
}

template <class Access>
ConfigKey duration(std::string_view name, std::string_view doc, Access access) {
    return scalar(name, "duration", doc, access, parse_duration, show_duration);
}

template <class Access>
ConfigKey number(std::string_view name, std::string_view doc, Access access,
                 std::uint64_t least = 1, std::uint64_t most = 1'000'000'000) {
    const auto parse = [least, most](std::string_view text) -> Result<std::uint64_t> {
        Result<std::uint64_t> parsed = parse_number(text);
        if (parsed && (*parsed < least || *parsed > most)) {
            return wrong(fmt::format("is out of bounds, {} to {}", least, most));
        }
        return parsed;
    };
    return scalar(name, "number", doc, access, parse,
                  [](std::size_t value) { return std::to_string(value); });
}

template <class Access>
ConfigKey real(std::string_view name, std::string_view doc, Access access) {
    return scalar(name, "number", doc, access, parse_real,
                  [](double value) { return fmt::format("{}", value); });
}

template <class Access>
ConfigKey flag(std::string_view name, std::string_view doc, Access access) {
    return scalar(name, "true or false", doc, access, parse_flag,
                  [](bool value) { return std::string(value ? "true" : "false"); });
}

template <class Access>
ConfigKey text(std::string_view name, std::string_view doc, Access access) {
    return scalar(
        name, "text", doc, access,
        [](std::string_view given) -> Result<std::string> { return std::string(given); },
        [](const std::string& value) { return value; });
}

/// A text that may hold a password, and then is shown to nobody.
template <class Access>
ConfigKey url(std::string_view name, std::string_view doc, Access access) {
    ConfigKey key = scalar(name, "text", doc, access, read_secret, [](const std::string& value) {
        return value.find('@') == std::string::npos ? value : std::string("(set)");
    });
    key.secret = true;
    return key;
}

template <class Access>
ConfigKey list(std::string_view name, std::string_view doc, Access access, bool secret = false) {
    ConfigKey key{name, "list of texts", doc, false, secret, nullptr, nullptr};
    key.set = [access, secret](Config& config, const ConfigValue& value) -> Result<bool> {
        std::vector<std::string> items;
        for (const std::string& item : value) {
            Result<std::string> read = secret ? read_secret(item) : Result<std::string>(item);
            if (!read) {
                return read.error();
            }
            if (read->empty()) {
                return wrong("holds an empty text");
            }
            items.push_back(std::move(*read));
        }
        access(config) = std::move(items);
        return true;
    };
    key.show = [access, secret](const Config& config) {
        const auto& items = access(const_cast<Config&>(config));  // NOLINT: only read here.
        return secret ? std::string(items.empty() ? "" : "(set)")
                      : fmt::format("{}", fmt::join(items, ","));
    };
    return key;
}

template <class Enum>
struct Word {
    std::string_view word;
    Enum value;
};

template <class Access, class Enum, std::size_t N>
ConfigKey choice(std::string_view name, std::string_view doc, Access access,
                 const std::array<Word<Enum>, N>& words) {
    const auto parse = [&words](std::string_view given) -> Result<Enum> {
        std::string known;
        for (const Word<Enum>& one : words) {
            if (one.word == given) {
                return one.value;
            }
            known += (known.empty() ? "" : ", ") + std::string(one.word);
        }
        return wrong("is none of " + known);
    };
    return scalar(name, "word", doc, access, parse, [&words](Enum value) {
        for (const Word<Enum>& one : words) {
            if (one.value == value) {
                return std::string(one.word);
            }
        }
        return std::string("?");
    });
}

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

#define PRESENCED_FIELD(path)      \
    [](Config & config) -> auto& { \
        return config.path;        \
    }

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
    keys.push_back(duration("auth.jwks_refresh", "How often a URL is fetched anyway.",
                            PRESENCED_FIELD(node.auth.jwks_refresh)));
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

void add_room_limit_keys(std::vector<ConfigKey>& keys) {
    keys.push_back(number("limits.room_members", "Members of a room that are listed.",
                          PRESENCED_FIELD(node.limits.room_members), 1, 10'000));
    keys.push_back(number("limits.room_total", "Members of a room on one node.",
                          PRESENCED_FIELD(node.limits.room_total), 1, 1'000'000));
    keys.push_back(number("limits.rooms_per_connection", "Rooms that a connection is in or hears.",
                          PRESENCED_FIELD(node.limits.rooms_per_connection), 1, 10'000));
    keys.push_back(
        number("limits.rooms", "Rooms of the node.", PRESENCED_FIELD(node.limits.rooms)));
    keys.push_back(real("limits.joins_per_second", "Joins of one connection.",
                        PRESENCED_FIELD(node.limits.joins_per_second)));
    keys.push_back(
        real("limits.joins_burst", "The same at once.", PRESENCED_FIELD(node.limits.joins_burst)));
    keys.push_back(real("limits.room_signals_per_second",
                        "Deliveries of signals of one room by one thread.",
                        PRESENCED_FIELD(node.limits.room_signals_per_second)));
    keys.push_back(real("limits.room_signals_burst", "The same at once.",
                        PRESENCED_FIELD(node.limits.room_signals_burst)));
}

void add_limit_keys(std::vector<ConfigKey>& keys) {
    const std::size_t first = keys.size();
    add_room_limit_keys(keys);
    keys.push_back(number("limits.sessions_per_user", "Sessions of one user.",
                          PRESENCED_FIELD(node.limits.sessions_per_user), 1, 1'000));
    keys.push_back(number("limits.watch", "Users watched by one connection.",
                          PRESENCED_FIELD(node.limits.watch), 1, 10'000));
    keys.push_back(number("limits.query_users", "Users in one REST query.",
                          PRESENCED_FIELD(node.limits.query_users), 1, 10'000));
    keys.push_back(number("limits.message_bytes", "Largest message after welcome.",
                          PRESENCED_FIELD(node.limits.message_bytes), 8'192, 16'777'216));
    keys.push_back(number("limits.hello_bytes", "Largest message before welcome.",
                          PRESENCED_FIELD(node.limits.hello_bytes), 1'024, 1'048'576));
    keys.push_back(number("limits.custom_status_text", "Code points of a custom status.",
                          PRESENCED_FIELD(node.limits.custom_status_text), 1, 1'000));
    keys.push_back(number("limits.send_queue_bytes", "Unsent bytes of one connection.",
                          PRESENCED_FIELD(node.limits.send_queue_bytes), 16'384, 1'073'741'824));
    keys.push_back(number("limits.list_users", "Users in a contact or block list, or in a rule.",
                          PRESENCED_FIELD(node.limits.list_users), 1, 1'000'000));
    keys.push_back(real("limits.messages_per_second", "Messages of one connection.",
                        PRESENCED_FIELD(node.limits.messages_per_second)));
    keys.push_back(real("limits.messages_burst", "The same at once.",
                        PRESENCED_FIELD(node.limits.messages_burst)));
    keys.push_back(real("limits.status_per_second", "Status changes of one user.",
                        PRESENCED_FIELD(node.limits.status_per_second)));
    keys.push_back(real("limits.status_burst", "The same at once.",
                        PRESENCED_FIELD(node.limits.status_burst)));
    keys.push_back(real("limits.signals_per_second", "Signals of one connection.",
                        PRESENCED_FIELD(node.limits.signals_per_second)));
    keys.push_back(real("limits.signals_burst", "The same at once.",
                        PRESENCED_FIELD(node.limits.signals_burst)));
    keys.push_back(real("limits.lookups_per_second", "Users looked up by one connection.",
                        PRESENCED_FIELD(node.limits.lookups_per_second)));
    keys.push_back(real("limits.lookups_burst", "The same at once.",
                        PRESENCED_FIELD(node.limits.lookups_burst)));
    keys.push_back(real("limits.errors_per_second", "Mistakes of one connection.",
                        PRESENCED_FIELD(node.limits.errors_per_second)));
    keys.push_back(real("limits.errors_burst", "The same at once.",
                        PRESENCED_FIELD(node.limits.errors_burst)));
    keys.push_back(real("limits.rest_per_second", "REST calls of one user.",
                        PRESENCED_FIELD(node.limits.rest_per_second)));
    keys.push_back(
        real("limits.rest_burst", "The same at once.", PRESENCED_FIELD(node.limits.rest_burst)));
    keys.push_back(number("limits.readers_per_user", "Streams and waiting polls of one user.",
                          PRESENCED_FIELD(node.limits.readers_per_user), 1, 10'000));
    keys.push_back(number("limits.readers", "Streams and waiting polls of the node.",
                          PRESENCED_FIELD(node.limits.readers), 1, 1'000'000));
    keys.push_back(real("limits.accepts_per_second", "New connections of the node.",
                        PRESENCED_FIELD(node.limits.accepts_per_second)));
    keys.push_back(real("limits.accepts_burst", "The same at once.",
                        PRESENCED_FIELD(node.limits.accepts_burst)));
    keys.push_back(real("limits.address_accepts_per_second",
                        "New connections of one address, loopback spared.",
                        PRESENCED_FIELD(node.limits.address_accepts_per_second)));
    keys.push_back(real("limits.address_accepts_burst", "The same at once.",
                        PRESENCED_FIELD(node.limits.address_accepts_burst)));
    keys.push_back(number("limits.address_pending", "Connections of an address before hello.",
                          PRESENCED_FIELD(node.limits.address_pending)));
    keys.push_back(number("limits.connections", "Connections of the node.",
                          PRESENCED_FIELD(node.limits.connections)));
    keys.push_back(number("limits.journal_queue", "Sessions that wait for the journal.",
                          PRESENCED_FIELD(node.limits.journal_queue)));
    keys.push_back(number("limits.last_seen_queue", "Ends that wait for the database.",
                          PRESENCED_FIELD(node.limits.last_seen_queue)));
    keys.push_back(number("limits.last_seen_spool",
                          "Bytes of the file in which ends wait while the database is away.",
                          PRESENCED_FIELD(node.limits.last_seen_spool), 4'096, 1'000'000'000'000));
    keys.back().live = false;
    keys.push_back(number("limits.webhook_queue", "Events that wait for the outbox.",
                          PRESENCED_FIELD(node.limits.webhook_queue)));
    keys.push_back(number("limits.webhook_outbox", "Events in the outbox.",
                          PRESENCED_FIELD(node.limits.webhook_outbox)));
    keys.push_back(number("limits.profile_cache", "Profiles kept in memory by one thread.",
                          PRESENCED_FIELD(node.limits.profile_cache), 64));
    keys.push_back(duration("limits.slow_reader",
                            "A reader that takes nothing that long is closed.",
                            PRESENCED_FIELD(node.limits.slow_reader)));
    keys.push_back(duration("limits.hello_timeout", "From the upgrade to hello.",
                            PRESENCED_FIELD(node.limits.hello_timeout)));
    keys.push_back(duration("limits.attach_timeout", "An attach waits that long for a store.",
                            PRESENCED_FIELD(node.limits.attach_timeout)));
    for (std::size_t i = first; i < keys.size(); ++i) {
        keys[i].live = true;
    }
}

#undef PRESENCED_FIELD

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
