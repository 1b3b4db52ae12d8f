#include "load_client.h"

#include "failure.h"
#include "wire.h"

#include <algorithm>
#include <utility>

namespace presence::bench {

namespace {

constexpr std::string_view kSecret = "dev";  // That of `presenced serve --dev`.

std::string close_text(std::string_view payload) {
    if (payload.size() < 2) {
        return "without a code";
    }
    const unsigned code =
        static_cast<unsigned char>(payload[0]) * 256U + static_cast<unsigned char>(payload[1]);
    return fmt::format("{} {}", code, payload.substr(2));
}

}  // namespace

LoadClient::LoadClient(std::uint16_t port, std::string user_prefix)
    : ClientPool(port, std::move(user_prefix)) {}

void LoadClient::send_text(std::size_t connection, std::string_view message) {
    send(connection, client_frame(Opcode::text, message));
}

void LoadClient::watch(std::size_t connection, const std::string& users) {
    bool watches = false;
    on_message([&watches](std::size_t, std::string_view message) {
        watches = watches || message.find(R"("type":"snapshot")") != std::string_view::npos;
    });
    send_text(connection, fmt::format(R"({{"type":"watch","users":[{}]}})", users));
    poll_until([&] { return watches; }, "the snapshot");
    on_message({});
}

void LoadClient::begin(std::size_t connection) {
    upgraded_.resize(std::max(upgraded_.size(), connection + 1));
    upgraded_[connection] = false;
    send(connection, upgrade_request());
}

std::size_t LoadClient::take(std::size_t connection, std::string_view bytes) {
    std::size_t taken = 0;
    if (!upgraded_[connection]) {
        taken = take_upgrade(connection, bytes);
        if (taken == 0) {
            return 0;
        }
    }
    while (true) {
        const ServerFrame frame = first_frame(bytes.substr(taken));
        if (frame.size == 0) {
            return taken;
        }
        taken += frame.size;
        if (frame.opcode == Opcode::text) {
            take_text(connection, frame.payload);
        } else if (is_silent(connection) || frame.opcode == Opcode::pong) {
            continue;
        } else if (frame.opcode == Opcode::ping) {
            send(connection, client_frame(Opcode::pong, frame.payload));
        } else {
            fail("connection {} ({}) was closed: {}", connection, user(connection),
                 close_text(frame.payload));
        }
    }
}

std::size_t LoadClient::take_upgrade(std::size_t connection, std::string_view bytes) {
    const std::size_t end = bytes.find("\r\n\r\n");
    if (end == std::string_view::npos) {
        return 0;
    }
    if (!bytes.starts_with("HTTP/1.1 101")) {
        fail("the server refused the upgrade: {}", bytes.substr(0, bytes.find("\r\n")));
    }
    upgraded_[connection] = true;
    const std::string fields = hello_fields_ ? hello_fields_(connection) : std::string();
    send_text(connection, fmt::format(R"({{"type":"hello","token":"{}"{}}})",
                                      mint_token(user(connection), kSecret), fields));
    return end + 4;
}

void LoadClient::take_text(std::size_t connection, std::string_view message) {
    if (is_signed_in(connection)) {
        deliver(connection, message);
        return;
    }
    if (message.find(R"("type":"welcome")") == std::string_view::npos) {
        if (on_refused_) {
            on_refused_(connection, message);
            return;
        }
        fail("the server refused the hello of {}: {}", user(connection), message);
    }
    set_signed_in(connection);
    if (on_welcome_) {
        on_welcome_(connection, message);
    }
}

}  // namespace presence::bench
