#include "presence/base/result.h"

#include "presence/base/assert.h"

namespace presence {

std::string_view wire_name(ErrorCode code) noexcept {
    switch (code) {
        case ErrorCode::bad_request:
            return "badRequest";
        case ErrorCode::unauthorized:
            return "unauthorized";
        case ErrorCode::forbidden:
            return "forbidden";
        case ErrorCode::not_found:
            return "notFound";
        case ErrorCode::too_large:
            return "tooLarge";
        case ErrorCode::limit_exceeded:
            return "limitExceeded";
        case ErrorCode::rate_limited:
            return "rateLimited";
        case ErrorCode::conflict:
            return "conflict";
        case ErrorCode::unavailable:
            return "unavailable";
        case ErrorCode::internal:
            return "internal";
    }
    return "internal";
}

void throw_exception_from_error(const Error& error, const boost::source_location& where) {
    assertion_failed(error.message.c_str(), where.file_name(), static_cast<int>(where.line()));
}

}  // namespace presence
