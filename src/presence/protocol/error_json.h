#pragma once

#include "presence/base/result.h"
#include "presence/protocol/json_writer.h"

namespace presence::protocol {

/// Adds `code`, `message`, `temporary`, and where they are known `retryAfterMs` and `limit`: the
/// same over WebSocket and HTTP.
void append_error_fields(ObjectWriter& object, const Error& error);

}  // namespace presence::protocol
