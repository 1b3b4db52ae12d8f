#pragma once

#include "presence/base/result.h"
#include "presence/base/time.h"
#include "presence/loop/loop.h"
#include "presence/net/frame.h"
#include "presence/net/http.h"
#include "presence/net/limits.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace presence::net {

/// Names one connection of one Server. Never used twice; calls with a dead one do nothing.
struct ConnectionId {
    std::uint64_t value = 0;
    explicit operator bool() const noexcept { return value != 0; }
    friend bool operator==(ConnectionId, ConnectionId) = default;
};

/// The gateway's own mark on a connection, e.g. a slot in its table; net only hands it back.
using UserTag = std::uint64_t;

/// Which complete frame showed life.
enum class LifeKind : std::uint8_t { text, fragment, ping, pong, close };

/// How a WebSocket ended.
struct CloseInfo {
    enum class How : std::uint8_t {
        peer_close,      ///< The peer sent Close first; `code` is its (1005 if none).
        lost,            ///< Reset, end of stream, or a time-out of the kernel.
        protocol_error,  ///< The peer broke a rule and was closed with `code`.
        closed_by_us,    ///< Server::close (`code`) or abort (`code` 0).
    };
    How how = How::lost;
    std::uint16_t code = 0;
    bool saw_close_frame = false;  ///< The peer's Close arrived, first or as an answer.
};

/// What became of a frame given to a send call.
enum class SendResult : std::uint8_t {
    sent,      ///< The kernel has all of it.
    blocked,   ///< Kept here, whole or its rest. Send no more than small answers until on_drained.
    overflow,  ///< Not kept: the queue is full. Close the connection.
    closed,    ///< No such connection, or it is closing.
};

/// What net counts. Owner's thread; a copy may be posted elsewhere.
struct NetCounters {
    std::uint64_t accepted = 0;
    std::uint64_t refused_by_handler = 0;  ///< Handler::may_accept said no.
    std::uint64_t refused_per_address = 0;
    std::uint64_t refused_total = 0;
    std::uint64_t accept_pauses = 0;  ///< Descriptors ran out.
    std::uint64_t accept_shed = 0;    ///< Closed at once with the reserve descriptor.
    std::uint64_t http_requests = 0;
    std::uint64_t http_refused = 0;  ///< Answered by net itself: 400, 408, 413, 426, 431.
    std::uint64_t http_timeouts = 0;
    std::uint64_t upgrades = 0;
    std::uint64_t adopted = 0;
    std::uint64_t released = 0;
    std::uint64_t frames_in = 0;
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
    std::uint64_t frames_out = 0;
    std::uint64_t sends_blocked = 0;
    std::uint64_t send_overflows = 0;
    std::uint64_t pongs_merged = 0;  ///< Pings answered by the answer to a later one.
    std::uint64_t close_timeouts = 0;
    std::uint64_t message_timeouts = 0;
    std::uint64_t closed_1002 = 0;
    std::uint64_t closed_1003 = 0;
    std::uint64_t closed_1007 = 0;
    std::uint64_t closed_1008 = 0;
    std::uint64_t closed_1009 = 0;
    std::uint64_t tls_failures = 0;
};

/// What a Server tells its owner, on the loop's thread only and never from inside a call to the
/// Server. Inside a callback every call to the Server is allowed, also about the same connection.
class Handler {
public:
    virtual ~Handler() = default;

    /// Whether to take a connection that was just accepted: the place of a rate limit.
    virtual bool may_accept(const RemoteAddress&) { return true; }

    /// Whether the connections of an address are those of many, as a proxy's are: such are not
    /// counted for NetLimits::unadmitted_per_address, until Server::count_for says whose one is.
    virtual bool is_proxy(const RemoteAddress&) { return false; }

    /// Whether the body of a request may be as large as NetLimits::http_large_body_bytes. Only its
    /// head has come yet; asked where that does not say that the body is smaller anyhow. Answers
    /// at once and ends no connection.
    virtual bool may_be_large(const HttpRequest&) { return false; }

    /// One request. Answer now or later with respond, respond_stream or accept_websocket; until
    /// then the connection's next request waits.
    virtual void on_request(ConnectionId id, HttpRequest& request) = 0;

    /// The client of a request that was not yet answered, or of a stream, is gone.
    virtual void on_request_lost(ConnectionId) {}

    /// The client of a request that was not yet answered sends no more. It may still read, as one
    /// may that closed only its own side; far more often it has left: so answer soon. Once each.
    virtual void on_request_half_closed(ConnectionId) {}

    /// Makes an answer that net gives by itself. `why` is for people, in English.
    /// @param head  As far as it was read: without a target and headers where it was not whole.
    virtual HttpResponse on_bad_request(const HttpRequest& head, int status, std::string_view why);

    /// A complete frame arrived. Comes before the on_message of the same frame.
    virtual void on_sign_of_life(ConnectionId id, UserTag tag, LifeKind kind) = 0;

    /// One whole text message; the view lives during the call. False pauses the connection: no
    /// further message comes until resume_reading, and the socket is not read meanwhile.
    virtual bool on_message(ConnectionId id, UserTag tag, std::string_view text) = 0;

    /// A connection whose sends were `blocked`, or a stream, has nothing queued any more.
    virtual void on_drained(ConnectionId, UserTag) {}

    /// The end of a connection that was accepted as WebSocket or adopted; once each, the id is
    /// dead. Not for one that was released.
    virtual void on_closed(ConnectionId id, UserTag tag, const CloseInfo& info) = 0;
};

/// Certificate and key of a listener. Reloading makes a new one; connections keep theirs.
class TlsContext {
public:
    /// @param certificate  PEM file, the chain behind the server's own certificate.
    /// @param key          PEM file. The error names the file and what is wrong with it.
    static Result<std::shared_ptr<TlsContext>> load(const std::string& certificate,
                                                    const std::string& key);
    ~TlsContext();
    TlsContext(const TlsContext&) = delete;
    TlsContext& operator=(const TlsContext&) = delete;

private:
    friend class TlsSession;
    explicit TlsContext(void* context) : context_(context) {}
    void* context_;  ///< SSL_CTX
};

/// A listening socket. Servers of several threads may share one: the kernel wakes one of them for
/// each connection. (Not SO_REUSEPORT: with it a second process could take the port unnoticed.)
class Listener {
public:
    /// @param address  "127.0.0.1:8080", "[::1]:0", "0.0.0.0:80", "[::]:80" (both families).
    ///                 Port 0 takes a free one.
    /// @retval bad_request  Not an address; `unavailable`: the system refused, with its reason.
    static Result<std::shared_ptr<Listener>> open(std::string_view address);
    /// What `open` would say of the address itself; opens nothing.
    [[nodiscard]] static Result<bool> check(std::string_view address);
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    [[nodiscard]] int fd() const noexcept { return fd_; }
    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    /// "127.0.0.1:8080", with the port that was taken.
    [[nodiscard]] const std::string& address() const noexcept { return address_; }

private:
    Listener(int fd, std::uint16_t port, std::string address)
        : fd_(fd), port_(port), address_(std::move(address)) {}
    int fd_;
    std::uint16_t port_;
    std::string address_;
};

/// A WebSocket on its way from one Server to another, on whatever thread. Dropped, it closes.
class DetachedConnection {
public:
    DetachedConnection() noexcept;
    DetachedConnection(DetachedConnection&&) noexcept;
    DetachedConnection& operator=(DetachedConnection&&) noexcept;
    ~DetachedConnection();
    /// False after a release that found no open WebSocket.
    explicit operator bool() const noexcept { return parts_ != nullptr; }

private:
    friend class Server;
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

class Strangers;

/// HTTP and WebSocket over the sockets of one loop. Knows bytes, not presence.
///
/// Loop's thread only. An idle WebSocket costs one slot of about 32 bytes here (and its socket in
/// the kernel); buffers exist while a frame is incomplete, a message fragmented, reading paused or
/// sending blocked. Reads go through one buffer a server.
class Server final : private SocketHandler {
public:
    /// @param strangers  Shared by the servers among which its limits hold; null: this one alone.
    Server(Loop& loop, Handler& handler, NetLimits limits = {},
           std::shared_ptr<Strangers> strangers = nullptr);
    ~Server() override;
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    // -- Listening ---------------------------------------------------------------------------
    void listen(std::shared_ptr<Listener> listener, std::shared_ptr<TlsContext> tls = nullptr);
    /// New connections of all TLS listeners use `tls` from now on.
    void reload_tls(std::shared_ptr<TlsContext> tls);
    void stop_accepting();

    // -- HTTP ----------------------------------------------------------------------------------
    /// Answers the request that on_request gave. Once each; a client that has left is no error.
    void respond(ConnectionId id, HttpResponse response);
    /// Answers with a head, then bytes by send_raw until end_stream; the body of `head` goes out
    /// with it. The connection closes at the end (no chunks).
    void respond_stream(ConnectionId id, HttpResponse head);
    SendResult send_raw(ConnectionId id, std::string_view bytes);
    void end_stream(ConnectionId id);
    /// Answers 101. `subprotocol` is empty or one that was offered. False: the client has left.
    bool accept_websocket(ConnectionId id, std::string_view subprotocol, UserTag tag);

    // -- WebSocket -----------------------------------------------------------------------------
    SendResult send_text(ConnectionId id, std::string_view text);
    /// A frame made by encode_text_frame, shared by all who get it.
    SendResult send_text_shared(ConnectionId id, const std::shared_ptr<const std::string>& frame);
    SendResult send_ping(ConnectionId id);
    /// Sends Close behind what is queued, waits for the peer's at most NetLimits::close_timeout,
    /// then closes TCP. No message of the connection is delivered from now on.
    void close(ConnectionId id, std::uint16_t code, std::string_view reason);
    /// Closes TCP at once. on_closed follows.
    void abort(ConnectionId id);
    void resume_reading(ConnectionId id);
    void set_message_limit(ConnectionId id, std::uint32_t bytes);
    /// The peer has proved who it is: it no longer counts for the unadmitted limits.
    void set_admitted(ConnectionId id);
    /// Until it is admitted, a connection of a proxy counts as one of `client`. False: there are
    /// too many of that address; then refuse the request.
    [[nodiscard]] bool count_for(ConnectionId id, const RemoteAddress& client);

    // -- Handing over ---------------------------------------------------------------------------
    /// Takes the connection out, with the bytes that were not yet delivered in order. From within
    /// its on_message the message at hand stays with the caller. Empty if `id` is no open
    /// WebSocket. on_closed does not come.
    [[nodiscard]] DetachedConnection release(ConnectionId id);
    /// Takes one in; what it brings along is delivered after this call, not from within it. It
    /// counts as admitted and reads on, paused or not before. Nothing if the kernel refused it.
    ConnectionId adopt(DetachedConnection connection, UserTag tag);

    // -- Questions ------------------------------------------------------------------------------
    [[nodiscard]] bool is_open(ConnectionId id) const noexcept;  ///< Neither dead nor closing.
    [[nodiscard]] std::size_t queued_bytes(ConnectionId id) const noexcept;
    [[nodiscard]] bool is_blocked(ConnectionId id) const noexcept;
    /// Since when the kernel took no byte of what is queued; nothing if nothing is.
    [[nodiscard]] std::optional<MonoTime> blocked_since(ConnectionId id) const noexcept;
    /// Whether the client of a request that awaits its answer, or of a stream, may still send.
    [[nodiscard]] bool has_client(ConnectionId id) const noexcept;
    [[nodiscard]] RemoteAddress remote_address(ConnectionId id) const;
    [[nodiscard]] std::size_t connection_count() const noexcept;
    /// The same over all servers that share their strangers.
    [[nodiscard]] std::size_t shared_connection_count() const noexcept;
    [[nodiscard]] std::size_t websocket_count() const noexcept;
    [[nodiscard]] const NetCounters& counters() const noexcept;
    [[nodiscard]] const NetLimits& limits() const noexcept;
    void set_limits(const NetLimits& limits);

private:
    struct State;
    void on_socket_ready(std::uint64_t token, std::uint32_t events) override;
    void on_socket_soon(std::uint64_t token) override;
    std::shared_ptr<State> state_;
};

}  // namespace presence::net
