#pragma once

#include "presence/base/time.h"
#include "presence/net/server.h"

#include <optional>
#include <string_view>

namespace presence::api {

/// The way out to clients whose answers go on: net::Server in production, a record of what was sent
/// in tests. One thread.
class StreamPipe {
public:
    virtual ~StreamPipe() = default;
    /// Whoever calls has shown whose they are, and is no stranger any more.
    virtual void admit(net::ConnectionId id) = 0;
    /// Whether the client of a request is still there, as far as one can tell.
    [[nodiscard]] virtual bool has_client(net::ConnectionId id) const = 0;
    [[nodiscard]] virtual std::optional<MonoTime> blocked_since(net::ConnectionId id) const = 0;
    virtual net::SendResult send(net::ConnectionId id, std::string_view bytes) = 0;
    /// Ends the stream behind what is queued.
    virtual void end(net::ConnectionId id) = 0;
    /// Cuts it off at once.
    virtual void abort(net::ConnectionId id) = 0;
    [[nodiscard]] virtual std::size_t web_sockets() const = 0;
};

}  // namespace presence::api
