#pragma once

#include "presence/api/api.h"

namespace presence::app {

/// What the build put into the binary: protocol.json, openapi.yaml, the demo and operator pages.
[[nodiscard]] api::Assets load_assets();

}  // namespace presence::app
