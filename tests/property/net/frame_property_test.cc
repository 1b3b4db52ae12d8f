#include "presence/net/frame.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace presence::net {
namespace {

using Kind = FrameEvent::Kind;

constexpr FrameLimits kWide{.message_bytes = 1 << 20, .fragments = 1 << 16};

/// What a receiver is told, fragments left out: how a message was cut is not for it to know.
struct Told {
    Kind kind;
    std::uint16_t code;
    std::string payload;
    friend bool operator==(const Told&, const Told&) = default;
};

void showValue(const Told& told, std::ostream& os) {  // NOLINT(readability-identifier-naming)
    os << static_cast<int>(told.kind) << ":" << told.code << ":" << told.payload.size();
}

/// Reads a stream that arrives in pieces of the given sizes, over and over.
std::vector<Told> read_stream(const std::string& stream, const std::vector<std::size_t>& pieces,
                              const FrameLimits& limits) {
    std::vector<Told> told;
    std::unique_ptr<UnfinishedMessage> unfinished;
    std::string store;
    std::string unread;
    std::size_t piece = 0;
    for (std::size_t at = 0; at < stream.size();) {
        const std::size_t step = pieces.empty() ? stream.size() : pieces[piece++ % pieces.size()];
        unread += stream.substr(at, step);
        at += step;
        for (;;) {
            const FrameEvent event = read_frame(unread, limits, unfinished, store);
            if (event.kind == Kind::incomplete) {
                break;
            }
            if (event.kind == Kind::error) {
                told.push_back({event.kind, event.code, {}});
                return told;
            }
            if (event.kind != Kind::fragment) {
                told.push_back({event.kind, event.code, std::string(event.payload)});
            }
            unread.erase(0, event.consumed);
        }
    }
    return told;
}

/// A text message and how it is sent.
struct Message {
    std::string text;
    std::vector<std::size_t> cuts;  ///< Where fragments end; a repeated cut is an empty fragment.
    bool ping_between = false;
    std::uint32_t mask = 0;
};

rc::Gen<Message> any_message() {
    const auto text = rc::gen::mapcat(rc::gen::inRange(0, 400), [](int size) {
        return rc::gen::container<std::string>(static_cast<std::size_t>(size),
                                               rc::gen::inRange<char>(' ', '~'));
    });
    return rc::gen::build<Message>(
        rc::gen::set(&Message::text, text),
        rc::gen::set(&Message::cuts, rc::gen::container<std::vector<std::size_t>>(
                                         rc::gen::inRange<std::size_t>(0, 400))),
        rc::gen::set(&Message::ping_between), rc::gen::set(&Message::mask));
}

void encode(const Message& message, std::string& stream, std::vector<Told>& expected) {
    std::vector<std::size_t> ends = message.cuts;
    std::ranges::for_each(ends,
                          [&](std::size_t& end) { end = std::min(end, message.text.size()); });
    std::ranges::sort(ends);
    ends.push_back(message.text.size());
    std::size_t from = 0;
    for (std::size_t i = 0; i < ends.size(); ++i) {
        const bool last = i + 1 == ends.size();
        stream +=
            encode_client_frame(i == 0 ? Opcode::text : Opcode::continuation,
                                message.text.substr(from, ends[i] - from), message.mask, last);
        from = ends[i];
        if (message.ping_between && !last) {
            stream += encode_client_frame(Opcode::ping, "p", message.mask);
            expected.push_back({Kind::ping, 0, "p"});
        }
    }
    expected.push_back({Kind::text, 0, message.text});
}

std::vector<std::size_t> any_pieces() {
    return *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(1, 300));
}

/// Whatever is said, however it is fragmented and cut on the way, arrives as it was said.
RC_GTEST_PROP(Frame, MessagesComeThroughHoweverTheyAreCut, ()) {
    std::string stream;
    std::vector<Told> expected;
    for (const Message& message : *rc::gen::container<std::vector<Message>>(any_message())) {
        encode(message, stream, expected);
    }
    RC_ASSERT(read_stream(stream, any_pieces(), kWide) == expected);
}

/// Bytes that mean nothing are understood the same way however they arrive, and never crash.
RC_GTEST_PROP(Frame, TheMeaningOfAnyBytesDoesNotDependOnTheCut, (std::string bytes)) {
    // Most random frames fail at their first bytes: make many of them well begun.
    if (!bytes.empty() && *rc::gen::arbitrary<bool>()) {
        bytes.insert(0, encode_client_frame(Opcode::text, "ok", 1, *rc::gen::arbitrary<bool>()));
        bytes.insert(bytes.size() / 2, "\x80\x80");
    }
    const FrameLimits limits{.message_bytes = 300, .fragments = 3};
    RC_ASSERT(read_stream(bytes, any_pieces(), limits) == read_stream(bytes, {}, limits));
}

/// No message past the limit is ever delivered, and none within it is refused.
RC_GTEST_PROP(Frame, TheLimitIsExact, ()) {
    Message message = *any_message();
    std::string stream;
    std::vector<Told> expected;
    encode(message, stream, expected);
    const auto limit = *rc::gen::inRange<std::uint32_t>(0, 400);
    const auto told =
        read_stream(stream, any_pieces(), {.message_bytes = limit, .fragments = 1 << 16});
    if (message.text.size() <= limit) {
        RC_ASSERT(told == expected);
    } else {
        RC_ASSERT(told.back() == (Told{Kind::error, close_code::kTooLarge, {}}));
    }
}

/// A Close frame of ours is always one that a peer must take.
RC_GTEST_PROP(Frame, OurCloseFramesAreInShape, ()) {
    std::string reason;
    for (const std::string& character : *rc::gen::container<std::vector<std::string>>(
             *rc::gen::inRange<std::size_t>(0, 100),
             rc::gen::element<std::string>("a", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"))) {
        reason += character;
    }
    const std::string frame = encode_close_frame(4408, reason);
    RC_ASSERT(frame.size() <= 2U + 125U);
    RC_ASSERT(is_valid_utf8(std::string_view(frame).substr(4)));
    RC_ASSERT(reason.starts_with(std::string_view(frame).substr(4)));
}

}  // namespace
}  // namespace presence::net
