#pragma once

#include "presence/app/node.h"
#include "presence/base/log.h"
#include "presence/base/result.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace presence::app {

/// Gateway threads if nothing is said: one a core, 64 at most.
[[nodiscard]] std::size_t default_threads();

/// All of the configuration: the node's, and what the process needs besides.
struct Config {
    Config() { node.threads = default_threads(); }

    NodeConfig node;
    std::string data_dir = "data";
    std::string store_url = "memory:";
    std::string database_url = "sqlite:presenced.db";
    std::vector<std::string> webhook_secrets;  ///< webhooks.secret
    std::vector<std::string> trusted_proxies;  ///< proxies.trusted
    std::string profile = "default";           ///< heartbeat.profile
    std::string log_level = "info";
    std::string log_format = "text";
    bool dev = false;
};

/// Where a configuration comes from, in the order in which later wins: file, environment, command
/// line. `--dev` and `--demo` count as defaults below all of them.
struct ConfigSources {
    std::string file{};                                              ///< TOML; empty: none.
    std::vector<std::pair<std::string, std::string>> environment{};  ///< PRESENCED_SECTION_KEY.
    std::vector<std::string> sets{};                                 ///< "key=value".
    bool dev = false;
    bool demo = false;
};

/// Reads and checks a configuration.
/// @retval ErrorCode::bad_request  An unknown key, a value out of bounds, an impossible relation;
///                                 the message names key, value and bound.
[[nodiscard]] Result<Config> load_config(const ConfigSources& sources);

/// Relations between keys. Called by load_config.
[[nodiscard]] Result<bool> validate(const Config& config);

/// Whether the files that `config` names can be read and hold what they should: all that a start
/// would refuse, short of opening stores and the port.
/// @retval ErrorCode::bad_request  The message names the key and the file.
[[nodiscard]] Result<bool> check_files(const Config& config);

/// `presenced config`: all keys with default, unit and meaning, one line each.
[[nodiscard]] std::string describe_keys();

/// This process's PRESENCED_* variables.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> environment_variables();

}  // namespace presence::app
