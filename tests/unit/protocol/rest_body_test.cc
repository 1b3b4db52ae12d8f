#include "presence/protocol/rest_body.h"

#include "presence/protocol/event_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

namespace presence::protocol {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const ParseLimits kLimits;
constexpr WallTime kNow = WallTime::from_ms(1'790'000'000'000);

TEST(RestBody, AStatusIsReadAsOverTheSocket) {
    const auto change =
        parse_status_body(R"({"status":"dnd","expiresInMs":5,"customStatus":null})", kLimits);
    ASSERT_TRUE(change.has_value());
    EXPECT_EQ(change->status, DeclaredStatus::dnd);
    EXPECT_EQ(change->expiry, Expiry(Millis{5}));
    EXPECT_EQ(change->custom_change, CustomChange::clear);
    EXPECT_TRUE(parse_status_body(R"({"status":"dnd","scope":"user"})", kLimits).has_value());
    EXPECT_EQ(parse_status_body(R"({"status":"dnd","scope":"session"})", kLimits).error().message,
              "scope: must be user: a call belongs to no session");
    EXPECT_EQ(parse_status_body("{}", kLimits).error().message,
              "status: or customStatus is needed");
    EXPECT_EQ(parse_status_body(R"({"customStatus":{"text":"\ud83d"}})", kLimits).error().message,
              "customStatus.text: holds U+0000 or half of a surrogate pair");
}

TEST(RestBody, PrivacyNamesAtLeastOneRule) {
    const auto rules = parse_privacy_body(R"({"lastSeen":{"mode":"only","users":["a"]}})", kLimits);
    ASSERT_TRUE(rules.has_value());
    EXPECT_FALSE(rules->online);
    EXPECT_EQ(rules->last_seen, (PrivacyRule{Audience::only, UserSet({UserId("a")})}));
    EXPECT_EQ(parse_privacy_body("{}", kLimits).error().message, "online: or lastSeen is needed");
}

TEST(RestBody, AUserSetIsSortedAndBounded) {
    EXPECT_THAT(parse_user_set_body(R"({"users":["b","a","b"]})", kLimits)->users(),
                ElementsAre(UserId("a"), UserId("b")));
    EXPECT_TRUE(parse_user_set_body(R"({"users":[]})", kLimits)->empty());
    EXPECT_EQ(parse_user_set_body("{}", kLimits).error().message, "users: is missing");
    const auto over = parse_user_set_body(R"({"users":["a","b","c"]})", {.list_users = 2});
    EXPECT_EQ(over.error().code, ErrorCode::limit_exceeded);
    EXPECT_EQ(over.error().limit, 2);
}

TEST(RestBody, AChangeOfASetAddsOrRemovesAndNeverBoth) {
    const auto delta = parse_user_set_delta_body(R"({"add":["a"],"remove":["b"]})", kLimits);
    EXPECT_THAT(delta->add.users(), ElementsAre(UserId("a")));
    EXPECT_THAT(delta->remove.users(), ElementsAre(UserId("b")));
    EXPECT_TRUE(parse_user_set_delta_body(R"({"add":[]})", kLimits).has_value());
    EXPECT_EQ(parse_user_set_delta_body("{}", kLimits).error().message, "add: or remove is needed");
    EXPECT_EQ(
        parse_user_set_delta_body(R"({"add":["a","b"],"remove":["b"]})", kLimits).error().message,
        "remove: names a user that add names too");
    EXPECT_EQ(parse_user_set_delta_body(R"({"add":null})", kLimits).error().message,
              "add: must be an array");
}

TEST(RestBody, AQueryNamesUpToAThousandUsers) {
    EXPECT_THAT(*parse_query_body(R"({"users":["b","a","b"]})", kLimits),
                ElementsAre(UserId("b"), UserId("a")));
    EXPECT_THAT(*parse_query_body(R"({"users":[]})", kLimits), IsEmpty());
    std::string many = "{\"users\":[\"x\"";
    for (int i = 0; i < 999; ++i) {
        many.append(",\"u").append(std::to_string(i)).append("\"");
    }
    EXPECT_EQ(parse_query_body(many + "]}", kLimits)->size(), 1000U);
    EXPECT_EQ(parse_query_body(many + ",\"y\"]}", kLimits).error().code, ErrorCode::limit_exceeded);
}

TEST(RestBody, RevokeTakesATimeInMilliseconds) {
    EXPECT_EQ(parse_revoke_body(R"({"before":1790000000000})").value(), kNow);
    EXPECT_EQ(parse_revoke_body("{}").error().message, "before: is missing");
    EXPECT_EQ(parse_revoke_body(R"({"before":-0})").error().message,
              "before: must be an integer from 0 to 9007199254740991");
}

TEST(RestBody, Fo066EveryBodyIsHeldAgainstEveryKindOfJson) {
    const std::array<std::string_view, 12> samples{"",      "null", "true", "1", "-0",   "1e999",
                                                   "\"x\"", "[]",   "[[]]", "{", "\xff", "{}"};
    for (const std::string_view text : samples) {
        EXPECT_EQ(parse_status_body(text, kLimits).error().code, ErrorCode::bad_request) << text;
        EXPECT_EQ(parse_privacy_body(text, kLimits).error().code, ErrorCode::bad_request) << text;
        EXPECT_EQ(parse_user_set_body(text, kLimits).error().code, ErrorCode::bad_request) << text;
        EXPECT_EQ(parse_user_set_delta_body(text, kLimits).error().code, ErrorCode::bad_request);
        EXPECT_EQ(parse_query_body(text, kLimits).error().code, ErrorCode::bad_request) << text;
        EXPECT_EQ(parse_revoke_body(text).error().code, ErrorCode::bad_request) << text;
    }
    EXPECT_EQ(parse_revoke_body("[]").error().message, "the body must be a JSON object");
}

TEST(RestAnswer, ErrorsListsAndRules) {
    EXPECT_EQ(encode_error_body({ErrorCode::not_found, "no such path"}),
              R"({"error":{"code":"notFound","message":"no such path","temporary":false}})");
    EXPECT_EQ(encode_user_set_body(UserSet({UserId("b"), UserId("a\"")})),
              R"({"users":["a\"","b"]})");
    EXPECT_EQ(
        encode_privacy_body({Audience::everyone, {}}, {Audience::only, UserSet({UserId("a")})}),
        R"({"online":{"mode":"everyone"},"lastSeen":{"mode":"only","users":["a"]}})");
    EXPECT_EQ(encode_revoke_body(kNow), R"({"before":1790000000000})");
    const std::array<std::string_view, 2> two{"{1}", "{2}"};
    EXPECT_EQ(encode_query_body(two, kNow), R"({"users":[{1},{2}],"asOf":1790000000000})");
    EXPECT_EQ(encode_query_body({}, kNow), R"({"users":[],"asOf":1790000000000})");
}

TEST(RestAnswer, WhatIsOverIsNotDeclaredAnyMore) {
    DeclaredState declared;
    EXPECT_EQ(encode_declared_body(declared, kNow), R"({"status":"auto"})");
    declared.status = DeclaredStatus::busy;
    declared.expires_at = kNow + 1ms;
    declared.custom = make_ref<CustomStatus>(CustomStatus{"t", "", kNow + 1ms});
    EXPECT_EQ(encode_declared_body(declared, kNow),
              R"({"status":"busy","expiresAt":1790000000001,)"
              R"("customStatus":{"text":"t","expiresAt":1790000000001}})");
    EXPECT_EQ(encode_declared_body(declared, kNow + 1ms), R"({"status":"auto"})");
}

TEST(RestAnswer, SessionsAndWhyAViewerSeesWhatItSees) {
    Session live;
    live.id = SessionId("s1");
    live.device = {DeviceKind::web, "Work"};
    live.connected_at = WallTime::from_ms(5);
    live.declared = DeclaredStatus::busy;
    live.declared_until = kNow + 1ms;
    Session grace;
    grace.id = SessionId("s2");
    grace.idle = true;
    grace.counts = false;
    grace.grace_until = WallTime::from_ms(7);
    const std::array<SessionFields, 2> both{SessionFields{live, WallTime::from_ms(6), "n1"},
                                            SessionFields{grace, {}, ""}};
    const std::string sessions =
        R"("sessions":[{"sessionId":"s1","device":{"type":"web","name":"Work"},"status":"busy",)"
        R"("statusExpiresAt":1790000000001,"activity":"active","observing":false,"state":"live",)"
        R"("road":"webSocket",)"
        R"("connectedAt":5,"lastHeartbeatAt":6,"node":"n1"},)"
        R"({"sessionId":"s2","device":{"type":"other"},"activity":"idle","observing":true,)"
        R"("state":"grace","road":"webSocket","connectedAt":0,"graceUntil":7}])";
    EXPECT_EQ(encode_sessions_body(both, kNow), "{" + sessions + "}");
    EXPECT_EQ(encode_sessions_body({}, kNow), R"({"sessions":[]})");

    const UserId viewer("v");
    const UserId subject("s");
    const std::array<ExplainedCheck, 1> checks{
        ExplainedCheck{"online", "subject blocks viewer", true, "no block"}};
    EXPECT_EQ(
        encode_explanation_body(
            {viewer, subject, "{1}", both, "most_recent", DeclaredState(), Status::busy, checks},
            kNow),
        R"({"viewer":"v","subject":"s","view":{1},)" + sessions +
            R"(,"merge":{"policy":"most_recent","declared":{"status":"auto"},"result":"busy"},)"
            R"("rules":[{"attribute":"online","check":"subject blocks viewer","passes":true,)"
            R"("why":"no block"}]})");
}

TEST(RestBody, APollNamesUsersAndHowLongToWait) {
    const auto body = parse_poll_body(R"({"users":["a","b","a"],"cursor":"c","waitMs":30000})", {},
                                      Millis{30'000});
    ASSERT_TRUE(body.has_value());
    EXPECT_EQ(body->users, (std::vector<UserId>{UserId("a"), UserId("b")}));
    EXPECT_EQ(body->cursor, "c");
    EXPECT_EQ(body->wait, Millis{30'000});
    EXPECT_EQ(parse_poll_body(R"({"users":[]})", {}, Millis{1})->wait, Millis{0});
    for (const char* bad : {R"({})", R"({"users":["a"],"waitMs":30001})",
                            R"({"users":["a"],"waitMs":-1})", R"({"users":["a"],"cursor":1})"}) {
        EXPECT_FALSE(parse_poll_body(bad, {}, Millis{30'000}).has_value()) << bad;
    }
}

TEST(RestBody, AHeartbeatNamesItsDevice) {
    const auto body = parse_beat_body(
        R"({"deviceId":"phone","device":{"type":"mobile","name":"mine"},"activity":"idle"})");
    ASSERT_TRUE(body.has_value());
    EXPECT_EQ(body->device_id, "phone");
    EXPECT_EQ(body->device, (Device{DeviceKind::mobile, "mine"}));
    EXPECT_EQ(body->activity, Activity::idle);
    EXPECT_FALSE(parse_beat_body("{}").has_value());
    EXPECT_EQ(encode_beat_body(SessionId("http:phone"), Millis{1}, Millis{3}, WallTime{Millis{9}}),
              R"({"sessionId":"http:phone","intervalMs":1,"ttlMs":3,"serverTime":9})");
}

TEST(EventStream, IsAsBrowsersReadIt) {
    std::string out;
    append_event(out, "update", 7, R"({"a":1})");
    EXPECT_EQ(out, "event: update\nid: 7\ndata: {\"a\":1}\n\n");
    EXPECT_EQ(encode_comment("alive"), ": alive\n\n");
    EXPECT_EQ(encode_retry(Millis{3000}), "retry: 3000\n\n");
}

}  // namespace
}  // namespace presence::protocol
