#pragma once

#include "client_pool.h"

namespace presence::bench {

/// Clients of presenced, or of a server that speaks as much of its protocol as a scenario needs.
/// They answer pings.
class LoadClient final : public ClientPool {
public:
    LoadClient(std::uint16_t port, std::string user_prefix);

    /// Called for each `welcome`.
    void on_welcome(OnMessage handler) { on_welcome_ = std::move(handler); }
    /// Called for a hello that was refused, in the place of a failure. The server closes after it.
    void on_refused(OnMessage handler) { on_refused_ = std::move(handler); }
    /// Before connections are opened: further fields of each one's hello, `,"name":value`.
    void set_hello_fields(std::function<std::string(std::size_t connection)> fields) {
        hello_fields_ = std::move(fields);
    }

    /// Watches the users of a user_list() and waits for the snapshot. Whoever listened to messages
    /// does so no more.
    void watch(std::size_t connection, const std::string& users);

    /// Sends one text message.
    void send_text(std::size_t connection, std::string_view message);

private:
    void begin(std::size_t connection) override;
    std::size_t take(std::size_t connection, std::string_view bytes) override;
    std::size_t take_upgrade(std::size_t connection, std::string_view bytes);
    void take_text(std::size_t connection, std::string_view message);

    OnMessage on_welcome_;
    OnMessage on_refused_;
    std::function<std::string(std::size_t)> hello_fields_;
    std::vector<bool> upgraded_;
};

}  // namespace presence::bench
