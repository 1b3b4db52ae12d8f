#pragma once

#include "presence/api/api.h"

namespace presence::app {

/// What the build put into the binary: protocol.json, openapi.yaml, the demo page.
[[nodiscard]] api::Assets load_assets();

}  // namespace presence::app
