#pragma once

#include "presence/app/config.h"

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace presence::app {

/// What a file, a variable or a `--set` gave for one key: one text, or several.
using ConfigValue = std::vector<std::string>;

/// One key of the configuration.
struct ConfigKey {
    std::string_view name;  ///< "heartbeat.interval"
    std::string_view unit;  ///< "duration", "bytes", "a list of texts", ...
    std::string_view doc;
    bool live = false;    ///< SIGHUP takes a new value.
    bool secret = false;  ///< May be `file:PATH`; its value is in no message.
    std::function<Result<bool>(Config&, const ConfigValue&)> set;
    std::function<std::string(const Config&)> show;
};

/// All keys, in the order in which `presenced config` prints them.
[[nodiscard]] const std::vector<ConfigKey>& config_keys();

/// Null where there is none of that name.
[[nodiscard]] const ConfigKey* find_key(std::string_view name);

/// The known name most like `name`; empty if none is near.
[[nodiscard]] std::string_view nearest_key(std::string_view name);

}  // namespace presence::app
