#pragma once

#include "presence/base/time.h"

#include <cstddef>
#include <cstdint>

namespace presence::net {

/// Every bound of one Server (one thread), each with its reason. Plain values: set before the
/// server starts, or replaced on its thread with Server::set_limits.
struct NetLimits {
    /// Request line and header fields of one request. Browsers with large cookies stay below it.
    /// Past it: 431.
    std::uint32_t http_head_bytes = 8 * 1024;

    /// Body of one request; a query of 1,000 ids of 128 bytes fits. Past it: 413.
    std::uint32_t http_body_bytes = 256 * 1024;

    /// Body of one request that Handler::may_be_large, so that only known callers can make the
    /// server hold so much. 0: no request may be larger than others.
    std::uint32_t http_large_body_bytes = 0;

    /// A request's head must be whole this long after the connection or its first byte, so that
    /// slow senders do not hold descriptors. Covers the TLS handshake too. Past it: 408.
    Millis http_head_timeout{10'000};

    /// The same for the body, from the end of the head.
    Millis http_body_timeout{30'000};

    /// An idle keep-alive connection is closed after this.
    Millis http_idle_timeout{60'000};

    /// An answer of which the client takes no byte for this long is given up.
    Millis http_write_timeout{30'000};

    /// Bytes of pipelined requests that are kept while an earlier one is being answered; beyond
    /// it the socket is not read.
    std::uint32_t http_pipelined_bytes = 64 * 1024;

    /// Size of a WebSocket message until Server::set_message_limit raises it.
    std::uint32_t message_bytes_before_welcome = 16 * 1024;

    /// Frames of one message, so that empty ones cannot go on for ever. Past it: 1008.
    std::uint32_t message_fragments = 1024;

    /// A message begun must be whole after this. Past it: 1008.
    Millis message_timeout{30'000};

    /// Bytes kept for a connection whose socket takes none. Above it sends say `overflow` and the
    /// caller should close: presence is kept as state, so a queue never needs to be long.
    std::uint32_t send_queue_bytes = 256 * 1024;

    /// How long a Close frame may wait, for room in the socket and for the peer's answer, before
    /// TCP is closed all the same.
    Millis close_timeout{2'000};

    /// Connections not yet admitted (Server::set_admitted) from one address; loopback is free.
    /// Wide enough for an office or a carrier's NAT that reconnects at once. Of all servers that
    /// share a Strangers.
    std::uint32_t unadmitted_per_address = 512;

    /// The same over all addresses: bounds what strangers can make the servers hold.
    std::uint32_t unadmitted_total = 16'384;

    /// Whether loopback counts like any other address.
    bool limit_loopback = false;

    /// Connections accepted in one go, so that a wave of them does not hold up heartbeats.
    std::uint32_t accepts_per_wakeup = 64;

    /// Pause of accepting when descriptors run out: doubles from the first to the second.
    Millis accept_pause_least{100};
    Millis accept_pause_most{2'000};
};

}  // namespace presence::net
