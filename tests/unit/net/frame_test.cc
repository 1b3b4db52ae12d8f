#include "presence/net/frame.h"

#include "presence/net/partial_utf8.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace presence::net {
namespace {

using namespace std::literals;
using Kind = FrameEvent::Kind;

constexpr std::uint32_t kMask = 0x5A17C3F0;

/// What a stream of bytes means, written down so that two readings can be compared.
struct Seen {
    Kind kind;
    std::uint16_t code;
    std::string payload;
    friend bool operator==(const Seen&, const Seen&) = default;
};

/// Reads `stream` as it would arrive in pieces that end at `cuts`.
std::vector<Seen> read_in_pieces(std::string_view stream, const std::vector<std::size_t>& cuts,
                                 const FrameLimits& limits = {}) {
    std::vector<Seen> seen;
    std::unique_ptr<UnfinishedMessage> unfinished;
    std::string store;
    std::string unread;
    std::size_t from = 0;
    std::vector<std::size_t> ends = cuts;
    ends.push_back(stream.size());
    for (const std::size_t end : ends) {
        unread.append(stream.substr(from, end - from));
        from = end;
        for (;;) {
            const FrameEvent event = read_frame(unread, limits, unfinished, store);
            if (event.kind == Kind::incomplete) {
                break;
            }
            seen.push_back({event.kind, event.code,
                            event.kind == Kind::error ? "" : std::string(event.payload)});
            if (event.kind == Kind::error) {
                return seen;
            }
            unread.erase(0, event.consumed);
        }
    }
    return seen;
}

std::vector<Seen> read_all(std::string_view stream, const FrameLimits& limits = {}) {
    return read_in_pieces(stream, {}, limits);
}

std::string text_frame(std::string_view text, bool final = true) {
    return encode_client_frame(Opcode::text, text, kMask, final);
}
std::string more_frame(std::string_view text, bool final = true) {
    return encode_client_frame(Opcode::continuation, text, kMask, final);
}
std::string close_frame(std::uint16_t code, std::string_view reason = {}) {
    std::string payload{static_cast<char>(code >> 8), static_cast<char>(code & 0xFF)};
    payload += reason;
    return encode_client_frame(Opcode::close, payload, kMask);
}
std::string text_of(std::size_t size) {
    return std::string(size, 'x');
}

TEST(Frame, TextComesOutUnmasked) {
    EXPECT_EQ(read_all(text_frame("{\"type\":\"heartbeat\"}")),
              (std::vector<Seen>{{Kind::text, 0, "{\"type\":\"heartbeat\"}"}}));
}

TEST(Frame, LengthsAtTheBordersOfTheirForms) {
    const FrameLimits limits{.message_bytes = 200'000};
    for (const std::size_t size : {0U, 1U, 7U, 8U, 9U, 125U, 126U, 127U, 65535U, 65536U, 200000U}) {
        const auto seen = read_all(text_frame(text_of(size)), limits);
        ASSERT_EQ(seen.size(), 1U) << size;
        EXPECT_EQ(seen[0].kind, Kind::text) << size;
        EXPECT_EQ(seen[0].payload.size(), size);
    }
}

TEST(Frame, FragmentsAreJoinedAndControlFramesPassBetweenThem) {
    const std::string stream = text_frame("ab", false) +
                               encode_client_frame(Opcode::ping, "p", kMask) +
                               more_frame("", false) + more_frame("cd");

    EXPECT_EQ(read_all(stream), (std::vector<Seen>{{Kind::fragment, 0, ""},
                                                   {Kind::ping, 0, "p"},
                                                   {Kind::fragment, 0, ""},
                                                   {Kind::text, 0, "abcd"}}));
}

TEST(Frame, ACharacterMaySpanFragments) {
    const std::string stream = text_frame("\xE2\x82", false) + more_frame("\xAC");
    EXPECT_EQ(read_all(stream).back(), (Seen{Kind::text, 0, "\xE2\x82\xAC"}));
}

/// One frame out of shape, and the code it earns.
struct Wrong {
    const char* name;
    std::string bytes;
    std::uint16_t code;
};

std::vector<Wrong> wrong_frames() {
    std::vector<Wrong> all{
        {"unmasked", "\x81\x01x"s, 1002},
        {"rsv1", "\xC1\x80\1\2\3\4"s, 1002},
        {"rsv2", "\xA1\x80\1\2\3\4"s, 1002},
        {"rsv3", "\x91\x80\1\2\3\4"s, 1002},
        {"ping of 126", "\x89\xFE\0\x7E"s, 1002},
        {"ping of 65536", "\x89\xFF\0\0\0\0\0\1\0\0"s, 1002},
        {"close of 126", "\x88\xFE\0\x7E"s, 1002},
        {"fragmented ping", "\x09\x80\1\2\3\4"s, 1002},
        {"fragmented close", "\x08\x80\1\2\3\4"s, 1002},
        {"continuation of nothing", more_frame("x"), 1002},
        {"text inside a message", text_frame("a", false) + text_frame("b"), 1002},
        {"16-bit length of 125", "\x81\xFE\0\x7D\1\2\3\4"s, 1002},
        {"64-bit length of 65535", "\x81\xFF\0\0\0\0\0\0\xFF\xFF\1\2\3\4"s, 1002},
        {"64-bit length, top bit", "\x81\xFF\x80\0\0\0\0\0\0\1\1\2\3\4"s, 1002},
        {"binary", encode_client_frame(Opcode::binary, "x", kMask), 1003},
        {"close of one byte", encode_client_frame(Opcode::close, "x", kMask), 1002},
        {"close reason not UTF-8", close_frame(1000, "\xFF"), 1007},
        {"text not UTF-8", text_frame("\xC3\x28"), 1007},
        {"surrogate", text_frame("\xED\xA0\x80"), 1007},
        {"overlong", text_frame("\xC0\xAF"), 1007},
        {"past U+10FFFF", text_frame("\xF4\x90\x80\x80"), 1007},
        {"cut character", text_frame("\xE2\x82"), 1007},
        {"bad byte behind eight good ones", text_frame("abcdefgh\xFFijklmnop"), 1007},
        {"fragments not UTF-8", text_frame("a", false) + more_frame("\xFF"), 1007},
        {"first fragment not UTF-8", text_frame("a\xFF", false), 1007},
        {"character that cannot be finished",
         text_frame("a\xF4", false) + more_frame("\x90", false), 1007},
    };
    for (const int opcode : {3, 4, 5, 6, 7, 11, 12, 13, 14, 15}) {
        all.push_back(
            {"reserved opcode", encode_client_frame(static_cast<Opcode>(opcode), "", kMask), 1002});
    }
    for (const int code : {0, 999, 1004, 1005, 1006, 1015, 1016, 1999, 2999, 5000, 65'535}) {
        all.push_back({"close code", close_frame(static_cast<std::uint16_t>(code)), 1002});
    }
    return all;
}

TEST(Frame, EachBrokenRuleHasItsCode) {
    for (const Wrong& wrong : wrong_frames()) {
        const auto seen = read_all(wrong.bytes);
        ASSERT_FALSE(seen.empty()) << wrong.name;
        EXPECT_EQ(seen.back().kind, Kind::error) << wrong.name;
        EXPECT_EQ(seen.back().code, wrong.code) << wrong.name;
    }
}

TEST(Frame, CloseCodesThatMayBeSentPass) {
    for (const int code : {1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014,
                           3000, 3999, 4000, 4408, 4999}) {
        const auto seen = read_all(close_frame(static_cast<std::uint16_t>(code), "why"));
        EXPECT_EQ(seen,
                  (std::vector<Seen>{{Kind::close, static_cast<std::uint16_t>(code), "why"}}));
    }
    EXPECT_EQ(read_all(encode_client_frame(Opcode::close, "", kMask)),
              (std::vector<Seen>{{Kind::close, close_code::kNone, ""}}));
}

TEST(Frame, AMessageOverTheLimitIsKnownByItsHeaderAlone) {
    const FrameLimits limits{.message_bytes = 1000};
    EXPECT_EQ(read_all(text_frame(text_of(1000)), limits)[0].kind, Kind::text);

    const std::string over = text_frame(text_of(1001));
    EXPECT_EQ(read_all(over.substr(0, 8), limits), (std::vector<Seen>{{Kind::error, 1009, ""}}));

    const std::string huge = "\x81\xFF\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF\1\2\3\4"s;
    EXPECT_EQ(read_all(huge, limits), (std::vector<Seen>{{Kind::error, 1009, ""}}));
}

TEST(Frame, ATextThatMayBecomeValidIsOneThatSomeEndMakesValid) {
    // The continuations at which RFC 3629 draws its lines.
    const std::vector<std::string> continuations{"\x80", "\x8F", "\x90", "\x9F", "\xA0", "\xBF"};
    std::vector<std::string> ends{""};
    for (std::size_t from = 0; ends.size() < 1 + 6 + 36 + 216; ++from) {
        for (const std::string& more : continuations) {
            ends.push_back(ends[from] + more);
        }
    }
    for (int i = 0; i <= 0xFFFF; ++i) {
        const std::string text{static_cast<char>(i >> 8), static_cast<char>(i & 0xFF)};
        const bool expected = std::ranges::any_of(
            ends, [&](const std::string& end) { return is_valid_utf8(text + end); });
        ASSERT_EQ(may_become_valid_utf8(text), expected) << std::hex << i;
        // Cut into two fragments it is the same: the second is judged from the last character on.
        const bool whole = may_become_valid_utf8(text.substr(0, 1)) &&
                           may_become_valid_utf8(text.substr(last_character_at(text.substr(0, 1))));
        ASSERT_EQ(whole, expected) << std::hex << i;
    }
}

TEST(Frame, TheSumOfFragmentsIsLimited) {
    const FrameLimits limits{.message_bytes = 10};
    const std::string start = text_frame("12345", false);
    EXPECT_EQ(read_all(start + more_frame("67890"), limits).back(),
              (Seen{Kind::text, 0, "1234567890"}));
    EXPECT_EQ(read_all(start + more_frame("678901"), limits).back(), (Seen{Kind::error, 1009, ""}));
}

TEST(Frame, FO094_EmptyFragmentsCountAndAreLimited) {
    const FrameLimits limits{.message_bytes = 100, .fragments = 4};
    const std::string start = text_frame("", false) + more_frame("", false) + more_frame("", false);
    EXPECT_EQ(read_all(start + more_frame(""), limits).back(), (Seen{Kind::text, 0, ""}));
    EXPECT_EQ(read_all(start + more_frame("", false) + more_frame(""), limits).back(),
              (Seen{Kind::error, 1008, ""}));
}

TEST(Frame, CutAtEveryByteTheMeaningIsTheSame) {
    std::vector<std::string> streams{
        text_frame("héllo") + encode_client_frame(Opcode::pong, "", kMask) + text_frame(""),
        text_frame("ab", false) + encode_client_frame(Opcode::ping, "x", kMask) + more_frame("cd") +
            close_frame(4001, "bye"),
        text_frame(text_of(130)) + text_frame("after"),
    };
    for (const Wrong& wrong : wrong_frames()) {
        streams.push_back(text_frame("ok") + wrong.bytes);
    }
    for (const std::string& stream : streams) {
        const auto whole = read_all(stream);
        for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
            EXPECT_EQ(read_in_pieces(stream, {cut}), whole) << "cut at " << cut;
        }
        std::vector<std::size_t> every;
        for (std::size_t i = 1; i < stream.size(); ++i) {
            every.push_back(i);
        }
        EXPECT_EQ(read_in_pieces(stream, every), whole);
    }
}

TEST(Frame, WhatServersSendIsUnmaskedAndInItsShortestForm) {
    EXPECT_EQ(encode_text_frame("hi"), "\x81\x02hi");
    EXPECT_EQ(encode_text_frame(text_of(126)).substr(0, 4), "\x81\x7E\0\x7E"s);
    EXPECT_EQ(encode_text_frame(text_of(65'536)).substr(0, 10), "\x81\x7F\0\0\0\0\0\1\0\0"s);
    EXPECT_EQ(encode_close_frame(1000, "bye"),
              "\x88\x05\x03\xE8"
              "bye");
    EXPECT_EQ(encode_close_frame(close_code::kNone, "ignored"), "\x88\0"s);
}

TEST(Frame, ALongCloseReasonIsCutBetweenCharacters) {
    std::string reason(122, 'r');
    reason += "\xE2\x82\xAC";
    const std::string frame = encode_close_frame(4000, reason);
    EXPECT_EQ(frame.size(), 2U + 2U + 122U);
    EXPECT_TRUE(is_valid_utf8(std::string_view(frame).substr(4)));
}

}  // namespace
}  // namespace presence::net
