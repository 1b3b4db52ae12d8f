#include "presence/protocol/error_json.h"

namespace presence::protocol {

void append_error_fields(ObjectWriter& object, const Error& error) {
    object.text("code", wire_name(error.code));
    object.text("message", error.message);
    object.boolean("temporary", is_temporary(error.code));
    if (error.retry_after_ms > 0) {
        object.integer("retryAfterMs", error.retry_after_ms);
    }
    if (error.limit > 0) {
        object.integer("limit", error.limit);
    }
}

}  // namespace presence::protocol
