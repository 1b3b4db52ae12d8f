#include "presence/app/config.h"

#include "presence/app/config_fields.h"
#include "presence/app/config_values.h"
#include "presence/app/webhook_config.h"

#include <fmt/format.h>

#include <stdexcept>

// Its parser takes some broken files ("[[[") for an error of its own, and asserts, or assumes that
// there are none. An operator is to be told instead.
#undef NDEBUG
namespace {
[[noreturn]] void refuse(const char* condition) {
    throw std::logic_error(condition);
}
}  // namespace
#define TOML_ASSERT(condition) ((condition) ? void() : refuse(#condition))
#include <toml++/toml.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <thread>
#include <unistd.h>

namespace presence::app {

namespace {

Error unknown_key(std::string_view name) {
    const std::string_view nearest = nearest_key(name);
    return wrong_value(
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
        return wrong_value(
            fmt::format("{}: {} {}", name, log::quoted(shown, 80), set.error().message));
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
    return wrong_value("is of no type that a key takes");
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
                    return wrong_value(full + " " + text.error().message);
                }
                value.push_back(std::move(*text));
            }
        } else {
            Result<std::string> text = as_text(node);
            if (!text) {
                return wrong_value(full + " " + text.error().message);
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
        return wrong_value(fmt::format("{}: line {}: {}", path, error.source().begin.line,
                                       std::string(error.description())));
    } catch (const std::logic_error&) {
        return wrong_value(fmt::format("{}: is no TOML", path));
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
        return wrong_value(
            fmt::format("heartbeat.profile: {} is none of default, mobile, collaboration",
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
            return wrong_value(fmt::format("PRESENCED_{}: {}", name, applied.error().message));
        }
    }
    for (const std::string& set : sources.sets) {
        const std::size_t equals = set.find('=');
        if (equals == std::string::npos) {
            return wrong_value(
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

/// What the node is given of keys whose values have a form of their own.
Result<bool> prepare_node(Config& config) {
    Result<bool> webhooks = prepare_webhooks(config.node.webhooks, config.webhook_secrets);
    if (!webhooks) {
        return webhooks;
    }
    Result<net::Networks> proxies = net::Networks::parse(config.trusted_proxies);
    if (!proxies) {
        return wrong_value("proxies.trusted: " + proxies.error().message);
    }
    config.node.proxies = std::move(*proxies);
    if (redis::is_redis_url(config.store_url)) {
        Result<redis::RedisConfig> shared = redis::parse_redis_url(config.store_url);
        if (!shared) {
            return wrong_value("store.url: " + shared.error().message);
        }
        config.node.redis = std::move(*shared);
    }
    return true;
}

}  // namespace

std::size_t default_threads() {
    return std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, 64);
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
        return wrong_value("--demo hands out tokens to anybody, so it needs --dev");
    }
    if (!config.node.auth.secrets.empty()) {
        config.node.demo_secret = config.node.auth.secrets.front();
    }
    place_files(config);
    Result<bool> prepared = prepare_node(config);
    if (!prepared) {
        return prepared.error();
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
