#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace presence::bench {

/// Many WebSocket clients of one server, in this thread, on one epoll descriptor.
///
/// Connection i signs in as user `<prefix><i>`. It answers pings, and a close that nobody asked
/// for is a failure of the run. All members throw BenchFailure.
class LoadClient {
public:
    /// Called for each text message after `welcome`, within poll(); the text ends with the call.
    using OnMessage = std::function<void(std::size_t connection, std::string_view message)>;

    LoadClient(std::uint16_t port, std::string user_prefix);
    /// Resets all connections, so that no port waits in TIME_WAIT for the next round.
    ~LoadClient();
    LoadClient(const LoadClient&) = delete;
    LoadClient& operator=(const LoadClient&) = delete;

    void on_message(OnMessage handler) { on_message_ = std::move(handler); }
    /// The same for `welcome`.
    void on_welcome(OnMessage handler) { on_welcome_ = std::move(handler); }
    /// Before connections are opened: further fields of each one's hello, `,"name":value`.
    void set_hello_fields(std::function<std::string(std::size_t connection)> fields) {
        hello_fields_ = std::move(fields);
    }

    /// Opens connections up to `count` and signs them in, 32 at a time.
    void grow_to(std::size_t count);

    /// Sends bytes that the socket must take at once.
    void send(std::size_t connection, std::string_view bytes);
    /// Sends one text message.
    void send_text(std::size_t connection, std::string_view message);

    /// From now on the connection sends nothing more, not even an answer to a Ping, and the server
    /// may close it.
    void fall_silent(std::size_t connection) { connections_[connection].silent = true; }

    /// Waits up to `timeout` for anything, then handles what has come.
    void poll(std::chrono::milliseconds timeout);
    /// Polls until `done` says so. `what` is for the failure after `timeout`.
    void poll_until(const std::function<bool()>& done, std::string_view what,
                    std::chrono::milliseconds timeout = std::chrono::seconds(10));

    [[nodiscard]] std::size_t size() const noexcept { return connections_.size(); }
    [[nodiscard]] std::string user(std::size_t connection) const;

private:
    enum class Stage : std::uint8_t { upgrading, welcoming, ready };

    struct Connection {
        int socket = -1;
        Stage stage = Stage::upgrading;
        bool silent = false;
        std::string pending;  ///< The beginning of a frame or answer that is not whole yet.
    };

    void open_one();
    void read(std::size_t index);
    /// Handles the whole frames in `bytes`; gives how many bytes that took.
    std::size_t take_frames(std::size_t index, std::string_view bytes);
    std::size_t take_upgrade(std::size_t index, std::string_view bytes);
    void take_text(std::size_t index, std::string_view message);

    std::uint16_t port_;
    std::string user_prefix_;
    OnMessage on_message_;
    OnMessage on_welcome_;
    std::function<std::string(std::size_t)> hello_fields_;
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
PacedLoad send_paced(LoadClient& client, std::string_view frame, double per_second,
                     std::chrono::milliseconds duration);

}  // namespace presence::bench
