#include "presence/protocol/close_codes.h"

#include <algorithm>

namespace presence::protocol {

namespace {

using enum CloseReason;
using Action = ClientAction;

constexpr std::array<CloseInfo, kCloseReasons> kTable{{
    {bye, 1000, "bye", Action::stop},
    {going_away, 1001, "going_away", Action::reconnect},
    {protocol_error, 1002, "protocol_error", Action::fix},
    {unsupported_data, 1003, "unsupported_data", Action::fix},
    {invalid_utf8, 1007, "invalid_utf8", Action::fix},
    {policy, 1008, "policy", Action::fix},
    {message_too_large, 1009, "message_too_large", Action::fix},
    {restarting, 1012, "restarting", Action::reconnect_after_hint},
    {overloaded, 1013, "overloaded", Action::reconnect_after_hint},
    {unavailable, 1013, "unavailable", Action::reconnect_after_hint},
    {bad_hello, 4400, "bad_hello", Action::fix},
    {token_missing, 4401, "token_missing", Action::refresh_token},
    {token_refused, 4401, "token_refused", Action::refresh_token},
    {token_expired, 4401, "token_expired", Action::refresh_token},
    {token_revoked, 4401, "token_revoked", Action::refresh_token},
    {token_other_user, 4401, "token_other_user", Action::refresh_token},
    {kicked, 4403, "kicked", Action::stop},
    {erased, 4403, "erased", Action::stop},
    {forbidden, 4403, "forbidden", Action::stop},
    {hello_timeout, 4408, "hello_timeout", Action::reconnect},
    {heartbeat_timeout, 4408, "heartbeat_timeout", Action::reconnect},
    {slow_reader, 4408, "slow_reader", Action::reconnect},
    {replaced, 4409, "replaced", Action::stop},
    {too_many_sessions, 4429, "too_many_sessions", Action::reconnect},
    {too_many_connections, 4429, "too_many_connections", Action::reconnect},
    {too_many_messages, 4429, "too_many_messages", Action::reconnect},
}};

constexpr bool in_order() {
    for (std::size_t i = 0; i < kTable.size(); ++i) {
        if (static_cast<std::size_t>(kTable[i].reason) != i) {
            return false;
        }
    }
    return true;
}
static_assert(in_order(), "a row stands at the place of its enumerator");

}  // namespace

const CloseInfo& close_info(CloseReason reason) noexcept {
    return kTable[static_cast<std::size_t>(reason)];
}

const std::array<CloseInfo, kCloseReasons>& close_table() noexcept {
    return kTable;
}

std::string_view wire_name(ClientAction action) noexcept {
    switch (action) {
        case ClientAction::stop:
            return "stop";
        case ClientAction::fix:
            return "fix";
        case ClientAction::reconnect:
            return "reconnect";
        case ClientAction::reconnect_after_hint:
            return "reconnectAfterHint";
        case ClientAction::refresh_token:
            return "refreshToken";
    }
    return "stop";
}

ClientAction action_after(std::uint16_t code) noexcept {
    const auto* row = std::find_if(kTable.begin(), kTable.end(),
                                   [&](const CloseInfo& one) { return one.code == code; });
    if (row != kTable.end()) {
        return row->action;
    }
    return code >= 4400 && code <= 4499 ? ClientAction::stop : ClientAction::reconnect;
}

}  // namespace presence::protocol
