#include "presence/protocol/client_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace presence::protocol {
namespace {

using ::testing::HasSubstr;

std::string signal(std::string_view fields) {
    return R"({"type":"signal","id":1,"to":{"userId":"bo"},"kind":"typing","active":true)" +
           std::string(fields) + "}";
}

Signal accepted(std::string_view text) {
    const ParsedMessage parsed = parse_client_message(text, ParseLimits{});
    EXPECT_TRUE(parsed.message.has_value()) << text << ": " << parsed.message.error().message;
    return parsed.message ? std::get<Signal>(*parsed.message) : Signal();
}

Error refused(std::string_view text) {
    const ParsedMessage parsed = parse_client_message(text, ParseLimits{});
    EXPECT_EQ(parsed.id, 1U);
    EXPECT_FALSE(parsed.message.has_value()) << text;
    return parsed.message ? Error() : parsed.message.error();
}

TEST(SignalMessage, GoesToAUserOrARoom) {
    const Signal to_user = accepted(signal(""));
    EXPECT_EQ(std::get<UserId>(to_user.to), UserId("bo"));
    EXPECT_EQ(to_user.kind, "typing");
    EXPECT_TRUE(to_user.active);
    EXPECT_EQ(to_user.data, "");
    EXPECT_EQ(std::get<RoomId>(accepted(signal(R"(,"to":{"room":"r"})")).to), RoomId("r"));
    for (const char* to : {"{}", R"({"userId":"a","room":"b"})", R"({"userID":"a"})"}) {
        EXPECT_EQ(refused(signal(R"(,"to":)" + std::string(to))).message,
                  "to: must have one of userId and room");
    }
    EXPECT_EQ(refused(signal(R"(,"to":{"userId":7})")).message, "to.userId: must be a string");
    EXPECT_EQ(refused(signal(R"(,"to":{"room":""})")).message,
              "to.room: is empty, least is 1 byte");
}

TEST(SignalMessage, AKindIsAWordOf32Bytes) {
    const auto kind = [](const std::string& value) {
        return signal(R"(,"kind":")" + value + "\"");
    };
    EXPECT_EQ(accepted(kind("voice.Call_2-x")).kind, "voice.Call_2-x");
    EXPECT_EQ(accepted(kind(std::string(32, 'k'))).kind.size(), 32U);
    for (const std::string& value :
         {std::string(33, 'k'), std::string(), std::string("a b"), std::string("é"),
          std::string("a:b"), std::string("\\u0000")}) {
        EXPECT_THAT(refused(kind(value)).message, HasSubstr("kind: must be 1 to 32 of")) << value;
    }
}

TEST(SignalMessage, MissingFieldsAreNamed) {
    EXPECT_EQ(refused(R"({"type":"signal","id":1,"kind":"k","active":true})").message,
              "to: is missing");
    EXPECT_EQ(refused(R"({"type":"signal","id":1,"to":{"userId":"a"},"active":true})").message,
              "kind: is missing");
    EXPECT_EQ(refused(R"({"type":"signal","id":1,"to":{"userId":"a"},"kind":"k"})").message,
              "active: is missing");
}

TEST(SignalMessage, DataPassesAsItWasSentWithoutWhiteSpace) {
    const auto data = [](std::string_view value) {
        return accepted(signal(R"(,"data":)" + std::string(value))).data;
    };
    EXPECT_EQ(data("null"), "null");
    EXPECT_EQ(data("1.50"), "1.50");
    EXPECT_EQ(data("\" a b\""), "\" a b\"");
    EXPECT_EQ(data("{ \"a\" :\n[ 1 , \"x \\\" y\\\\\" ] }"), R"({"a":[1,"x \" y\\"]})");
    EXPECT_EQ(data(R"("\ud83d\ude00\u0000")"), R"("\ud83d\ude00\u0000")");
    EXPECT_EQ(accepted(signal(R"(,"data":1 , "data" : [true] ,"later":"}],{")")).data, "[true]");
    EXPECT_EQ(accepted(signal(R"(,"d\u0061ta":"\\")")).data, R"("\\")");
}

TEST(SignalMessage, DataThatReceiversCouldReadInAnotherWayIsRefused) {
    for (const char* value : {R"("\ud83d")", R"({"\udc00":1})", "-0", "[1e999]",
                              "[18446744073709551616]", R"(["\ud83dx"])"}) {
        EXPECT_EQ(refused(signal(R"(,"data":)" + std::string(value))).message,
                  "data: holds half of a surrogate pair, -0 or a number beyond a double")
            << value;
    }
}

TEST(SignalMessage, DataHas1024Bytes) {
    const auto data = [](std::size_t bytes) {
        return signal(R"(,"data":")" + std::string(bytes - 2, 'x') + "\"");
    };
    EXPECT_EQ(accepted(data(1024)).data.size(), 1024U);
    const Error error = refused(data(1025));
    EXPECT_EQ(error.code, ErrorCode::too_large);
    EXPECT_EQ(error.limit, 1024);
    EXPECT_EQ(error.message, "data: has 1025 bytes, at most 1024");
}

}  // namespace
}  // namespace presence::protocol
