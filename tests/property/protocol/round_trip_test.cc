#include "presence/base/ids.h"
#include "presence/base/utf8.h"
#include "presence/protocol/client_message.h"
#include "presence/protocol/json_writer.h"
#include "presence/protocol/server_message.h"
#include "presence/rules/visibility.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>
#include <simdjson.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace presence::protocol {
namespace {

void append_utf8(std::string& out, char32_t point) {
    const auto unit = [&](char32_t bits) { out.push_back(static_cast<char>(bits)); };
    if (point < 0x80) {
        unit(point);
    } else if (point < 0x800) {
        unit(0xC0 | (point >> 6));
        unit(0x80 | (point & 0x3F));
    } else if (point < 0x10000) {
        unit(0xE0 | (point >> 12));
        unit(0x80 | ((point >> 6) & 0x3F));
        unit(0x80 | (point & 0x3F));
    } else {
        unit(0xF0 | (point >> 18));
        unit(0x80 | ((point >> 12) & 0x3F));
        unit(0x80 | ((point >> 6) & 0x3F));
        unit(0x80 | (point & 0x3F));
    }
}

/// Valid UTF-8 of up to `most` code points, of all planes and with all that JSON escapes.
std::string any_text(std::size_t least, std::size_t most) {
    const auto length = *rc::gen::inRange(least, most + 1);
    std::string out;
    for (std::size_t i = 0; i < length; ++i) {
        const char32_t point = *rc::gen::oneOf(rc::gen::inRange<char32_t>(1, 0x80),
                                               rc::gen::inRange<char32_t>(0x80, 0xD800),
                                               rc::gen::inRange<char32_t>(0xE000, 0x110000),
                                               rc::gen::element<char32_t>('"', '\\', '/'));
        append_utf8(out, point);
    }
    return out;
}

std::string any_id() {
    std::string id = "u";
    for (const auto point : *rc::gen::container<std::vector<char32_t>>(
             rc::gen::oneOf(rc::gen::inRange<char32_t>(0x20, 0x7F),
                            rc::gen::inRange<char32_t>(0x1F300, 0x1F600)))) {
        append_utf8(id, point);
    }
    id.resize(std::min<std::size_t>(id.size(), 128));
    while (check_id(id) != nullptr) {
        id.pop_back();
    }
    return id;
}

std::string json_text(std::string_view text) {
    std::string out;
    append_json_string(out, text);
    return out;
}

RC_GTEST_PROP(JsonWriter, WhatIsWrittenIsReadBackByAStrictParser, ()) {
    const std::string text = any_text(0, 60);
    simdjson::dom::parser parser;
    std::string_view read;
    RC_ASSERT(!parser.parse(json_text(text)).get(read));
    RC_ASSERT(read == text);
}

RC_GTEST_PROP(ClientMessage, ACustomStatusComesThroughByteForByteOrIsRefused, ()) {
    const std::string text = any_text(0, 110);
    const std::string emoji = any_text(0, 17);
    const std::string message =
        "{\"type\":\"status\",\"id\":1,\"customStatus\":{\"text\":" + json_text(text) +
        ",\"emoji\":" + json_text(emoji) + "}}";
    const ParsedMessage parsed = parse_client_message(message, ParseLimits{});
    const bool fits = *count_code_points(text) <= 100 && *count_code_points(emoji) <= 16 &&
                      text.size() <= 1024 && emoji.size() <= 64 && text.size() + emoji.size() > 0;
    RC_ASSERT(parsed.id == 1U);
    RC_ASSERT(parsed.message.has_value() == fits);
    if (fits) {
        const auto& change = std::get<StatusChange>(*parsed.message);
        RC_ASSERT(change.custom.text == text);
        RC_ASSERT(change.custom.emoji == emoji);
    }
}

RC_GTEST_PROP(ClientMessage, UsersComeThroughInOrderEachOnce, ()) {
    std::vector<std::string> users;
    const auto count = *rc::gen::inRange(1, 30);
    for (int i = 0; i < count; ++i) {
        users.push_back(any_id());
    }
    std::string message = R"({"type":"get","users":[)";
    std::vector<std::string> expected;
    for (const std::string& user : users) {
        message.append(message.ends_with('[') ? "" : " , ").append(json_text(user));
        if (std::find(expected.begin(), expected.end(), user) == expected.end()) {
            expected.push_back(user);
        }
    }
    const ParsedMessage parsed = parse_client_message(message + "]}", ParseLimits{});
    RC_ASSERT(parsed.message.has_value());
    std::vector<std::string> read;
    for (const UserId& user : std::get<Get>(*parsed.message).users) {
        read.emplace_back(user.text);
    }
    RC_ASSERT(read == expected);
}

RC_GTEST_PROP(ClientMessage, AnIntegerIsTakenExactlyWithinItsBounds, (std::int64_t value)) {
    const ParsedMessage parsed = parse_client_message(
        R"({"type":"heartbeat","idleMs":)" + std::to_string(value) + "}", ParseLimits{});
    RC_ASSERT(parsed.message.has_value() == (value >= 0 && value <= kMaxInteger));
    if (parsed.message) {
        RC_ASSERT(std::get<Heartbeat>(*parsed.message).idle == Millis{value});
    }
}

/// The short way around the parser says what the parser says.
RC_GTEST_PROP(ClientMessage, ABareHeartbeatMeansTheSameWithAndWithoutParsing, ()) {
    const std::string id = *rc::gen::oneOf(
        rc::gen::map(rc::gen::arbitrary<std::uint64_t>(),
                     [](std::uint64_t value) { return std::to_string(value); }),
        rc::gen::map(rc::gen::inRange(-5, 1000), [](int value) { return std::to_string(value); }),
        rc::gen::container<std::string>(rc::gen::element('0', '1', '-', '.', 'e', ' ')));
    const std::string fields = R"("type":"heartbeat","id":)" + id + "}";
    RequestId fast;
    if (is_bare_heartbeat("{" + fields, fast)) {
        const ParsedMessage slow = parse_client_message("{ " + fields, ParseLimits{});
        RC_ASSERT(slow.message.has_value());
        RC_ASSERT(slow.id == fast);
    }
}

RC_GTEST_PROP(ClientMessage, AnyBytesAreAnsweredWithoutHarm, ()) {
    const auto bytes = *rc::gen::container<std::string>(rc::gen::oneOf(
        rc::gen::arbitrary<char>(),
        rc::gen::element('{', '}', '[', ']', '"', '\\', ':', ',', '-', '0', 'u', 'd', 'e')));
    const ParsedMessage plain = parse_client_message(bytes, ParseLimits{});
    RC_ASSERT(plain.message.has_value() || !plain.message.error().message.empty());
    const ParsedMessage inside = parse_client_message(
        R"({"type":"signal","id":3,"to":{"userId":"a"},"kind":"k","active":true,"data":)" + bytes +
            "}",
        ParseLimits{});
    RC_ASSERT(inside.message.has_value() || !inside.message.error().message.empty());
}

/// Whatever data a signal takes can be read by any strict parser, and is the value that was sent.
RC_GTEST_PROP(SignalMessage, DataStaysTheSameValue, ()) {
    const std::string text = any_text(0, 40);
    const auto number = *rc::gen::arbitrary<std::int32_t>();
    const std::string data = "{ \"text\" : " + json_text(text) + " ,\n\"list\":[ " +
                             std::to_string(number) + " , null ] }";
    const ParsedMessage parsed = parse_client_message(
        R"({"type":"signal","to":{"userId":"a"},"kind":"k","active":true,"data":)" + data + "}",
        ParseLimits{});
    RC_ASSERT(parsed.message.has_value());
    const std::string& passed = std::get<Signal>(*parsed.message).data;
    RC_ASSERT(passed ==
              "{\"text\":" + json_text(text) + ",\"list\":[" + std::to_string(number) + ",null]}");
    simdjson::dom::parser parser;
    RC_ASSERT(!parser.parse(encode_signal({UserId("u"), {}, "k", passed, true, 6s})).error());
}

/// However a snapshot is cut, its parts put together are the list, and none is too long.
RC_GTEST_PROP(SnapshotMessage, PartsPutTogetherAreTheWhole, ()) {
    const auto count = *rc::gen::inRange(0, 200);
    const std::size_t limit = *rc::gen::inRange<std::size_t>(4096, 20'000);
    std::vector<std::string> encoded;
    for (int i = 0; i < count; ++i) {
        encoded.push_back(
            encode_presence(rules::view_for(UserId(any_id()), nullptr, Verdict(), {WallTime{}})));
    }
    const std::vector<std::string_view> texts(encoded.begin(), encoded.end());
    const auto parts = encode_snapshot(1, texts, 0, WallTime{}, limit);
    std::vector<std::string> read;
    simdjson::dom::parser parser;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        RC_ASSERT(parts[i].size() <= limit);
        const simdjson::dom::element part = parser.parse(parts[i]);
        RC_ASSERT(part["more"].error() ==
                  (i + 1 < parts.size() ? simdjson::SUCCESS : simdjson::NO_SUCH_FIELD));
        for (const simdjson::dom::element presence : part["users"]) {
            read.push_back(simdjson::minify(presence));
        }
    }
    RC_ASSERT(read == encoded);
}

}  // namespace
}  // namespace presence::protocol
