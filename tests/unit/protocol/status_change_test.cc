#include "presence/protocol/client_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace presence::protocol {
namespace {

using ::testing::HasSubstr;

std::string status(std::string_view fields) {
    return R"({"type":"status","id":1,)" + std::string(fields) + "}";
}

StatusChange accepted(std::string_view fields) {
    const ParsedMessage parsed = parse_client_message(status(fields), ParseLimits{});
    EXPECT_TRUE(parsed.message.has_value()) << fields << ": " << parsed.message.error().message;
    return parsed.message ? std::get<StatusChange>(*parsed.message) : StatusChange();
}

std::string refused(std::string_view fields) {
    const ParsedMessage parsed = parse_client_message(status(fields), ParseLimits{});
    EXPECT_EQ(parsed.id, 1U) << fields;
    EXPECT_FALSE(parsed.message.has_value()) << fields;
    EXPECT_TRUE(parsed.message || parsed.message.error().code == ErrorCode::bad_request) << fields;
    return parsed.message ? "" : parsed.message.error().message;
}

std::string text(const std::string& value) {
    return R"("customStatus":{"text":")" + value + "\"}";
}
std::string emoji(const std::string& value) {
    return R"("customStatus":{"emoji":")" + value + "\"}";
}

std::string repeated(std::string_view piece, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) {
        out.append(piece);
    }
    return out;
}

TEST(StatusChange, EachWordIsItsStatus) {
    for (const auto declared :
         {DeclaredStatus::automatic, DeclaredStatus::online, DeclaredStatus::away,
          DeclaredStatus::busy, DeclaredStatus::dnd, DeclaredStatus::invisible}) {
        const auto change = accepted("\"status\":\"" + std::string(wire_name(declared)) + "\"");
        EXPECT_EQ(change.status, declared);
        EXPECT_EQ(change.custom_change, CustomChange::keep);
        EXPECT_FALSE(change.session_scope);
    }
    EXPECT_EQ(refused(R"("status":"offline")"),
              "status: must be one of auto, online, away, busy, dnd, invisible");
}

TEST(StatusChange, InvisibleIsForAllDevicesOnly) {
    EXPECT_TRUE(accepted(R"("status":"busy","scope":"session")").session_scope);
    EXPECT_FALSE(accepted(R"("status":"invisible","scope":"user")").session_scope);
    EXPECT_THAT(refused(R"("status":"invisible","scope":"session")"), HasSubstr("scope user only"));
}

TEST(StatusChange, ARequestThatNamesNothingToChangeIsRefused) {
    EXPECT_EQ(refused(R"("scope":"user")"), "status: or customStatus is needed");
    EXPECT_EQ(refused(R"("expiresInMs":1)"), "status: is missing beside its expiry");
    EXPECT_EQ(refused(R"("expiresAt":1,"customStatus":null)"),
              "status: is missing beside its expiry");
    EXPECT_EQ(refused(R"("customStatus":{})"),
              "customStatus.text: or emoji is needed; a customStatus of null takes it away");
    refused(R"("customStatus":{"text":"","emoji":""})");
    refused(R"("customStatus":{"expiresInMs":5})");
}

TEST(StatusChange, ExpiryIsKeptAsGiven) {
    EXPECT_EQ(accepted(R"("status":"dnd")").expiry, Expiry());
    EXPECT_EQ(accepted(R"("status":"dnd","expiresInMs":1)").expiry, Expiry(Millis{1}));
    EXPECT_EQ(accepted(R"("status":"dnd","expiresAt":9007199254740991)").expiry,
              Expiry(WallTime::from_ms(9'007'199'254'740'991)));
    EXPECT_EQ(accepted(R"("status":"auto","expiresInMs":1)").expiry, Expiry(Millis{1}));
    EXPECT_EQ(accepted(R"("customStatus":{"text":"x","expiresInMs":7})").custom.expiry,
              Expiry(Millis{7}));
    EXPECT_THAT(refused(R"("status":"dnd","expiresInMs":0)"), HasSubstr("from 1 to"));
    refused(R"("status":"dnd","expiresAt":-1)");
    refused(R"("status":"dnd","expiresAt":9007199254740992)");
    EXPECT_EQ(refused(R"("status":"dnd","expiresAt":1,"expiresInMs":1)"),
              "expiresAt: may not stand beside expiresInMs");
    EXPECT_EQ(refused(R"("customStatus":{"text":"x","expiresAt":1,"expiresInMs":1})"),
              "customStatus.expiresAt: may not stand beside expiresInMs");
}

TEST(StatusChange, AnEndOfAutoIsCheckedAndMeansNothing) {
    const WallTime now = WallTime::from_ms(1000);
    const auto resolved = resolve(accepted(R"("status":"auto","expiresAt":1001)"), now);
    ASSERT_TRUE(resolved.has_value());
    EXPECT_EQ(resolved->status_until, std::nullopt);
    EXPECT_EQ(resolve(accepted(R"("status":"auto","expiresAt":1000)"), now).error().message,
              "expiresAt: is not in the future");
}

TEST(StatusChange, CustomStatusIsSetTakenAwayOrKept) {
    EXPECT_EQ(accepted(R"("customStatus":null)").custom_change, CustomChange::clear);
    const auto set = accepted(R"("customStatus":{"text":"Lunch","emoji":"🍜"})");
    EXPECT_EQ(set.custom_change, CustomChange::set);
    EXPECT_EQ(set.custom.text, "Lunch");
    EXPECT_EQ(set.custom.emoji, "🍜");
    EXPECT_FALSE(set.status);
    EXPECT_EQ(accepted(R"("customStatus":{"text":"","emoji":"🍜"})").custom.emoji, "🍜");
}

TEST(StatusChange, Fo072TextIsCountedInCodePointsWithACapOfBytes) {
    const std::string family = "👨‍👩‍👧‍👦";
    EXPECT_EQ(accepted(text(repeated("😀", 100))).custom.text, repeated("😀", 100));
    EXPECT_EQ(accepted(text(repeated("🇩🇪", 50))).custom.text.size(), 400U);
    EXPECT_EQ(accepted(text(repeated("e\u0301", 50))).custom.text.size(), 150U);
    EXPECT_EQ(accepted(text(repeated("\u0639", 100))).custom.text.size(), 200U);
    accepted(text(repeated(family, 14)));  // 98 code points
    EXPECT_EQ(refused(text(repeated("😀", 101))),
              "customStatus.text: has 101 code points, at most 100");
    EXPECT_EQ(refused(text(std::string(99, 'a') + "😀b")),
              "customStatus.text: has 101 code points, at most 100");
    EXPECT_EQ(refused(text(repeated(family, 15))),
              "customStatus.text: has 105 code points, at most 100");
    EXPECT_EQ(refused(text("e" + repeated("\u0301", 5000))),
              "customStatus.text: has 10001 bytes, at most 1024");
    EXPECT_EQ(accepted(text(std::string(99, 'a') + "😀")).custom.text.size(), 103U);
}

TEST(StatusChange, TheLengthOfTextIsConfigurableAndItsBytesAreNot) {
    const auto parse = [](const std::string& value) {
        return parse_client_message(status(text(value)), {.custom_status_text = 2000}).message;
    };
    EXPECT_TRUE(parse(std::string(1024, 'a')).has_value());
    EXPECT_EQ(parse(std::string(1025, 'a')).error().message,
              "customStatus.text: has 1025 bytes, at most 1024");
    EXPECT_EQ(parse(std::string(1025, 'a')).error().limit, 1024);
}

TEST(StatusChange, EmojiHas16CodePointsAnd64Bytes) {
    EXPECT_EQ(accepted(emoji(":shortcode_here:")).custom.emoji, ":shortcode_here:");
    accepted(emoji(repeated("😀", 16)));
    EXPECT_EQ(refused(emoji(std::string(17, ':'))),
              "customStatus.emoji: has 17 code points, at most 16");
    EXPECT_EQ(refused(emoji(repeated("😀", 17))), "customStatus.emoji: has 68 bytes, at most 64");
}

TEST(StatusChange, Fo067Fo068HalvesOfPairsAndTheZeroCharacterAreRefused) {
    for (const char* value :
         {"\\ud83d", "\\ude00\\ud83d", "a\\udc49b", "\\ud83d\\u0041", "\\uD83D", "\\ud83dx",
          "\\ud83d\\ud83d\\ude00", "\\u0000", "a\\u0000", "\\u0000a", "a\\u0000b", "\\\\\\ud83d"}) {
        EXPECT_EQ(refused(text(value)),
                  "customStatus.text: holds U+0000 or half of a surrogate pair")
            << value;
        EXPECT_EQ(refused(emoji(value)),
                  "customStatus.emoji: holds U+0000 or half of a surrogate pair")
            << value;
    }
    EXPECT_EQ(accepted(text("\\ud83d\\ude00")).custom.text, "😀");
    EXPECT_EQ(accepted(text("\\uD83D\\uDE00\\\\ud83d")).custom.text, "😀\\ud83d");
    // What is ignored may hold them.
    accepted(R"("status":"busy","later":"\ud83d")");
}

TEST(StatusChange, ResolvedExpiriesLieAheadAndBelowTheLargestInteger) {
    const WallTime now = WallTime::from_ms(1000);
    EXPECT_EQ(resolve(Expiry(), now).value(), std::nullopt);
    EXPECT_EQ(resolve(Millis{1}, now).value(), WallTime::from_ms(1001));
    EXPECT_EQ(resolve(WallTime::from_ms(1001), now).value(), WallTime::from_ms(1001));
    EXPECT_EQ(resolve(WallTime::from_ms(1000), now, "customStatus.").error().message,
              "customStatus.expiresAt: is not in the future");
    EXPECT_EQ(resolve(Millis{kMaxInteger - 1000}, now).value(), WallTime::from_ms(kMaxInteger));
    EXPECT_EQ(resolve(Millis{kMaxInteger - 999}, now).error().code, ErrorCode::bad_request);
}

}  // namespace
}  // namespace presence::protocol
