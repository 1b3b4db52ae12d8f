#include "presence/protocol/error_map.h"

namespace presence::protocol {

int http_status(ErrorCode code) noexcept {
    switch (code) {
        case ErrorCode::bad_request:
            return 400;
        case ErrorCode::unauthorized:
            return 401;
        case ErrorCode::forbidden:
            return 403;
        case ErrorCode::not_found:
            return 404;
        case ErrorCode::too_large:
            return 413;
        case ErrorCode::limit_exceeded:
        case ErrorCode::rate_limited:
            return 429;
        case ErrorCode::conflict:
            return 409;
        case ErrorCode::unavailable:
            return 503;
        case ErrorCode::internal:
            return 500;
    }
    return 500;
}

std::optional<ErrorCode> error_code_named(std::string_view word) noexcept {
    for (const ErrorCode code : kErrorCodes) {
        if (wire_name(code) == word) {
            return code;
        }
    }
    return std::nullopt;
}

}  // namespace presence::protocol
