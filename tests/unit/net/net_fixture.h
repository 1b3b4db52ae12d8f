#pragma once

#include "presence/net/server.h"

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <cerrno>
#include <functional>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace presence::net::testing {

constexpr std::uint32_t kMask = 0x0BADCAFE;

/// A client that knows only bytes. Never blocks: the server runs on the same thread.
class Peer {
public:
    explicit Peer(std::uint16_t port, int receive_buffer = 0) {
        fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (receive_buffer > 0) {
            ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
        }
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        const int on = 1;
        ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    Peer(Peer&& other) noexcept
        : received(std::move(other.received)),
          closed(other.closed),
          reset(other.reset),
          fd_(std::exchange(other.fd_, -1)) {}
    Peer& operator=(Peer&&) = delete;
    ~Peer() { hang_up(); }

    void send(std::string_view bytes) {
        EXPECT_EQ(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT),
                  static_cast<ssize_t>(bytes.size()));
    }
    /// As much as the socket takes.
    std::size_t send_some(std::string_view bytes) {
        const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        return sent < 0 ? 0 : static_cast<std::size_t>(sent);
    }
    void text(std::string_view message) { send(encode_client_frame(Opcode::text, message, kMask)); }

    /// Takes what has arrived into `received`.
    void poll() {
        char bytes[64 * 1024];
        while (!closed) {
            const ssize_t got = ::recv(fd_, bytes, sizeof bytes, MSG_DONTWAIT);
            if (got > 0) {
                received.append(bytes, static_cast<std::size_t>(got));
            } else if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
                return;
            } else {
                closed = true;
                reset = got < 0;
            }
        }
    }
    [[nodiscard]] bool got(std::string_view text) const {
        return received.find(text) != std::string::npos;
    }
    [[nodiscard]] std::size_t count(std::string_view text) const {
        std::size_t n = 0;
        for (std::size_t at = received.find(text); at != std::string::npos;
             at = received.find(text, at + text.size())) {
            ++n;
        }
        return n;
    }
    void finish_sending() { ::shutdown(fd_, SHUT_WR); }
    void reset_connection() {
        const linger now{1, 0};
        ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
        hang_up();
    }
    void hang_up() {
        if (fd_ >= 0) {
            ::close(std::exchange(fd_, -1));
        }
    }
    [[nodiscard]] int fd() const { return fd_; }

    std::string received;
    bool closed = false;  ///< The server sends no more.
    bool reset = false;   ///< ... and ended it with a reset.

private:
    int fd_ = -1;
};

/// Writes down what a server tells. By default it takes every handshake and echoes nothing.
class Recorder : public Handler {
public:
    struct End {
        ConnectionId id;
        UserTag tag;
        CloseInfo info;
    };

    bool may_accept(const RemoteAddress& remote) override {
        remotes.push_back(remote);
        return accepts;
    }
    bool is_proxy(const RemoteAddress&) override { return peers_are_proxies; }
    void on_request(ConnectionId id, HttpRequest& request) override {
        last_request = id;
        requests.push_back(request);
        if (on_request_do) {
            on_request_do(id, request);
        } else if (request.is_upgrade) {
            server->accept_websocket(id, {}, next_tag++);
        } else {
            HttpResponse response;
            response.body = "path " + std::string(request.path());
            server->respond(id, std::move(response));
        }
    }
    void on_request_lost(ConnectionId id) override { lost.push_back(id); }
    void on_request_half_closed(ConnectionId id) override {
        half_closed.push_back(id);
        if (on_half_closed_do) {
            on_half_closed_do(id);
        }
    }
    void on_sign_of_life(ConnectionId, UserTag, LifeKind kind) override { life.push_back(kind); }
    bool on_message(ConnectionId id, UserTag tag, std::string_view text) override {
        last_id = id;
        last_tag = tag;
        messages.emplace_back(text);
        return !on_message_do || on_message_do(id, text);
    }
    void on_drained(ConnectionId, UserTag) override { ++drained; }
    void on_closed(ConnectionId id, UserTag tag, const CloseInfo& info) override {
        ends.push_back({id, tag, info});
        if (on_closed_do) {
            on_closed_do(id);
        }
    }

    Server* server = nullptr;
    bool accepts = true;
    bool peers_are_proxies = false;
    UserTag next_tag = 7;
    std::function<void(ConnectionId, HttpRequest&)> on_request_do;
    std::function<bool(ConnectionId, std::string_view)> on_message_do;
    std::function<void(ConnectionId)> on_closed_do;
    std::function<void(ConnectionId)> on_half_closed_do;

    std::vector<RemoteAddress> remotes;
    std::vector<HttpRequest> requests;
    ConnectionId last_request;
    std::vector<ConnectionId> lost;
    std::vector<ConnectionId> half_closed;
    std::vector<LifeKind> life;
    std::vector<std::string> messages;
    ConnectionId last_id;
    UserTag last_tag = 0;
    int drained = 0;
    std::vector<End> ends;
};

inline constexpr std::string_view kUpgrade =
    "GET /v1/connect HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

/// A server on a loop of this thread, pumped by the test until what it waits for has come.
class NetTest : public ::testing::Test {
protected:
    explicit NetTest(NetLimits limits = {}) : server_(loop_, handler_, limits) {
        handler_.server = &server_;
        server_.listen(listener_);
    }

    [[nodiscard]] std::uint16_t port() const { return listener_->port(); }

    /// Runs the loop until `done`; fails the test if that does not come.
    void pump_until(const std::function<bool()>& done, Millis limit = 10s) {
        const MonoTime end = clock_.now() + limit;
        loop_.set_tick(1ms, [&](const Loop::Tick& tick) {
            if (done()) {
                loop_.stop();
            } else if (tick.now > end) {
                ADD_FAILURE() << "waited in vain";
                loop_.stop();
            }
        });
        loop_.run();
    }
    void pump_until_got(Peer& peer, std::string_view text) {
        pump_until([&] {
            peer.poll();
            return peer.got(text) || peer.closed;
        });
        EXPECT_TRUE(peer.got(text)) << "got instead: " << peer.received.substr(0, 300);
    }
    void pump_until_closed(Peer& peer) {
        pump_until([&] {
            peer.poll();
            return peer.closed;
        });
    }
    void pump_until_messages(std::size_t count) {
        pump_until([&] { return handler_.messages.size() >= count; });
    }
    void pump_until_ended(std::size_t count = 1) {
        pump_until([&] { return handler_.ends.size() >= count; });
    }
    /// Lets whatever is under way come through.
    void pump_a_little() {
        int rounds = 0;
        pump_until([&] { return ++rounds > 10; });
    }

    /// A client whose handshake is done.
    Peer open(int receive_buffer = 0) {
        Peer peer(port(), receive_buffer);
        peer.send(kUpgrade);
        pump_until_got(peer, "\r\n\r\n");
        peer.received.clear();
        return peer;
    }
    /// The id of the newest request, WebSocket or not.
    [[nodiscard]] ConnectionId id() const { return handler_.last_request; }

    SystemClock clock_;
    Loop loop_{clock_};
    Recorder handler_;
    std::shared_ptr<Listener> listener_ = Listener::open("127.0.0.1:0").value();
    Server server_;
};

}  // namespace presence::net::testing
