#pragma once

#include "presence/net/http.h"

#include <optional>
#include <string>
#include <string_view>

namespace presence::net {

/// What is wrong with a WebSocket handshake, to be answered by net itself.
struct HandshakeFault {
    int status = 400;  ///< 426 goes with the version that is spoken here.
    std::string_view why;
};

/// Looks whether `request` asks for a WebSocket. Sets is_upgrade and subprotocols where it does
/// so well; returns the fault where it does so badly. Other requests are left alone.
[[nodiscard]] std::optional<HandshakeFault> inspect_handshake(HttpRequest& request);

/// The bytes of the 101 answer. `key` is the request's Sec-WebSocket-Key.
[[nodiscard]] std::string encode_accept(std::string_view key, std::string_view subprotocol);

}  // namespace presence::net
