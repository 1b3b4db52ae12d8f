#pragma once

#include <boost/system/result.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace presence {

/// What a caller can do about a failure. One code for each different reaction; the words of
/// PROTOCOL.md section 1, "Error codes", are these in camelCase.
enum class ErrorCode : std::uint8_t {
    bad_request,     ///< The caller's mistake. Tell it; never retry.
    unauthorized,    ///< No valid credential.
    forbidden,       ///< Known, but not allowed.
    not_found,       ///< No such user, session or setting.
    too_large,       ///< More bytes than a limit allows.
    limit_exceeded,  ///< A limit on a number of things is reached.
    rate_limited,    ///< Too often. `retry_after_ms` says when it may succeed.
    conflict,        ///< Someone changed it first. Read again, then try again.
    unavailable,     ///< A store or bus is down. Retry with backoff; show `unknown`.
    internal,        ///< A bug or an exhausted resource on this side.
};

/// An expected failure, passed as a value. A broken invariant is no Error: it is an assertion.
struct Error {
    ErrorCode code = ErrorCode::internal;
    std::string message;              ///< For people: names the field and the bound. No secrets.
    std::int64_t retry_after_ms = 0;  ///< 0: not said.
    std::int64_t limit = 0;           ///< The limit that was hit, 0: not said.
};

template <class T>
using Result = boost::system::result<T, Error>;

/// The word for `code` on the wire.
[[nodiscard]] std::string_view wire_name(ErrorCode code) noexcept;

/// Whether the same request may succeed later, unchanged.
[[nodiscard]] constexpr bool is_temporary(ErrorCode code) noexcept {
    return code == ErrorCode::rate_limited || code == ErrorCode::unavailable ||
           code == ErrorCode::conflict || code == ErrorCode::internal;
}

/// `value()` on a failed Result is a bug in the caller, so it stops the process.
[[noreturn]] void throw_exception_from_error(const Error& error,
                                             const boost::source_location& where);

}  // namespace presence
