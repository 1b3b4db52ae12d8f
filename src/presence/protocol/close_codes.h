#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace presence::protocol {

/// Why the server closes a WebSocket. The reason word begins the close reason and is stable;
/// several words share a code. protocol/protocol.json tells the same to clients as data.
enum class CloseReason : std::uint8_t {
    bye,                ///< The client said goodbye; its session is over.
    going_away,         ///< This end goes away.
    protocol_error,     ///< A frame broke RFC 6455.
    unsupported_data,   ///< A binary message.
    invalid_utf8,       ///< A text message was not UTF-8.
    policy,             ///< Too many fragments, or a message never finished.
    message_too_large,  ///< More bytes than allowed.
    restarting,         ///< The drain is over; the session is in grace.
    overloaded,         ///< This node cannot take the connection now.
    unavailable,        ///< A store that it needs does not answer.
    bad_hello,          ///< The first message was not a valid hello.
    token_missing,
    token_refused,
    token_expired,
    token_revoked,
    token_other_user,
    kicked,     ///< Ended by a back end.
    erased,     ///< The user was erased.
    forbidden,  ///< Beyond the token's rights.
    hello_timeout,
    heartbeat_timeout,
    slow_reader,
    replaced,  ///< The session was resumed elsewhere, or had to make room.
    too_many_sessions,
    too_many_connections,
    too_many_messages,
};
inline constexpr std::size_t kCloseReasons = 26;

/// What a client should do after a close.
enum class ClientAction : std::uint8_t {
    stop,                  ///< Not reconnect by itself.
    fix,                   ///< Stop: what was sent will be refused again.
    reconnect,             ///< With backoff, then resume.
    reconnect_after_hint,  ///< After `reconnect.afterMs` or `retryAfterMs`, else with backoff.
    refresh_token,         ///< Fetch a new token, then reconnect.
};

struct CloseInfo {
    CloseReason reason;
    std::uint16_t code;
    std::string_view word;
    ClientAction action;
};

/// The row of `reason` in the table of close_codes.cc.
[[nodiscard]] const CloseInfo& close_info(CloseReason reason) noexcept;
/// The whole table, in the order of the enumerators.
[[nodiscard]] const std::array<CloseInfo, kCloseReasons>& close_table() noexcept;

[[nodiscard]] std::string_view wire_name(ClientAction action) noexcept;

/// What a client should do after `code`, given by this release or not: unknown 44xx stop, anything
/// else reconnect.
[[nodiscard]] ClientAction action_after(std::uint16_t code) noexcept;

}  // namespace presence::protocol
