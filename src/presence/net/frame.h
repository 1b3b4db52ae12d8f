#pragma once

#include "presence/base/time.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace presence::net {

/// What a frame carries (RFC 6455, section 5.2).
enum class Opcode : std::uint8_t {
    continuation = 0x0,
    text = 0x1,
    binary = 0x2,
    close = 0x8,
    ping = 0x9,
    pong = 0xA,
};

/// Close codes that this layer gives or looks at. Those of PROTOCOL.md (44xx) are numbers above.
namespace close_code {
constexpr std::uint16_t kNormal = 1000;
constexpr std::uint16_t kGoingAway = 1001;
constexpr std::uint16_t kProtocolError = 1002;
constexpr std::uint16_t kUnsupported = 1003;  ///< Binary messages: the protocol is text only.
constexpr std::uint16_t kNone = 1005;         ///< A Close frame without a code. Never sent.
constexpr std::uint16_t kInvalidText = 1007;
constexpr std::uint16_t kPolicy = 1008;  ///< Too many fragments, or a message never finished.
constexpr std::uint16_t kTooLarge = 1009;
}  // namespace close_code

/// Bounds of one connection's messages.
struct FrameLimits {
    /// Most payload bytes of one message over all its fragments. Past it: 1009, told by the header
    /// alone, before anything is kept.
    std::uint32_t message_bytes = 16 * 1024;

    /// Most frames of one message, so that empty fragments cannot go on for ever. Past it: 1008.
    std::uint32_t fragments = 1024;
};

/// A fragmented message whose end has not come. Exists only that long, which is why it is apart
/// from the connection.
struct UnfinishedMessage {
    std::uint32_t fragments = 0;
    std::string bytes;
};

/// What the next bytes mean.
struct FrameEvent {
    enum class Kind : std::uint8_t {
        incomplete,  ///< Not a whole frame yet: keep the bytes, come back with more.
        fragment,    ///< A frame of a message that goes on. Nothing to deliver yet.
        text,        ///< A whole text message, valid UTF-8, in `payload`.
        ping,        ///< `payload` goes into the answer.
        pong,
        close,  ///< The peer's Close: `code` (kNone if it gave none), reason in `payload`.
        error,  ///< The peer broke a rule: answer Close with `code`, then stop. `payload`: why.
    };
    Kind kind = Kind::incomplete;
    std::uint16_t code = 0;
    std::size_t consumed = 0;  ///< Bytes of the input that this event used up.
    std::string_view payload;  ///< Lies in the input or in `message_store`.
};

/// Reads one frame from the front of `bytes`, as a server. Pure: no I/O, no clock.
///
/// A whole frame is unmasked in place, so `bytes` must not be parsed again up to `consumed`; an
/// incomplete one is left as it was. Broken rules are told by the first bytes that show them. The
/// result does not depend on how the stream was cut.
///
/// @param unfinished     Null between messages; made and dropped here as fragments come.
/// @param message_store  Takes the bytes of a fragmented message when it is whole, so that the
///                       event's payload lives until the next call.
[[nodiscard]] FrameEvent read_frame(std::span<char> bytes, const FrameLimits& limits,
                                    std::unique_ptr<UnfinishedMessage>& unfinished,
                                    std::string& message_store);

/// Whether a peer may send `code` in a Close frame: 1000-1003, 1007-1014, 3000-4999.
[[nodiscard]] bool is_valid_close_code(std::uint16_t code) noexcept;

/// RFC 3629, fast for ASCII.
[[nodiscard]] bool is_valid_utf8(std::string_view text) noexcept;

/// The header of an unfragmented, unmasked frame, as servers send it.
struct EncodedHeader {
    char bytes[10] = {};
    std::uint8_t size = 0;
    [[nodiscard]] std::string_view view() const noexcept { return {bytes, size}; }
};
[[nodiscard]] EncodedHeader encode_header(Opcode opcode, std::uint64_t payload_size) noexcept;

/// A whole text frame, to be sent to many with Server::send_text_shared.
[[nodiscard]] std::string encode_text_frame(std::string_view payload);

/// A whole Close frame; the reason is cut to 123 bytes at a character's border.
[[nodiscard]] std::string encode_close_frame(std::uint16_t code, std::string_view reason);

/// A whole frame as a client sends it, masked. For tests and benchmarks' clients.
[[nodiscard]] std::string encode_client_frame(Opcode opcode, std::string_view payload,
                                              std::uint32_t mask, bool final = true);

}  // namespace presence::net
