// Any bytes, as a WebSocket client might send them, read by our codec and by Beast's: the same
// texts, pings and pongs come out, up to where one of them refuses to go on. Ours may refuse what
// Beast takes (binary messages, as the protocol has none, and codes of Close frames from 5000 on,
// which RFC 6455 gives to nobody); what Beast refuses, ours never takes.
#include "presence/base/assert.h"
#include "presence/net/frame.h"

#include <boost/asio/io_context.hpp>
#include <boost/beast/_experimental/test/stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket/stream.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace beast = boost::beast;
namespace websocket = beast::websocket;
using namespace presence::net;

constexpr FrameLimits kLimits{.message_bytes = 1 << 16, .fragments = 1 << 16};
constexpr std::string_view kHandshake =
    "GET / HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";

/// What was read, in order: "t" text, "i" ping, "o" pong, "c" close, each with its payload.
struct Heard {
    std::vector<std::string> frames;
    bool refused = false;
    bool refused_for_ours = false;  ///< For a rule that only this protocol has.
    std::uint16_t close_code = 0;   ///< Of Beast alone.
};

Heard read_ours(std::string_view stream) {
    Heard heard;
    std::unique_ptr<UnfinishedMessage> unfinished;
    std::string store;
    std::string unread(stream);
    for (;;) {
        const FrameEvent event = read_frame(unread, kLimits, unfinished, store);
        const std::string payload(event.payload);
        switch (event.kind) {
            case FrameEvent::Kind::incomplete:
                return heard;
            case FrameEvent::Kind::fragment:
                break;
            case FrameEvent::Kind::text:
                heard.frames.push_back("t" + payload);
                break;
            case FrameEvent::Kind::ping:
                heard.frames.push_back("i" + payload);
                break;
            case FrameEvent::Kind::pong:
                heard.frames.push_back("o" + payload);
                break;
            case FrameEvent::Kind::close:
                if (event.code == 1014) {  // Registered after Beast was made.
                    heard.refused = heard.refused_for_ours = true;
                    return heard;
                }
                heard.frames.push_back("c" + payload);
                return heard;
            case FrameEvent::Kind::error:
                heard.refused = true;
                heard.refused_for_ours = event.code == close_code::kUnsupported ||
                                         event.code == close_code::kTooLarge ||
                                         event.code == close_code::kPolicy;
                return heard;
        }
        unread.erase(0, event.consumed);
    }
}

Heard read_beasts(std::string_view stream) {
    Heard heard;
    boost::asio::io_context context;
    beast::test::stream peer(context);
    websocket::stream<beast::test::stream> socket(context);
    socket.next_layer().connect(peer);
    socket.next_layer().append({kHandshake.data(), kHandshake.size()});
    socket.next_layer().append({stream.data(), stream.size()});
    peer.close();
    socket.read_message_max(kLimits.message_bytes);
    socket.control_callback([&](websocket::frame_type kind, beast::string_view payload) {
        const char* const what = kind == websocket::frame_type::ping   ? "i"
                                 : kind == websocket::frame_type::pong ? "o"
                                                                       : "c";
        heard.frames.push_back(what + std::string(payload));
    });
    beast::error_code error;
    socket.accept(error);
    PRESENCE_ASSERT(!error);
    while (!error) {
        beast::flat_buffer message;
        socket.read(message, error);
        if (!error && socket.got_text()) {
            const auto bytes = message.cdata();
            const std::string text(static_cast<const char*>(bytes.data()), bytes.size());
            if (!websocket::detail::check_utf8(text.data(), text.size())) {
                // Ends within a character: Beast does not look where the last fragment is empty.
                heard.refused = true;
                return heard;
            }
            heard.frames.push_back("t" + text);
        } else if (!error) {
            heard.frames.push_back("b");
        }
    }
    heard.close_code = socket.reason().code;
    heard.refused = error != websocket::error::closed && error != boost::asio::error::eof &&
                    error != beast::test::error::test_failure;
    return heard;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view stream(reinterpret_cast<const char*>(data), size);
    const Heard ours = read_ours(stream);
    const Heard theirs = read_beasts(stream);
    // Beast may know of a fault inside a frame that has not come whole; ours waits for the rest.
    const std::size_t common = std::min(ours.frames.size(), theirs.frames.size());
    for (std::size_t i = 0; i < common; ++i) {
        PRESENCE_ASSERT(ours.frames[i] == theirs.frames[i]);
    }
    PRESENCE_ASSERT(theirs.refused || ours.refused || ours.frames.size() == theirs.frames.size());
    PRESENCE_ASSERT(ours.frames.size() <= theirs.frames.size());
    constexpr std::uint16_t kFirstOfNobody = 5000;
    PRESENCE_ASSERT(ours.refused_for_ours || theirs.close_code >= kFirstOfNobody ||
                    ours.frames.size() == theirs.frames.size());
    return 0;
}
