#include "presence/protocol/expiry.h"

#include "presence/protocol/limits.h"

#include <string>

namespace presence::protocol {

namespace {

Error refusal(std::string_view field, std::string_view name, std::string_view what) {
    return {ErrorCode::bad_request, std::string(field).append(name).append(": ").append(what)};
}

}  // namespace

Result<std::optional<WallTime>> resolve(const Expiry& expiry, WallTime now,
                                        std::string_view field) {
    if (const auto* at = std::get_if<WallTime>(&expiry)) {
        if (*at <= now) {
            return refusal(field, "expiresAt", "is not in the future");
        }
        return std::optional(*at);
    }
    if (const auto* in = std::get_if<Millis>(&expiry)) {
        if (in->count() > kMaxInteger - now.ms()) {
            return refusal(field, "expiresInMs", "ends beyond 9007199254740991");
        }
        return std::optional(now + *in);
    }
    return std::optional<WallTime>();
}

}  // namespace presence::protocol
