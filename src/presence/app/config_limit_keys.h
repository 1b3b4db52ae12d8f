#pragma once

#include "presence/app/config_keys.h"

#include <vector>

namespace presence::app {

/// Adds the keys `limits.*`.
void add_limit_keys(std::vector<ConfigKey>& keys);

}  // namespace presence::app
