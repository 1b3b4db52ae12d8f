#pragma once

#include "presence/base/time.h"
#include "presence/net/server.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace presence::gateway {

/// What a gateway does with the WebSockets of its thread; each call as that of net::Server, which
/// says more. The simulation has another one, without sockets.
class Sockets {
public:
    virtual ~Sockets() = default;

    virtual bool accept_websocket(net::ConnectionId id, std::string_view subprotocol,
                                  net::UserTag tag) = 0;
    virtual net::SendResult send_text(net::ConnectionId id, std::string_view text) = 0;
    virtual net::SendResult send_text_shared(net::ConnectionId id,
                                             const std::shared_ptr<const std::string>& frame) = 0;
    virtual void send_ping(net::ConnectionId id) = 0;
    virtual void close(net::ConnectionId id, std::uint16_t code, std::string_view reason) = 0;
    virtual void resume_reading(net::ConnectionId id) = 0;
    /// It has said a good hello: no longer a stranger, and its messages may be that large.
    virtual void admit(net::ConnectionId id, std::uint32_t message_bytes) = 0;
    [[nodiscard]] virtual bool is_blocked(net::ConnectionId id) const = 0;
    [[nodiscard]] virtual std::optional<MonoTime> blocked_since(net::ConnectionId id) const = 0;
    [[nodiscard]] virtual net::DetachedConnection release(net::ConnectionId id) = 0;
    virtual net::ConnectionId adopt(net::DetachedConnection connection, net::UserTag tag) = 0;
    /// What was collected for watchers goes out soon (Loop::request_batch_end).
    virtual void request_batch_end() = 0;
};

/// Those of a net::Server.
class ServerSockets final : public Sockets {
public:
    ServerSockets(net::Server& server, Loop& loop) : server_(server), loop_(loop) {}

    bool accept_websocket(net::ConnectionId id, std::string_view subprotocol,
                          net::UserTag tag) override {
        return server_.accept_websocket(id, subprotocol, tag);
    }
    net::SendResult send_text(net::ConnectionId id, std::string_view text) override {
        return server_.send_text(id, text);
    }
    net::SendResult send_text_shared(net::ConnectionId id,
                                     const std::shared_ptr<const std::string>& frame) override {
        return server_.send_text_shared(id, frame);
    }
    void send_ping(net::ConnectionId id) override { server_.send_ping(id); }
    void close(net::ConnectionId id, std::uint16_t code, std::string_view reason) override {
        server_.close(id, code, reason);
    }
    void resume_reading(net::ConnectionId id) override { server_.resume_reading(id); }
    void admit(net::ConnectionId id, std::uint32_t message_bytes) override {
        server_.set_admitted(id);
        server_.set_message_limit(id, message_bytes);
    }
    [[nodiscard]] bool is_blocked(net::ConnectionId id) const override {
        return server_.is_blocked(id);
    }
    [[nodiscard]] std::optional<MonoTime> blocked_since(net::ConnectionId id) const override {
        return server_.blocked_since(id);
    }
    [[nodiscard]] net::DetachedConnection release(net::ConnectionId id) override {
        return server_.release(id);
    }
    net::ConnectionId adopt(net::DetachedConnection connection, net::UserTag tag) override {
        return server_.adopt(std::move(connection), tag);
    }
    void request_batch_end() override { loop_.request_batch_end(); }

private:
    net::Server& server_;
    Loop& loop_;
};

}  // namespace presence::gateway
