#include "presence/app/config.h"

#include "presence/app/config_keys.h"
#include "presence/app/config_values.h"
#include "presence/app/webhook_config.h"
#include "presence/stores/postgres/connection.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <thread>
#include <unistd.h>

namespace presence::app {

namespace {

Error wrong(std::string message) {
    return {ErrorCode::bad_request, std::move(message), 0, 0};
}

Error unknown_key(std::string_view name) {
    const std::string_view nearest = nearest_key(name);
    return wrong(
        nearest.empty()
            ? fmt::format("{} is no known key; `presenced config` lists all", log::quoted(name, 80))
            : fmt::format("{} is no known key; did you mean {}?", log::quoted(name, 80), nearest));
}

Result<bool> apply(Config& config, std::string_view name, const ConfigValue& value) {
    const ConfigKey* const key = find_key(name);
    if (key == nullptr) {
        return unknown_key(name);
    }
    Result<bool> set = key->set(config, value);
    if (!set) {
        const std::string shown =
            key->secret ? std::string("its value") : fmt::format("{}", fmt::join(value, ","));
        return wrong(fmt::format("{}: {} {}", name, log::quoted(shown, 80), set.error().message));
    }
    return true;
}

ConfigValue split(std::string_view name, std::string_view text) {
    const ConfigKey* const key = find_key(name);
    if (key == nullptr || key->unit != "list of texts") {
        return {std::string(text)};
    }
    ConfigValue items;
    while (!text.empty()) {
        const std::size_t comma = text.find(',');
        items.emplace_back(text.substr(0, comma));
        text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    }
    return items;
}

Result<std::string> as_text(const toml::node& node) {
    if (const auto text = node.value_exact<std::string>()) {
        return *text;
    }
    if (const auto number = node.value_exact<std::int64_t>()) {
        return std::to_string(*number);
    }
    if (const auto real = node.value_exact<double>()) {
        return fmt::format("{}", *real);
    }
    if (const auto flag = node.value_exact<bool>()) {
        return std::string(*flag ? "true" : "false");
    }
    return wrong("is of no type that a key takes");
}

Result<bool> apply_table(Config& config, const toml::table& table, const std::string& prefix) {
    for (const auto& [name, node] : table) {
        const std::string full = prefix + std::string(name.str());
        if (const toml::table* inner = node.as_table()) {
            Result<bool> applied = apply_table(config, *inner, full + ".");
            if (!applied) {
                return applied;
            }
            continue;
        }
        ConfigValue value;
        if (const toml::array* array = node.as_array()) {
            for (const toml::node& item : *array) {
                Result<std::string> text = as_text(item);
                if (!text) {
                    return wrong(full + " " + text.error().message);
                }
                value.push_back(std::move(*text));
            }
        } else {
            Result<std::string> text = as_text(node);
            if (!text) {
                return wrong(full + " " + text.error().message);
            }
            value.push_back(std::move(*text));
        }
        Result<bool> applied = apply(config, full, value);
        if (!applied) {
            return applied;
        }
    }
    return true;
}

Result<bool> apply_file(Config& config, const std::string& path) {
    try {
        const toml::table table = toml::parse_file(path);
        return apply_table(config, table, "");
    } catch (const toml::parse_error& error) {
        return wrong(fmt::format("{}: line {}: {}", path, error.source().begin.line,
                                 std::string(error.description())));
    }
}

/// PRESENCED_HEARTBEAT_TTL -> heartbeat.ttl; the first `_` parts section and key, as no section's
/// name holds one.
std::string key_of_variable(std::string_view name) {
    std::string key(name);
    std::ranges::transform(key, key.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (find_key(key) == nullptr) {
        const std::size_t at = key.find('_');
        if (at != std::string::npos) {
            key[at] = '.';
        }
    }
    return key;
}

Result<bool> apply_profile(Config& config) {
    if (config.profile == "default" || config.profile == "mobile") {
        config.node.core.heartbeat = {};
    } else if (config.profile == "collaboration") {
        config.node.core.heartbeat = {Millis{15'000}, Millis{55'000}, Millis{5'000}};
    } else {
        return wrong(fmt::format("heartbeat.profile: {} is none of default, mobile, collaboration",
                                 log::quoted(config.profile, 80)));
    }
    return true;
}

void apply_dev(Config& config) {
    config.dev = true;
    config.node.listen = "127.0.0.1:8080";
    config.node.auth.secrets = {"dev"};
    config.node.api_keys = {"dev"};
    config.node.allowed_origins = {"*"};
    config.node.core.privacy.last_seen.audience = Audience::everyone;
}

Result<bool> apply_all(Config& config, const ConfigSources& sources) {
    if (!sources.file.empty()) {
        Result<bool> applied = apply_file(config, sources.file);
        if (!applied) {
            return applied;
        }
    }
    for (const auto& [name, value] : sources.environment) {
        const std::string key = key_of_variable(name);
        Result<bool> applied = apply(config, key, split(key, value));
        if (!applied) {
            return wrong(fmt::format("PRESENCED_{}: {}", name, applied.error().message));
        }
    }
    for (const std::string& set : sources.sets) {
        const std::size_t equals = set.find('=');
        if (equals == std::string::npos) {
            return wrong(
                fmt::format("--set {} is not of the form key=value", log::quoted(set, 80)));
        }
        const std::string key = set.substr(0, equals);
        Result<bool> applied = apply(config, key, split(key, set.substr(equals + 1)));
        if (!applied) {
            return applied;
        }
    }
    return true;
}

Result<bool> is_loopback(std::string_view listen) {
    const std::string_view host = listen.substr(0, listen.rfind(':'));
    const bool is_number = host.find_first_not_of("0123456789.") == std::string_view::npos;
    if ((host.starts_with("127.") && is_number) || host == "[::1]") {
        return true;
    }
    return wrong(
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
            return wrong(
                "auth.allowed_origins is *, which auth.cookie forbids: any page could act "
                "as its visitor; name the origins");
        }
        if (origin != "*" && !is_origin(origin)) {
            return wrong(
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
                    : wrong(fmt::format("auth.cookie: {} is no name of a cookie",
                                        log::quoted(name, 80)));
}

bool is_postgres(std::string_view url) {
    return url.starts_with("postgres");
}

Result<bool> check_database(const Config& config) {
    const std::string& url = config.database_url;
    if (is_postgres(url)) {
        Result<bool> checked = postgres::check_url(url);
        if (!checked) {
            return wrong("database.url " + checked.error().message);
        }
        return true;
    }
    if (url != "memory:" && (!url.starts_with("sqlite:") || url == "sqlite:")) {
        return wrong("database.url is none of sqlite:FILE, postgresql://USER@HOST/NAME, memory:");
    }
    return true;
}

/// Where the durable things of `config` stand.
void place_files(Config& config) {
    constexpr std::string_view kSqlite = "sqlite:";
    const std::filesystem::path folder(config.data_dir);
    NodeConfig& node = config.node;
    if (config.database_url.starts_with(kSqlite)) {
        const std::filesystem::path file = config.database_url.substr(kSqlite.size());
        node.database_path = (file.is_absolute() ? file : folder / file).string();
    } else if (is_postgres(config.database_url)) {
        node.postgres_url = config.database_url;
        node.database_path = (folder / "journal.db").string();
    }
    if (!node.database_path.empty()) {
        node.spool_path = (folder / "last_seen.spool").string();
    }
}

Result<bool> check_log(const Config& config) {
    constexpr std::array<std::string_view, 5> kLevels{"debug", "info", "warning", "error", "off"};
    if (std::ranges::find(kLevels, config.log_level) == kLevels.end()) {
        return wrong(fmt::format("log.level: {} is none of debug, info, warning, error, off",
                                 log::quoted(config.log_level, 80)));
    }
    if (config.log_format != "text" && config.log_format != "json") {
        return wrong(fmt::format("log.format: {} is neither text nor json",
                                 log::quoted(config.log_format, 80)));
    }
    return true;
}

}  // namespace

std::size_t default_threads() {
    return std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, 64);
}

Result<bool> validate(const Config& config) {
    Result<bool> heartbeat = config.node.core.heartbeat.validate();
    if (!heartbeat) {
        return heartbeat;
    }
    const NodeConfig& node = config.node;
    if (node.core.presence.idle_after < Millis{1'000}) {
        return wrong(fmt::format("presence.idle_after is {}, least is 1s",
                                 show_duration(node.core.presence.idle_after)));
    }
    if (node.auth.leeway > Millis{60'000}) {
        return wrong(
            fmt::format("auth.leeway is {}, most is 60s", show_duration(node.auth.leeway)));
    }
    if (node.auth.secrets.empty() && node.auth.public_keys.empty() && node.auth.jwks.empty()) {
        return wrong(
            "auth.secret, auth.public_keys and auth.jwks are all empty: no token could "
            "ever be checked; set one of them, or start with --dev");
    }
    if (config.dev) {
        Result<bool> loopback = is_loopback(node.listen);
        if (!loopback) {
            return loopback;
        }
    } else if (std::ranges::find(node.auth.secrets, "dev") != node.auth.secrets.end() ||
               std::ranges::find(node.api_keys, "dev") != node.api_keys.end()) {
        return wrong("auth.secret or auth.api_keys is the word dev, which everybody knows");
    }
    if (node.tls_certificate.empty() != node.tls_key.empty()) {
        return wrong("tls.certificate and tls.key go together: one of them is empty");
    }
    if (config.store_url != "memory:" && !redis::is_redis_url(config.store_url)) {
        return wrong(
            "store.url is neither memory: nor a URL of redis, rediss, redis-cluster or "
            "rediss-cluster");
    }
    Result<bool> database = check_database(config);
    if (!database) {
        return database;
    }
    if (node.limits.hello_bytes > node.limits.message_bytes) {
        return wrong(fmt::format("limits.hello_bytes is {}, most is limits.message_bytes, {}",
                                 node.limits.hello_bytes, node.limits.message_bytes));
    }
    Result<bool> origins = check_origins(config);
    if (!origins) {
        return origins;
    }
    Result<bool> cookie = check_cookie(config);
    if (!cookie) {
        return cookie;
    }
    return check_log(config);
}

Result<Config> load_config(const ConfigSources& sources) {
    // The profile is a default below all single keys, so it must be known first.
    Config probe;
    if (sources.dev) {
        apply_dev(probe);
    }
    Result<bool> probed = apply_all(probe, sources);
    if (!probed) {
        return probed.error();
    }
    Config config;
    config.profile = probe.profile;
    Result<bool> profiled = apply_profile(config);
    if (!profiled) {
        return profiled.error();
    }
    if (sources.dev) {
        apply_dev(config);
    }
    Result<bool> applied = apply_all(config, sources);
    if (!applied) {
        return applied.error();
    }
    config.node.demo = sources.demo;
    if (sources.demo && !sources.dev) {
        return wrong("--demo hands out tokens to anybody, so it needs --dev");
    }
    if (!config.node.auth.secrets.empty()) {
        config.node.demo_secret = config.node.auth.secrets.front();
    }
    place_files(config);
    Result<bool> prepared = prepare_webhooks(config.node.webhooks, config.webhook_secrets);
    if (!prepared) {
        return prepared.error();
    }
    if (redis::is_redis_url(config.store_url)) {
        Result<redis::RedisConfig> shared = redis::parse_redis_url(config.store_url);
        if (!shared) {
            return wrong("store.url: " + shared.error().message);
        }
        config.node.redis = std::move(*shared);
    }
    Result<bool> valid = validate(config);
    if (!valid) {
        return valid.error();
    }
    return config;
}

std::string describe_keys() {
    const Config defaults;
    std::string text;
    for (const ConfigKey& key : config_keys()) {
        text += fmt::format("{} = {}  # {}; {}{}\n", key.name, key.show(defaults), key.unit,
                            key.doc, key.live ? " (SIGHUP reloads it)" : "");
    }
    return text;
}

std::vector<std::pair<std::string, std::string>> environment_variables() {
    constexpr std::string_view kPrefix = "PRESENCED_";
    std::vector<std::pair<std::string, std::string>> found;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        const std::size_t equals = text.find('=');
        // PRESENCED_BIN and the like are the tests' own and have no section.
        if (text.starts_with(kPrefix) && equals != std::string_view::npos &&
            text.substr(0, equals) != "PRESENCED_BIN") {
            found.emplace_back(text.substr(kPrefix.size(), equals - kPrefix.size()),
                               text.substr(equals + 1));
        }
    }
    return found;
}

}  // namespace presence::app
