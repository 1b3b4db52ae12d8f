#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace presence::bench {

/// Many clients of one server, in this thread, on one epoll descriptor; what they say is the
/// business of the derived class. A connection that ends unasked is a failure of the run. All
/// members throw BenchFailure.
class ClientPool {
public:
    /// Called for each message after a connection has signed in, within poll(); the text ends with
    /// the call.
    using OnMessage = std::function<void(std::size_t connection, std::string_view message)>;

    ClientPool(std::uint16_t port, std::string user_prefix);
    /// Resets all connections, so that no port waits in TIME_WAIT for the next round.
    virtual ~ClientPool();
    ClientPool(const ClientPool&) = delete;
    ClientPool& operator=(const ClientPool&) = delete;

    void on_message(OnMessage handler) { on_message_ = std::move(handler); }

    /// Opens connections up to `count` and signs them in, 32 at a time.
    void grow_to(std::size_t count);

    /// Resets a connection and opens it anew, as the same user. It is not awaited.
    void reopen(std::size_t connection);

    /// Sends bytes that the socket must take at once.
    void send(std::size_t connection, std::string_view bytes);

    /// From now on the connection sends nothing more of its own, not even an answer to a Ping, and
    /// the server may close it.
    void fall_silent(std::size_t connection) { connections_[connection].silent = true; }

    /// Waits up to `timeout` for anything, then handles what has come.
    void poll(std::chrono::milliseconds timeout);
    /// Polls until `done` says so. `what` is for the failure after `timeout`.
    void poll_until(const std::function<bool()>& done, std::string_view what,
                    std::chrono::milliseconds timeout = std::chrono::seconds(10));

    [[nodiscard]] std::size_t size() const noexcept { return connections_.size(); }
    [[nodiscard]] bool is_signed_in(std::size_t connection) const {
        return connections_[connection].signed_in;
    }
    /// Connection i signs in as user `<prefix><i>`.
    [[nodiscard]] std::string user(std::size_t connection) const;
    /// The names of `count` of them from `first` on, as JSON has them in an array.
    [[nodiscard]] std::string user_list(std::size_t first, std::size_t count) const;

protected:
    /// The socket is connected: says the first words.
    virtual void begin(std::size_t connection) = 0;
    /// Handles what is whole of `bytes`; gives how many bytes that took.
    virtual std::size_t take(std::size_t connection, std::string_view bytes) = 0;

    /// The server has let the connection in.
    void set_signed_in(std::size_t connection);
    [[nodiscard]] bool is_silent(std::size_t connection) const {
        return connections_[connection].silent;
    }
    void deliver(std::size_t connection, std::string_view message) const {
        if (on_message_) {
            on_message_(connection, message);
        }
    }

private:
    struct Connection {
        int socket = -1;
        bool signed_in = false;
        bool silent = false;
        std::string pending;  ///< The beginning of something that is not whole yet.
    };

    /// Connects a socket and says the first words.
    void open(std::size_t index);
    static void reset(int socket);
    void read(std::size_t index);

    std::uint16_t port_;
    std::string user_prefix_;
    OnMessage on_message_;
    int epoll_ = -1;
    std::size_t signing_in_ = 0;
    std::vector<Connection> connections_;
    std::vector<char> buffer_;
};

/// What send_paced() did.
struct PacedLoad {
    std::size_t sent = 0;
    std::chrono::nanoseconds took{0};     ///< Without the stalls.
    std::chrono::nanoseconds stalled{0};  ///< In which this process did not get its core.
};

/// Sends `frame` on one connection after the other at `per_second` over all of them, in steps of
/// a millisecond, and polls in between. What a stall of over 100 ms kept back is not sent after it:
/// a flood would cost the server less a message than the rate that was asked for.
PacedLoad send_paced(ClientPool& clients, std::string_view frame, double per_second,
                     std::chrono::milliseconds duration);

}  // namespace presence::bench
