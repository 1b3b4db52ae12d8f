#include "presence/protocol/client_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace presence::protocol {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::StartsWith;

ParsedMessage parse(std::string_view text) {
    return parse_client_message(text, ParseLimits{});
}

template <class T>
T accepted(std::string_view text) {
    const ParsedMessage parsed = parse(text);
    EXPECT_TRUE(parsed.message.has_value()) << text << ": " << parsed.message.error().message;
    const T* message = parsed.message ? std::get_if<T>(&*parsed.message) : nullptr;
    EXPECT_NE(message, nullptr) << text;
    return message ? *message : T();
}

Error refused(std::string_view text) {
    const ParsedMessage parsed = parse(text);
    EXPECT_FALSE(parsed.message.has_value()) << text;
    return parsed.message ? Error{} : parsed.message.error();
}

std::string repeated(std::string_view text, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) {
        out.append(text);
    }
    return out;
}

TEST(ClientMessage, HelloMayBeEmptyOrSayEverything) {
    const auto empty = accepted<Hello>(R"({"type":"hello"})");
    EXPECT_FALSE(empty.token || empty.resume || empty.device || empty.activity || empty.observe);

    const auto full = accepted<Hello>(
        R"({"type":"hello","token":"a.b.c","resume":"r","device":{"type":"tablet","name":"Pad"},)"
        R"("activity":"idle","observe":true})");
    EXPECT_EQ(full.token, "a.b.c");
    EXPECT_EQ(full.resume, "r");
    EXPECT_EQ(full.device, (Device{DeviceKind::tablet, "Pad"}));
    EXPECT_EQ(full.activity, Activity::idle);
    EXPECT_EQ(full.observe, true);
}

TEST(ClientMessage, EachDeviceTypeIsItsOwn) {
    const auto kind = [](std::string_view word) {
        return accepted<Hello>(R"({"type":"hello","device":{"type":")" + std::string(word) + "\"}}")
            .device->kind;
    };
    for (int i = 0; i < kDeviceKinds; ++i) {
        EXPECT_EQ(kind(wire_name(static_cast<DeviceKind>(i))), static_cast<DeviceKind>(i));
    }
}

TEST(ClientMessage, ADeviceNameHas64CodePointsAnd256BytesAndNoControls) {
    const auto hello = [](const std::string& name) {
        return R"({"type":"hello","device":{"type":"web","name":")" + name + "\"}}";
    };
    EXPECT_EQ(accepted<Hello>(hello(repeated("😀", 64))).device->name, repeated("😀", 64));
    EXPECT_THAT(refused(hello(repeated("a", 65))).message, HasSubstr("65 code points, at most 64"));
    EXPECT_THAT(refused(hello(repeated("😀", 65))).message, HasSubstr("260 bytes, at most 256"));
    for (const char* control : {"\\n", "\\u001f", "\\u007f", "\\u0080", "\\u009f"}) {
        EXPECT_THAT(refused(hello(control)).message, HasSubstr("control character")) << control;
    }
    EXPECT_EQ(accepted<Hello>(hello("\\u00a0é")).device->name, "\u00a0é");
}

TEST(ClientMessage, AHeartbeatMayReportHowLongAgoTheLastInputWas) {
    EXPECT_FALSE(accepted<Heartbeat>(R"({"type":"heartbeat","x":1})").idle);
    EXPECT_EQ(accepted<Heartbeat>(R"({"type":"heartbeat","idleMs":0})").idle, Millis{0});
    EXPECT_EQ(accepted<Heartbeat>(R"({"idleMs":9007199254740991,"type":"heartbeat"})").idle,
              Millis{9'007'199'254'740'991});
}

TEST(ClientMessage, IntegersAreWrittenAsIntegersWithinTheirBounds) {
    for (const char* value :
         {"-1", "-0", "1.0", "0.5", "1e3", "1E3", "-0.0", "9007199254740992", "9007199254740993",
          "9223372036854775808", "18446744073709551616", "1e999", "-1e999",
          "123456789012345678901234567890", "\"1\"", "null", "true", "[1]", "{}"}) {
        const ParsedMessage parsed =
            parse(R"({"type":"heartbeat","id":5,"idleMs":)" + std::string(value) + "}");
        ASSERT_FALSE(parsed.message.has_value()) << value;
        EXPECT_EQ(parsed.message.error().code, ErrorCode::bad_request) << value;
        EXPECT_EQ(parsed.message.error().message,
                  "idleMs: must be an integer from 0 to 9007199254740991")
            << value;
        EXPECT_EQ(parsed.id, 5U) << value;
    }
}

TEST(ClientMessage, OddNumbersInUnknownFieldsAreIgnored) {
    for (const char* value :
         {"-0", "1e999", "-1e-999", "18446744073709551616", "[-0,{\"a\":-0}]"}) {
        const ParsedMessage parsed =
            parse(R"({"id":5,"future":)" + std::string(value) + R"(,"type":"bye"})");
        EXPECT_TRUE(parsed.message.has_value()) << value;
        EXPECT_EQ(parsed.id, 5U);
    }
    // In text they are text.
    EXPECT_EQ(accepted<Auth>(R"({"type":"auth","token":"-0 1e999, -0"})").token, "-0 1e999, -0");
}

TEST(ClientMessage, NumbersThatJsonDoesNotKnowAreRefused) {
    for (const char* value : {"01", "-", "+1", "1.", ".5", "1e", "0x1", "--0", "-00", "NaN", "1-0",
                              "-0-0", "0 -0", "Infinity"}) {
        const ParsedMessage parsed =
            parse(R"({"id":5,"future":)" + std::string(value) + R"(,"type":"bye"})");
        ASSERT_FALSE(parsed.message.has_value()) << value;
        EXPECT_EQ(parsed.message.error().message, "the text is not valid JSON") << value;
        EXPECT_FALSE(parsed.id) << value;
    }
}

TEST(ClientMessage, TheIdIsKnownThoughTheRequestIsRefused) {
    EXPECT_EQ(parse(R"({"type":"nonsense","id":0})").id, 0U);
    EXPECT_EQ(parse(R"({"id":9007199254740991})").id, 9'007'199'254'740'991U);
    EXPECT_EQ(parse(R"({"users":[1],"type":"get","id":77})").id, 77U);
}

TEST(ClientMessage, AnIdOfAnotherKindRefusesTheRequestAndIsNotAnswered) {
    for (const char* id : {"-1", "-0", "1.0", "1e3", "9007199254740992", "\"1\"", "null", "[]"}) {
        const ParsedMessage parsed = parse(R"({"type":"bye","id":)" + std::string(id) + "}");
        EXPECT_FALSE(parsed.id) << id;
        ASSERT_FALSE(parsed.message.has_value()) << id;
        EXPECT_THAT(parsed.message.error().message, StartsWith("id: must be an integer")) << id;
    }
}

TEST(ClientMessage, Fo066WhatIsNoObjectOrHasNoKnownTypeIsRefused) {
    for (const char* text : {"",
                             " ",
                             "null",
                             "true",
                             "1",
                             "-0",
                             "1e999",
                             "\"x\"",
                             "[]",
                             "[[]]",
                             "{}",
                             "{",
                             "}",
                             "{\"type\":null}",
                             "{\"type\":[]}",
                             "{\"type\":1}",
                             "{\"type\":\"\"}",
                             "{\"type\":\"Hello\"}",
                             "{\"type\":\"bye\"}x",
                             "{\"type\":\"bye\"}{}",
                             "{'type':'bye'}",
                             "{\"type\":\"bye\",}",
                             "\xEF\xBB\xBF{\"type\":\"bye\"}",
                             "{\"type\":\"b\tye\"}"}) {
        EXPECT_EQ(refused(text).code, ErrorCode::bad_request) << text;
    }
    EXPECT_EQ(refused("{\"type\":\"\xff\"}").message, "the text is not valid UTF-8");
    EXPECT_EQ(refused("{}").message, "type: is missing");
    EXPECT_EQ(refused(R"({"type":"x"})").message, "type: is not a known message type");
}

TEST(ClientMessage, Fo066OfAMemberGivenTwiceTheLastCounts) {
    const ParsedMessage parsed = parse(
        R"({"type":"hello","id":1,"state":"active","id":2,"type":"activity","state":"idle"})");
    EXPECT_EQ(parsed.id, 2U);
    ASSERT_TRUE(parsed.message.has_value());
    EXPECT_EQ(std::get<ActivityReport>(*parsed.message).state, Activity::idle);
}

TEST(ClientMessage, Fo065NestingStopsAt32Levels) {
    const auto nested = [](int levels) {
        // The message itself is the first.
        return R"({"type":"bye","x":)" + std::string(static_cast<std::size_t>(levels - 1), '[') +
               "1" + std::string(static_cast<std::size_t>(levels - 1), ']') + "}";
    };
    accepted<Bye>(nested(32));
    const auto empty_inside = [&](int levels, const char* innermost) {
        // The innermost holds nothing, which the parser does not count.
        std::string text = nested(levels - 1);
        return text.replace(text.find('1'), 1, innermost);
    };
    for (const char* innermost : {"[]", "{}", "[ \n]"}) {
        accepted<Bye>(empty_inside(32, innermost));
        EXPECT_EQ(refused(empty_inside(33, innermost)).message,
                  "the JSON is nested deeper than 32 levels");
    }
    accepted<Bye>(R"({"type":"bye","x":")" + std::string(100, '[') + R"("})");
    accepted<Bye>(R"({"type":"bye","x":[{})" + repeated(",{}", 100) + "]}");
    EXPECT_EQ(refused(nested(33)).message, "the JSON is nested deeper than 32 levels");
    for (const int levels : {100, 1200, 3000, 60'000}) {
        EXPECT_EQ(refused(nested(levels)).code, ErrorCode::bad_request);
        EXPECT_EQ(refused(std::string(static_cast<std::size_t>(levels), '[')).code,
                  ErrorCode::bad_request);
        EXPECT_EQ(refused(repeated("{\"a\":", levels)).code, ErrorCode::bad_request);
    }
}

TEST(ClientMessage, ABareHeartbeatIsToldWithoutParsing) {
    RequestId id = 9;
    EXPECT_TRUE(is_bare_heartbeat(R"({"type":"heartbeat"})", id));
    EXPECT_FALSE(id);
    EXPECT_TRUE(is_bare_heartbeat(R"({"type":"heartbeat","id":0})", id));
    EXPECT_EQ(id, 0U);
    EXPECT_TRUE(is_bare_heartbeat(R"({"type":"heartbeat","id":9007199254740991})", id));
    EXPECT_EQ(id, 9'007'199'254'740'991U);
    for (const char* text :
         {"", "{", "}", R"({"type":"heartbeat")", R"({"type":"heartbeats"})",
          R"({"type":"heartbeat"}})", R"({"type":"heartbeat","id":})",
          R"({"type":"heartbeat","id":01})", R"({"type":"heartbeat","id":-0})",
          R"({"type":"heartbeat","id":+1})", R"({"type":"heartbeat","id":1.0})",
          R"({"type":"heartbeat","id":9007199254740992})",
          R"({"type":"heartbeat","id":99999999999999999999})",
          R"({"type":"heartbeat","id":1,"idleMs":5})", R"({"type":"heartbeat" })"}) {
        EXPECT_FALSE(is_bare_heartbeat(text, id)) << text;
    }
}

TEST(ClientMessage, UsersComeInOrderEachOnce) {
    const auto get = accepted<Get>(R"({"type":"get","users":["b","a","b","007","7"]})");
    EXPECT_THAT(get.users, ElementsAre(UserId("b"), UserId("a"), UserId("007"), UserId("7")));
}

TEST(ClientMessage, Fo073TextThatLooksLikeANumberStaysText) {
    const auto get = accepted<Get>(
        R"({"type":"get","users":["9007199254740993","9223372036854775808","1e3","-0"]})");
    EXPECT_THAT(get.users, ElementsAre(UserId("9007199254740993"), UserId("9223372036854775808"),
                                       UserId("1e3"), UserId("-0")));
    for (const char* number : {"9007199254740993", "7", "123456789012345678901234567890"}) {
        const ParsedMessage parsed =
            parse(R"({"type":"get","id":3,"users":["a",)" + std::string(number) + "]}");
        EXPECT_EQ(parsed.id, 3U);
        EXPECT_EQ(parsed.message.error().message, "users[1]: must be a string");
    }
}

TEST(ClientMessage, IdsFollowTheirRule) {
    const auto get = [](const std::string& user) {
        return R"({"type":"get","users":[")" + user + "\"]}";
    };
    accepted<Get>(get(std::string(128, 'x')));
    EXPECT_THAT(refused(get(std::string(129, 'x'))).message, HasSubstr("longer than 128 bytes"));
    EXPECT_THAT(refused(get("")).message, HasSubstr("is empty"));
    EXPECT_THAT(refused(get("  ")).message, HasSubstr("is blank"));
    EXPECT_THAT(refused(get("a\\u001f")).message, HasSubstr("control character"));
    EXPECT_THAT(refused(get("a\\u202e")).message, HasSubstr("direction control"));
    for (const char* half : {"\\u0000", "a\\u0000b", "\\ud83d", "\\ude00\\ud83d", "a\\udc49b"}) {
        EXPECT_EQ(refused(get(half)).message, "users[0]: holds U+0000 or half of a surrogate pair");
    }
    EXPECT_EQ(accepted<Get>(get("\\ud83d\\ude00")).users.front(), UserId("😀"));
}

TEST(ClientMessage, Fo042AListLongerThanItsLimitNamesTheLimit) {
    const auto users = [](int count) {
        std::string list;
        for (int i = 0; i < count; ++i) {
            list.append(i > 0 ? ",\"u" : "\"u").append(std::to_string(i)).append("\"");
        }
        return list;
    };
    for (const char* type : {"watch", "get", "unwatch"}) {
        const auto message = [&](int count) {
            return "{\"type\":\"" + std::string(type) + "\",\"users\":[" + users(count) + "]}";
        };
        EXPECT_TRUE(parse(message(500)).message.has_value()) << type;
        for (const int count : {501, 5000}) {
            const Error error = refused(message(count));
            EXPECT_EQ(error.code, ErrorCode::limit_exceeded) << type;
            EXPECT_EQ(error.limit, 500) << type;
            EXPECT_EQ(error.message,
                      "users: holds " + std::to_string(count) + " users, at most 500");
        }
        const auto doubled = [&](int count, const std::string& again) {
            return "{\"type\":\"" + std::string(type) + "\",\"users\":[" + users(count) + again +
                   "]}";
        };
        EXPECT_TRUE(parse(doubled(500, ",\"u0\"")).message.has_value()) << type;
        EXPECT_TRUE(parse(doubled(500, "," + users(500))).message.has_value()) << type;
        EXPECT_EQ(refused(doubled(500, "," + users(500) + ",\"u0\"")).message,
                  "users: holds 1001 users, at most 500");
        EXPECT_EQ(refused(doubled(501, ",\"u0\"")).message, "users: holds 501 users, at most 500");
    }
    const Error error =
        parse_client_message("{\"type\":\"block\",\"users\":[" + users(4) + "]}", {.list_users = 3})
            .message.error();
    EXPECT_EQ(error.code, ErrorCode::limit_exceeded);
    EXPECT_EQ(error.limit, 3);
}

TEST(ClientMessage, WatchKeepsModeAndKnownVersions) {
    const auto watch = accepted<Watch>(
        R"({"type":"watch","users":["a"],"mode":"set","known":{"a":1,"z":9007199254740991,"a":0}})");
    EXPECT_EQ(watch.mode, Watch::Mode::set);
    EXPECT_THAT(watch.known, ElementsAre(Pair(UserId("a"), Version{0}),
                                         Pair(UserId("z"), Version{9'007'199'254'740'991})));
    EXPECT_EQ(accepted<Watch>(R"({"type":"watch","users":["a"]})").mode, Watch::Mode::add);
}

TEST(ClientMessage, OnlyASetMayWatchNobody) {
    EXPECT_THAT(accepted<Watch>(R"({"type":"watch","users":[],"mode":"set"})").users, IsEmpty());
    EXPECT_EQ(refused(R"({"type":"watch","users":[]})").message, "users: names nobody");
    EXPECT_EQ(refused(R"({"type":"get","users":[]})").message, "users: names nobody");
    // A library that lost its list must not wipe the screen.
    EXPECT_EQ(refused(R"({"type":"watch","mode":"set"})").message, "users: is missing");
}

TEST(ClientMessage, KnownIsHeldAgainstTypeRuleAndLimit) {
    const auto known = [](std::string_view value) {
        return R"({"type":"watch","users":["a"],"known":)" + std::string(value) + "}";
    };
    for (const char* value :
         {"[]", "1", "null", R"({"a":-1})", R"({"a":"1"})", R"({"a":1.0})", R"({"a":-0})",
          R"({"":1})", R"({"\u0000":1})", R"({"\ud83d":1})", R"({"a":9007199254740992})"}) {
        const Error error = refused(known(value));
        EXPECT_EQ(error.code, ErrorCode::bad_request) << value;
        EXPECT_THAT(error.message, StartsWith("known: ")) << value;
    }
    std::string many = "{\"u\":1";
    for (int i = 0; i < 500; ++i) {
        many.append(",\"u").append(std::to_string(i)).append("\":1");
    }
    EXPECT_EQ(refused(known(many + "}")).code, ErrorCode::limit_exceeded);
}

TEST(ClientMessage, UnwatchNamesUsersOrAll) {
    EXPECT_TRUE(accepted<Unwatch>(R"({"type":"unwatch","all":true})").all);
    EXPECT_THAT(accepted<Unwatch>(R"({"type":"unwatch","users":[]})").users, IsEmpty());
    EXPECT_THAT(accepted<Unwatch>(R"({"type":"unwatch","users":["a"],"all":false})").users,
                SizeIs(1));
    EXPECT_EQ(refused(R"({"type":"unwatch"})").message, "users: is missing");
    EXPECT_EQ(refused(R"({"type":"unwatch","all":false})").message, "users: is missing");
}

TEST(ClientMessage, BlockAndUnblockMayNameNobody) {
    EXPECT_THAT(accepted<Block>(R"({"type":"block","users":[]})").users, IsEmpty());
    EXPECT_THAT(accepted<Unblock>(R"({"type":"unblock","users":["m"]})").users,
                ElementsAre(UserId("m")));
}

TEST(ClientMessage, PrivacyWithoutRulesIsAQuestion) {
    EXPECT_EQ(accepted<PrivacyChange>(R"({"type":"privacy"})").rules, PrivacySettings{});
}

TEST(ClientMessage, PrivacyRulesHaveUsersWhereTheyMeanSomething) {
    const auto rules = accepted<PrivacyChange>(
                           R"({"type":"privacy","online":{"mode":"only","users":["b","a","b"]},)"
                           R"("lastSeen":{"mode":"nobody","users":["x"]}})")
                           .rules;
    EXPECT_EQ(rules.online, (PrivacyRule{Audience::only, UserSet({UserId("a"), UserId("b")})}));
    EXPECT_EQ(rules.last_seen, (PrivacyRule{Audience::nobody, {}}));
    EXPECT_EQ(refused(R"({"type":"privacy","online":{"mode":"only"}})").message,
              "online.users: is missing");
    EXPECT_EQ(refused(R"({"type":"privacy","lastSeen":{}})").message, "lastSeen.mode: is missing");
    EXPECT_EQ(refused(R"({"type":"privacy","online":{"mode":"everyone","users":[1]}})").message,
              "online.users[0]: must be a string");
}

TEST(ClientMessage, DeliveryAuthAndByeSayWhatTheySay) {
    EXPECT_TRUE(accepted<Delivery>(R"({"type":"delivery","mode":"paused"})").paused);
    EXPECT_FALSE(accepted<Delivery>(R"({"type":"delivery","mode":"live"})").paused);
    EXPECT_EQ(accepted<Auth>(R"({"type":"auth","token":"t"})").token, "t");
    accepted<Bye>(R"({"type":"bye"})");
    EXPECT_EQ(refused(R"({"type":"auth"})").message, "token: is missing");
    EXPECT_EQ(refused(R"({"type":"delivery"})").message, "mode: is missing");
    EXPECT_EQ(refused(R"({"type":"activity"})").message, "state: is missing");
}

TEST(ClientMessage, JoinAndLeaveAreRecognised) {
    const auto join = accepted<Join>(
        R"({"type":"join","room":"r","meta":{ "a": [1, 2] },"observe":true,"updates":false})");
    EXPECT_EQ(join.room, RoomId("r"));
    EXPECT_EQ(join.meta, R"({"a":[1,2]})");
    EXPECT_TRUE(join.observe);
    EXPECT_FALSE(join.updates);
    EXPECT_EQ(accepted<Leave>(R"({"type":"leave","room":"r"})").room, RoomId("r"));
    EXPECT_EQ(refused(R"({"type":"join","room":"r","meta":[]})").message,
              "meta: must be an object");
    const std::string long_meta =
        R"({"type":"join","room":"r","meta":{"a":")" + std::string(1024, 'x') + "\"}}";
    EXPECT_EQ(refused(long_meta).code, ErrorCode::too_large);
}

}  // namespace
}  // namespace presence::protocol
