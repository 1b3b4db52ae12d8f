#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace presence::bench {

// The client's side of the protocol, apart from the server's own codec on purpose: a mistake in
// one does not hide in the other.

enum class Opcode : std::uint8_t {
    continuation = 0x0,
    text = 0x1,
    close = 0x8,
    ping = 0x9,
    pong = 0xa,
};

/// A whole masked frame, as a client sends it; `payload` up to 65,535 bytes.
[[nodiscard]] std::string client_frame(Opcode opcode, std::string_view payload);

/// A whole text frame without a mask, as a server sends it; `payload` up to 65,535 bytes.
[[nodiscard]] std::string server_text_frame(std::string_view payload);

/// A frame at the start of what a server sent.
struct ServerFrame {
    Opcode opcode = Opcode::text;
    std::string_view payload;  ///< Points into the bytes that were given.
    std::size_t size = 0;      ///< Of the whole frame; 0: not whole yet.
};

/// @throws BenchFailure  A masked or fragmented frame, or one above 16 MiB.
[[nodiscard]] ServerFrame first_frame(std::string_view bytes);

/// The value of a text field that needs no unescaping. @throws BenchFailure  There is none.
[[nodiscard]] std::string text_of(std::string_view message, std::string_view field);

/// Calls `visit` with each user of a message with presences, and the status.
void for_each_status(
    std::string_view message,
    const std::function<void(std::string_view user, std::string_view status)>& visit);

/// How often `part` stands in `text`.
[[nodiscard]] std::size_t count_of(std::string_view text, std::string_view part);

/// The number behind `"count":` of a message about a room; 0: it has none.
[[nodiscard]] std::size_t count_in(std::string_view message);

/// The request that opens a connection.
[[nodiscard]] std::string upgrade_request();

/// A JWT for `user`, HS256 with `secret`, good for an hour.
[[nodiscard]] std::string mint_token(std::string_view user, std::string_view secret);

}  // namespace presence::bench
