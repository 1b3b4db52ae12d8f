#include "presence/protocol/client_message.h"
#include "presence/protocol/close_codes.h"
#include "presence/protocol/error_map.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <set>
#include <string>

namespace presence::protocol {
namespace {

/// protocol/protocol.json tells clients what the server does; these tests keep it true.
class ProtocolData : public ::testing::Test {
protected:
    ProtocolData()
        : root_(parser_.load(std::string(PRESENCED_SOURCE_DIR "/protocol/protocol.json"))) {}

    simdjson::dom::parser parser_;
    simdjson::dom::element root_;
};

TEST_F(ProtocolData, CloseCodesAreThoseOfTheTable) {
    std::set<std::string> told;
    for (const simdjson::dom::element row : root_["closeCodes"]) {
        for (const simdjson::dom::element reason : row["reasons"]) {
            told.insert(std::to_string(std::int64_t(row["code"])) + " " +
                        std::string(std::string_view(reason)) + " " +
                        std::string(std::string_view(row["action"])));
        }
    }
    std::set<std::string> given;
    for (const CloseInfo& info : close_table()) {
        given.insert(std::to_string(info.code) + " " + std::string(info.word) + " " +
                     std::string(wire_name(info.action)));
        EXPECT_EQ(close_info(info.reason).word, info.word);
        EXPECT_EQ(action_after(info.code), info.action);
    }
    EXPECT_EQ(told, given);
}

TEST_F(ProtocolData, UnknownCloseCodesAreAnsweredAsTheDataSays) {
    EXPECT_EQ(action_after(4499), ClientAction::stop);
    EXPECT_EQ(action_after(4500), ClientAction::reconnect);
    EXPECT_EQ(action_after(1006), ClientAction::reconnect);
    for (const simdjson::dom::element range : root_["unknownCloseCodes"]) {
        const auto last = static_cast<std::uint16_t>(std::int64_t(range["to"]));
        EXPECT_EQ(wire_name(action_after(last)), std::string_view(range["action"]));
    }
}

TEST_F(ProtocolData, ErrorsAreThoseOfTheMap) {
    std::size_t told = 0;
    for (const simdjson::dom::element row : root_["errors"]) {
        const auto code = error_code_named(std::string_view(row["code"]));
        ASSERT_TRUE(code) << std::string_view(row["code"]);
        EXPECT_EQ(http_status(*code), std::int64_t(row["httpStatus"]));
        EXPECT_EQ(is_temporary(*code), bool(row["temporary"]));
        ++told;
    }
    EXPECT_EQ(told, kErrorCodes.size());
    EXPECT_FALSE(error_code_named("nothing"));
}

TEST_F(ProtocolData, BoundsAreThoseOfTheParser) {
    const auto bound = [&](const char* name) {
        return static_cast<std::size_t>(std::int64_t(root_["bounds"][name]));
    };
    EXPECT_EQ(bound("requestId"), static_cast<std::size_t>(kMaxInteger));
    EXPECT_EQ(bound("jsonDepth"), kJsonDepth);
    EXPECT_EQ(bound("deviceName"), kDeviceNameCodePoints);
    EXPECT_EQ(bound("deviceNameBytes"), kDeviceNameBytes);
    EXPECT_EQ(bound("customStatusText"), ParseLimits{}.custom_status_text);
    EXPECT_EQ(bound("customStatusTextBytes"), kCustomTextBytes);
    EXPECT_EQ(bound("customStatusEmoji"), kCustomEmojiCodePoints);
    EXPECT_EQ(bound("customStatusEmojiBytes"), kCustomEmojiBytes);
    EXPECT_EQ(bound("signalKindBytes"), kSignalKindBytes);
    EXPECT_EQ(bound("signalDataBytes"), kSignalDataBytes);
    EXPECT_EQ(bound("queryUsers"), ParseLimits{}.query_users);
}

TEST_F(ProtocolData, EachClientMessageIsKnownToTheParser) {
    for (const auto& [type, rest] : simdjson::dom::object(root_["clientMessages"])) {
        const ParsedMessage parsed =
            parse_client_message("{\"type\":\"" + std::string(type) + "\"}", ParseLimits{});
        if (!parsed.message) {
            EXPECT_NE(parsed.message.error().message, "type: is not a known message type") << type;
        }
    }
}

}  // namespace
}  // namespace presence::protocol
