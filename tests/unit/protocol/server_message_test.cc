#include "presence/protocol/server_message.h"

#include "unit/protocol/views.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

namespace presence::protocol {
namespace {

using namespace testing;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(PresenceJson, HiddenIsTheSameBytesAsNeverThere) {
    const Presence busy = presence_of(Status::busy, 77, devices({DeviceKind::web}));
    EXPECT_EQ(encode_presence(hidden_view("x", &busy)),
              R"({"userId":"x","status":"offline","version":0})");
    EXPECT_EQ(encode_presence(hidden_view("x")), encode_presence(hidden_view("x", &busy)));
}

TEST(PresenceJson, FieldsStandInOneOrderWithoutWhiteSpace) {
    Presence presence = presence_of(Status::away, 9'007'199'254'740'991,
                                    devices({DeviceKind::web, DeviceKind::bot}));
    presence.shown.since = WallTime::from_ms(1'789'999'981'234);
    presence.shown.custom =
        make_ref<CustomStatus>(CustomStatus{"say \"hi\"\\\n\x01\x7f", "🍜", kNow + 1min});
    EXPECT_EQ(
        encode_presence(public_view("bo", presence)),
        "{\"userId\":\"bo\",\"status\":\"away\",\"version\":9007199254740991,"
        "\"since\":1789999980000,\"customStatus\":{\"text\":\"say \\\"hi\\\"\\\\\\n\\u0001\x7f\","
        "\"emoji\":\"🍜\",\"expiresAt\":1790000060000},\"devices\":[\"bot\",\"web\"]}");
}

TEST(PresenceJson, WhatIsEmptyIsLeftOut) {
    Presence presence = presence_of(Status::online, 5);
    presence.shown.custom = make_ref<CustomStatus>(CustomStatus{"", "x", {}});
    EXPECT_EQ(encode_presence(public_view("bo", presence)),
              R"({"userId":"bo","status":"online","version":5,"customStatus":{"emoji":"x"}})");
}

TEST(PresenceJson, LastSeenHasATimeOnlyWhileItIsRecent) {
    Presence presence = presence_of(Status::offline, 5);
    presence.last_seen = kNow - 1h;
    EXPECT_EQ(
        encode_presence(public_view("bo", presence)),
        R"({"userId":"bo","status":"offline","version":5,"lastSeen":{"granularity":"today"}})");
    presence.last_seen = kNow - 5s;
    EXPECT_EQ(encode_presence(public_view("bo", presence)),
              R"({"userId":"bo","status":"offline","version":5,)"
              R"("lastSeen":{"granularity":"exact","at":1789999995000}})");
}

TEST(PresenceJson, OwnSessionsReadWhatTheyDeclared) {
    Presence presence = presence_of(Status::offline, 5);
    presence.own.status = Status::invisible;
    presence.own_version = Version{6};
    presence.declared.status = DeclaredStatus::invisible;
    presence.declared.expires_at = kNow + 1s;
    EXPECT_EQ(encode_presence(own_view("bo", presence)),
              R"({"userId":"bo","status":"invisible","version":6,)"
              R"("declared":{"status":"invisible","scope":"user","expiresAt":1790000001000}})");
}

TEST(PresenceJson, TheLargestPresenceStaysFarBelowTheSmallestFrame) {
    Presence presence =
        presence_of(Status::dnd, 9'007'199'254'740'991,
                    devices({DeviceKind::bot, DeviceKind::desktop, DeviceKind::mobile,
                             DeviceKind::other, DeviceKind::tablet, DeviceKind::web}));
    presence.own.custom = make_ref<CustomStatus>(
        CustomStatus{std::string(1024, '\x01'), std::string(64, '\x01'), kNow + 1h});
    presence.declared.status = DeclaredStatus::dnd;
    presence.declared.expires_at = kNow + 1h;
    EXPECT_LT(encode_presence(own_view(std::string(128, '"').c_str(), presence)).size(), 7500U);
}

std::vector<std::string> many_presences(int count) {
    std::vector<std::string> encoded;
    for (int i = 0; i < count; ++i) {
        encoded.push_back(encode_presence(hidden_view(("user-" + std::to_string(i)).c_str())));
    }
    return encoded;
}

std::vector<std::string_view> views_of(const std::vector<std::string>& texts) {
    return {texts.begin(), texts.end()};
}

TEST(SnapshotMessage, FitsIntoOnePartWhereItCan) {
    const std::vector<std::string_view> none;
    EXPECT_THAT(encode_snapshot(3, none, 0, WallTime::from_ms(9), 131'072),
                ::testing::ElementsAre(R"({"type":"snapshot","id":3,"users":[],"asOf":9})"));
    const std::array<std::string_view, 2> two{"{1}", "{2}"};
    EXPECT_THAT(
        encode_snapshot({}, two, 4, WallTime::from_ms(9), 131'072),
        ::testing::ElementsAre(R"({"type":"snapshot","users":[{1},{2}],"unchanged":4,"asOf":9})"));
}

TEST(SnapshotMessage, PartsStayWithinTheLimitInOrderWithMoreOnAllButTheLast) {
    const auto encoded = many_presences(2000);
    constexpr std::size_t kLimit = 16 * 1024;
    const auto parts = encode_snapshot(9'007'199'254'740'991, views_of(encoded), 7, kNow, kLimit);
    ASSERT_GT(parts.size(), 5U);
    std::string joined;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const bool last = i + 1 == parts.size();
        EXPECT_LE(parts[i].size(), kLimit);
        EXPECT_EQ(parts[i].ends_with(R"("more":true})"), !last);
        EXPECT_EQ(parts[i].find("\"unchanged\":7") != std::string::npos, last);
        EXPECT_TRUE(parts[i].starts_with(
            R"({"type":"snapshot","id":9007199254740991,"users":[{"userId":)"));
        const auto begin = parts[i].find('[') + 1;
        joined.append(i > 0 ? "," : "").append(parts[i], begin, parts[i].find(']') - begin);
    }
    std::string expected;
    for (const std::string& one : encoded) {
        expected.append(expected.empty() ? "" : ",").append(one);
    }
    EXPECT_EQ(joined, expected);
}

TEST(UpdateMessage, IsCutLikeASnapshot) {
    const auto encoded = many_presences(1000);
    const auto parts = encode_updates(views_of(encoded), 16 * 1024);
    ASSERT_GT(parts.size(), 2U);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        EXPECT_LE(parts[i].size(), 16U * 1024);
        EXPECT_EQ(parts[i].ends_with(R"(],"more":true})"), i + 1 < parts.size());
    }
    EXPECT_THAT(encode_updates({}, 16 * 1024), IsEmpty());
    const std::array<std::string_view, 2> two{"{1}", "{2}"};
    EXPECT_EQ(encode_update(two), R"({"type":"update","users":[{1},{2}]})");
    EXPECT_THAT(encode_updates(two, 16 * 1024), ::testing::ElementsAre(encode_update(two)));
}

TEST(UpdateMessage, ABoundTooLowForAnythingStillEnds) {
    const auto encoded = many_presences(3);
    EXPECT_THAT(encode_updates(views_of(encoded), 1), SizeIs(3));
}

TEST(PrivacyMessage, LongListsComeInParts) {
    std::vector<UserId> users;
    for (int i = 0; i < 10'000; ++i) {
        users.emplace_back("\"quoted\" user " + std::to_string(i));
    }
    const PrivacyRule only{Audience::only, UserSet(users)};
    const PrivacyRule except{Audience::contacts_except, UserSet({UserId("z")})};
    const auto parts = encode_privacy(4, only, except, 131'072);
    ASSERT_GT(parts.size(), 1U);
    std::size_t told = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        EXPECT_LE(parts[i].size(), 131'072U);
        EXPECT_EQ(parts[i].ends_with(R"("more":true})"), i + 1 < parts.size());
        for (auto at = parts[i].find("quoted"); at != std::string::npos;
             at = parts[i].find("quoted", at + 1)) {
            ++told;
        }
    }
    EXPECT_EQ(told, 10'000U);
    // The short list found room in the first part.
    EXPECT_TRUE(parts.back().ends_with(R"("lastSeen":{"mode":"contactsExcept","users":[]}})"));
    EXPECT_NE(parts.front().find(R"("users":["z"]})"), std::string::npos);
}

TEST(PrivacyMessage, RulesWithoutUsersHaveNone) {
    EXPECT_THAT(
        encode_privacy({}, {Audience::everyone, UserSet({UserId("x")})}, {Audience::only, {}},
                       131'072),
        ::testing::ElementsAre(
            R"({"type":"privacy","online":{"mode":"everyone"},"lastSeen":{"mode":"only","users":[]}})"));
}

TEST(ErrorMessage, SaysWhetherATryMaySucceedLater) {
    EXPECT_EQ(encode_error({}, {ErrorCode::unavailable, "no \"store\"", 50, 0}),
              R"({"type":"error","code":"unavailable","message":"no \"store\"",)"
              R"("temporary":true,"retryAfterMs":50})");
}

}  // namespace
}  // namespace presence::protocol
