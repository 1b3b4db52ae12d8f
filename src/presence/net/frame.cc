#include "presence/net/frame.h"

#include "presence/base/assert.h"
#include "presence/net/partial_utf8.h"

#include <algorithm>
#include <cstring>

namespace presence::net {
namespace {

constexpr std::size_t kMaskSize = 4;
constexpr std::uint64_t kControlPayloadMost = 125;
constexpr std::uint8_t kFinalBit = 0x80;
constexpr std::uint8_t kReservedBits = 0x70;
constexpr std::uint8_t kOpcodeBits = 0x0F;
constexpr std::uint8_t kMaskBit = 0x80;
constexpr std::uint8_t kLengthBits = 0x7F;
constexpr std::uint8_t kLength16 = 126;
constexpr std::uint8_t kLength64 = 127;

/// The header of one frame, as far as it was there.
struct Header {
    bool complete = false;
    const char* wrong = nullptr;  ///< Why the frame cannot be, null if it can.
    bool final = false;
    Opcode opcode = Opcode::text;
    std::size_t size = 0;
    std::uint64_t payload_size = 0;
};

std::uint8_t byte_at(std::span<const char> bytes, std::size_t i) {
    return static_cast<std::uint8_t>(bytes[i]);
}

std::uint64_t big_endian(std::span<const char> bytes) {
    std::uint64_t value = 0;
    for (const char c : bytes) {
        value = (value << 8) | static_cast<std::uint8_t>(c);
    }
    return value;
}

bool is_control(std::uint8_t opcode) {
    return (opcode & 0x8) != 0;
}

/// What the first two bytes alone show to be wrong.
const char* check_first_bytes(std::uint8_t first, std::uint8_t second, bool in_message) {
    const std::uint8_t opcode = first & kOpcodeBits;
    if ((first & kReservedBits) != 0) {
        return "reserved bit set";
    }
    if ((second & kMaskBit) == 0) {
        return "frame is not masked";
    }
    if (is_control(opcode)) {
        if (opcode > static_cast<std::uint8_t>(Opcode::pong)) {
            return "reserved opcode";
        }
        if ((first & kFinalBit) == 0) {
            return "fragmented control frame";
        }
        return (second & kLengthBits) > kControlPayloadMost ? "control frame over 125 bytes"
                                                            : nullptr;
    }
    if (opcode > static_cast<std::uint8_t>(Opcode::binary)) {
        return "reserved opcode";
    }
    if ((opcode == static_cast<std::uint8_t>(Opcode::continuation)) != in_message) {
        return in_message ? "new message inside a fragmented one" : "continuation of nothing";
    }
    return nullptr;
}

Header read_header(std::span<const char> bytes, bool in_message) {
    Header header;
    if (bytes.size() < 2) {
        return header;
    }
    header.wrong = check_first_bytes(byte_at(bytes, 0), byte_at(bytes, 1), in_message);
    if (header.wrong != nullptr) {
        return header;
    }
    header.final = (byte_at(bytes, 0) & kFinalBit) != 0;
    header.opcode = static_cast<Opcode>(byte_at(bytes, 0) & kOpcodeBits);
    const std::uint8_t short_length = byte_at(bytes, 1) & kLengthBits;
    std::size_t length_size = 0;
    if (short_length == kLength16) {
        length_size = 2;
    } else if (short_length == kLength64) {
        length_size = 8;
    }
    if (bytes.size() < 2 + length_size) {
        return header;
    }
    header.payload_size =
        length_size == 0 ? short_length : big_endian(bytes.subspan(2, length_size));
    const bool too_long_a_form = (length_size == 2 && header.payload_size < kLength16) ||
                                 (length_size == 8 && header.payload_size <= 0xFFFF);
    if (too_long_a_form) {
        header.wrong = "length not in its shortest form";
    } else if (length_size == 8 && (header.payload_size >> 63) != 0) {
        header.wrong = "length over 63 bits";
    }
    header.size = 2 + length_size + kMaskSize;
    header.complete = true;
    return header;
}

/// XORs `payload` with the repeated mask; eight bytes at a time, as the hot path runs through here.
void unmask(std::span<char> payload, const char* mask) {
    std::uint32_t narrow = 0;
    std::memcpy(&narrow, mask, kMaskSize);
    const std::uint64_t wide = (static_cast<std::uint64_t>(narrow) << 32) | narrow;
    char* at = payload.data();
    std::size_t left = payload.size();
    for (; left >= sizeof wide; at += sizeof wide, left -= sizeof wide) {
        std::uint64_t word = 0;
        std::memcpy(&word, at, sizeof word);
        word ^= wide;
        std::memcpy(at, &word, sizeof word);
    }
    for (std::size_t i = 0; i < left; ++i) {
        at[i] = static_cast<char>(at[i] ^ mask[i % kMaskSize]);
    }
}

FrameEvent failed(std::uint16_t code, const char* why) {
    return {.kind = FrameEvent::Kind::error, .code = code, .consumed = 0, .payload = why};
}

FrameEvent close_event(std::string_view payload, std::size_t consumed) {
    FrameEvent event{.kind = FrameEvent::Kind::close,
                     .code = close_code::kNone,
                     .consumed = consumed,
                     .payload = {}};
    if (payload.empty()) {
        return event;
    }
    if (payload.size() == 1) {
        return failed(close_code::kProtocolError, "close code of one byte");
    }
    event.code = static_cast<std::uint16_t>(big_endian(payload.substr(0, 2)));
    event.payload = payload.substr(2);
    if (!is_valid_close_code(event.code)) {
        return failed(close_code::kProtocolError, "close code that may not be sent");
    }
    if (!is_valid_utf8(event.payload)) {
        return failed(close_code::kInvalidText, "close reason is not UTF-8");
    }
    return event;
}

FrameEvent control_event(Opcode opcode, std::string_view payload, std::size_t consumed) {
    if (opcode == Opcode::close) {
        return close_event(payload, consumed);
    }
    return {.kind = opcode == Opcode::ping ? FrameEvent::Kind::ping : FrameEvent::Kind::pong,
            .code = 0,
            .consumed = consumed,
            .payload = payload};
}

FrameEvent text_event(std::string_view text, std::size_t consumed) {
    if (!is_valid_utf8(text)) {
        return failed(close_code::kInvalidText, "text is not UTF-8");
    }
    return {.kind = FrameEvent::Kind::text, .code = 0, .consumed = consumed, .payload = text};
}

/// Refuses a data frame by its header: what it would add to the message is too much.
FrameEvent check_data_header(const Header& header, const FrameLimits& limits,
                             const UnfinishedMessage* unfinished) {
    const std::uint64_t before = unfinished == nullptr ? 0 : unfinished->bytes.size();
    if (header.opcode == Opcode::binary) {
        return failed(close_code::kUnsupported, "binary message");
    }
    if (header.payload_size > limits.message_bytes ||
        before + header.payload_size > limits.message_bytes) {
        return failed(close_code::kTooLarge, "message over the limit");
    }
    if (unfinished != nullptr && unfinished->fragments >= limits.fragments) {
        return failed(close_code::kPolicy, "message in too many fragments");
    }
    return {};
}

}  // namespace

FrameEvent read_frame(std::span<char> bytes, const FrameLimits& limits,
                      std::unique_ptr<UnfinishedMessage>& unfinished, std::string& message_store) {
    const Header header = read_header(bytes, unfinished != nullptr);
    if (header.wrong != nullptr) {
        return failed(close_code::kProtocolError, header.wrong);
    }
    if (!header.complete) {
        return {};
    }
    const bool control = is_control(static_cast<std::uint8_t>(header.opcode));
    if (!control) {
        const FrameEvent refused = check_data_header(header, limits, unfinished.get());
        if (refused.kind == FrameEvent::Kind::error) {
            return refused;
        }
    }
    if (bytes.size() < header.size || bytes.size() - header.size < header.payload_size) {
        return {};
    }
    const auto payload_size = static_cast<std::size_t>(header.payload_size);
    const std::size_t consumed = header.size + payload_size;
    const std::span<char> payload = bytes.subspan(header.size, payload_size);
    unmask(payload, bytes.data() + header.size - kMaskSize);
    const std::string_view text{payload.data(), payload.size()};
    if (control) {
        return control_event(header.opcode, text, consumed);
    }
    if (header.final && unfinished == nullptr) {
        return text_event(text, consumed);
    }
    if (unfinished == nullptr) {
        unfinished = std::make_unique<UnfinishedMessage>();
    }
    const std::size_t last = last_character_at(unfinished->bytes);
    unfinished->bytes.append(text);
    ++unfinished->fragments;
    if (!header.final) {
        if (!may_become_valid_utf8(std::string_view(unfinished->bytes).substr(last))) {
            return failed(close_code::kInvalidText, "text is not UTF-8");
        }
        return {.kind = FrameEvent::Kind::fragment, .code = 0, .consumed = consumed, .payload = {}};
    }
    message_store = std::move(unfinished->bytes);
    unfinished.reset();
    return text_event(message_store, consumed);
}

bool is_valid_close_code(std::uint16_t code) noexcept {
    return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
           (code >= 3000 && code <= 4999);
}

bool is_valid_utf8(std::string_view text) noexcept {
    return valid_utf8_size(text) == text.size();
}

EncodedHeader encode_header(Opcode opcode, std::uint64_t payload_size) noexcept {
    EncodedHeader header;
    header.bytes[0] = static_cast<char>(kFinalBit | static_cast<std::uint8_t>(opcode));
    int length_size = 0;
    if (payload_size < kLength16) {
        header.bytes[1] = static_cast<char>(payload_size);
    } else if (payload_size <= 0xFFFF) {
        header.bytes[1] = static_cast<char>(kLength16);
        length_size = 2;
    } else {
        header.bytes[1] = static_cast<char>(kLength64);
        length_size = 8;
    }
    for (int i = 0; i < length_size; ++i) {
        header.bytes[2 + i] = static_cast<char>(payload_size >> (8 * (length_size - 1 - i)));
    }
    header.size = static_cast<std::uint8_t>(2 + length_size);
    return header;
}

std::string encode_text_frame(std::string_view payload) {
    const EncodedHeader header = encode_header(Opcode::text, payload.size());
    std::string frame;
    frame.reserve(header.size + payload.size());
    frame.append(header.view());
    frame.append(payload);
    return frame;
}

std::string encode_close_frame(std::uint16_t code, std::string_view reason) {
    std::size_t reason_size = std::min<std::size_t>(reason.size(), kControlPayloadMost - 2);
    while (reason_size > 0 && reason_size < reason.size() &&
           (static_cast<std::uint8_t>(reason[reason_size]) & 0xC0) == 0x80) {
        --reason_size;
    }
    const bool bare = code == close_code::kNone;
    PRESENCE_ASSERT(bare || is_valid_close_code(code));
    std::string frame{encode_header(Opcode::close, bare ? 0 : 2 + reason_size).view()};
    if (!bare) {
        frame.push_back(static_cast<char>(code >> 8));
        frame.push_back(static_cast<char>(code & 0xFF));
        frame.append(reason.substr(0, reason_size));
    }
    return frame;
}

std::string encode_client_frame(Opcode opcode, std::string_view payload, std::uint32_t mask,
                                bool final) {
    EncodedHeader header = encode_header(opcode, payload.size());
    if (!final) {
        header.bytes[0] = static_cast<char>(opcode);
    }
    header.bytes[1] = static_cast<char>(static_cast<std::uint8_t>(header.bytes[1]) | kMaskBit);
    char mask_bytes[kMaskSize];
    std::memcpy(mask_bytes, &mask, kMaskSize);
    std::string frame{header.view()};
    frame.append(mask_bytes, kMaskSize);
    const std::size_t start = frame.size();
    frame.append(payload);
    unmask(std::span(frame).subspan(start), mask_bytes);
    return frame;
}

}  // namespace presence::net
