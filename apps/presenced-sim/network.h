#pragma once

#include "presence/base/random.h"
#include "presence/gateway/gateway.h"
#include "presence/gateway/sockets.h"

#include "process.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace presence::sim {

/// The client's end of a connection.
class Peer {
public:
    virtual ~Peer() = default;
    virtual void on_text(std::uint64_t connection, std::string_view text) = 0;
    /// The end: the code of a Close frame, or 0 where the connection broke.
    virtual void on_end(std::uint64_t connection, std::uint16_t code) = 0;
    /// Answers Pings and Close frames now: false while it is frozen.
    [[nodiscard]] virtual bool is_there() const = 0;
};

/// What happened at the server's end of a session's connection, at that moment, for the checkers.
class ServerSide {
public:
    virtual ~ServerSide() = default;
    virtual void on_welcome(std::uint64_t connection, std::string_view text) = 0;
    virtual void on_frame(std::uint64_t connection) = 0;
    /// Its client signs out: from now on the session may be over.
    virtual void on_bye(std::uint64_t connection) = 0;
    /// The server lost the connection, or closed it with `code`.
    virtual void on_server_end(std::uint64_t connection, std::uint16_t code,
                               std::string_view word) = 0;
};

/// The WebSockets of one process without sockets: frames take their time, one after the other.
/// Connections of a dead process break, or stay silent if the machine died with it.
class Network final : public gateway::Sockets {
public:
    Network(VirtualScheduler& scheduler, ProcessScheduler& process, ServerSide& side,
            std::uint64_t first, std::uint64_t seed)
        : scheduler_(scheduler), process_(process), side_(side), last_(first), random_(seed) {}

    void set_gateway(gateway::Gateway* gateway) { gateway_ = gateway; }
    /// Each frame takes as long as any other.
    void set_even(bool even) { even_ = even; }

    // -- The client's side -----------------------------------------------------------------------
    /// @param peer  Called until it hears of the end or lets go.
    [[nodiscard]] std::uint64_t open(Peer& peer);
    void say(std::uint64_t connection, std::string text);
    /// Breaks it: with a Close frame, or a reset.
    void leave(std::uint64_t connection, bool says_close);
    /// The server never hears of it: the client is gone without a word.
    void vanish(std::uint64_t connection);
    /// Its end takes no bytes, or takes them again.
    void set_clogged(std::uint64_t connection, bool clogged);
    /// The process died. `silently`: its machine, too.
    void die(bool silently);
    [[nodiscard]] std::size_t count() const { return open_.size(); }
    /// The server holds it, and the client has not let go.
    [[nodiscard]] bool is_live(std::uint64_t connection) const;

    // -- gateway::Sockets ------------------------------------------------------------------------
    bool accept_websocket(net::ConnectionId id, std::string_view subprotocol,
                          net::UserTag tag) override;
    net::SendResult send_text(net::ConnectionId id, std::string_view text) override;
    net::SendResult send_text_shared(net::ConnectionId id,
                                     const std::shared_ptr<const std::string>& frame) override;
    void send_ping(net::ConnectionId id) override;
    void close(net::ConnectionId id, std::uint16_t code, std::string_view reason) override;
    void resume_reading(net::ConnectionId id) override;
    void admit(net::ConnectionId, std::uint32_t) override {}
    [[nodiscard]] bool is_blocked(net::ConnectionId id) const override;
    [[nodiscard]] std::optional<MonoTime> blocked_since(net::ConnectionId id) const override;
    [[nodiscard]] net::DetachedConnection release(net::ConnectionId) override { return {}; }
    net::ConnectionId adopt(net::DetachedConnection, net::UserTag) override { return {}; }
    void request_batch_end() override { wants_flush_ = true; }
    [[nodiscard]] bool take_wants_flush() { return std::exchange(wants_flush_, false); }

private:
    struct Open {
        Peer* peer = nullptr;
        net::UserTag tag = 0;
        bool accepted = false;
        bool reading = true;
        bool closing = false;
        bool gone = false;  ///< The client's end is no more.
        std::vector<std::string> unread;
        std::vector<std::string> held;  ///< While clogged.
        std::optional<MonoTime> clogged_at;
        bool clogged = false;
        MonoTime last_in;
        MonoTime last_out;
    };

    [[nodiscard]] Open* find(std::uint64_t connection);
    [[nodiscard]] Millis delay(MonoTime& last);
    void to_server(std::uint64_t connection, Scheduler::Work work);
    void to_client(std::uint64_t connection, std::string text);
    void deliver(std::uint64_t connection, std::string_view text);
    void read_on(std::uint64_t connection);
    void end(std::uint64_t connection, net::CloseInfo info);

    VirtualScheduler& scheduler_;
    ProcessScheduler& process_;
    ServerSide& side_;
    gateway::Gateway* gateway_ = nullptr;
    std::map<std::uint64_t, Open> open_;
    std::uint64_t last_;
    SeededRandom random_;
    bool wants_flush_ = false;
    bool even_ = false;
};

}  // namespace presence::sim
