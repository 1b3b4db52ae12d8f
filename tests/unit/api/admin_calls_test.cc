// Kicking, revoking, erasing.

#include "unit/api/api_world.h"

namespace presence::api::testing {
namespace {

class AdminCalls : public ApiWorld {};

TEST_F(AdminCalls, EndOneSessionAndLeaveTheOthers) {
    for (const std::string& user : {user_at(0), user_at(1)}) {
        const Attachment one = attach(user, 1);
        const Attachment two = attach(user, 2);
        const std::string path = "/v1/users/" + user + "/sessions/";
        EXPECT_EQ(call("DELETE", "/v1/users/stranger/sessions/" + one.id.text).status, 404);
        EXPECT_EQ(call("DELETE", path + one.id.text).status, 204);
        using Ends = std::vector<std::pair<std::uint32_t, EndReason>>;
        EXPECT_EQ(home_of(user).owner.ends, (Ends{{1, EndReason::kicked}}));
        home_of(user).owner.ends.clear();
        const Reply left = call("GET", "/v1/users/" + user + "/sessions");
        EXPECT_FALSE(left.has(one.id.text));
        EXPECT_TRUE(left.has(two.id.text));
        const Reply again = call("DELETE", path + one.id.text);
        EXPECT_EQ(again.status, 404);
        EXPECT_EQ(again.code(), "notFound");
        EXPECT_EQ(call("DELETE", path + "%zz").status, 400);
        EXPECT_EQ(call("DELETE", path).status, 404);
    }
}

TEST_F(AdminCalls, RevokeNeverMovesTheMarkBack) {
    EXPECT_EQ(post("/v1/users/a/revoke", R"({"before":5000})").body, R"({"before":5000})");
    EXPECT_EQ(post("/v1/users/a/revoke", R"({"before":4000})").body, R"({"before":5000})");
    EXPECT_EQ(post("/v1/users/a/revoke", R"({"before":6000})").body, R"({"before":6000})");
    for (const char* body : {"{}", R"({"before":"now"})", R"({"before":-1})", R"({"before":1.5})",
                             R"({"before":null})", "[]", ""}) {
        EXPECT_EQ(post("/v1/users/a/revoke", body).code(), "badRequest") << body;
    }
    profiles.set_unavailable(true);
    EXPECT_EQ(post("/v1/users/a/revoke", R"({"before":7000})").status, 503);
}

TEST_F(AdminCalls, EraseEndsSessionsAndForgetsAll) {
    for (const std::string& user : {user_at(0), user_at(1)}) {
        const std::string at = "/v1/users/" + user;
        attach(user, 7);
        put(at + "/status", R"({"status":"busy","customStatus":{"text":"x"}})");
        put(at + "/privacy", R"({"online":{"mode":"nobody"}})");
        put(at + "/contacts", R"({"users":["b"]})");
        put(at + "/blocks", R"({"users":["c"]})");
        put("/v1/users/friend/contacts", R"({"users":[")" + user + "\"]}");
        EXPECT_EQ(call("DELETE", at).status, 204);
        ASSERT_EQ(home_of(user).owner.ends.size(), 1U);
        EXPECT_EQ(home_of(user).owner.ends[0].second, EndReason::erased);
        for (const std::size_t thread : {0U, 1U}) {
            EXPECT_EQ(call_on(thread, "GET", at + "/sessions").body, R"({"sessions":[]})");
            EXPECT_EQ(call_on(thread, "GET", at + "/status").body, R"({"status":"auto"})");
            EXPECT_EQ(call_on(thread, "GET", at + "/privacy").body,
                      R"({"online":{"mode":"everyone"},"lastSeen":{"mode":"contacts"}})");
            EXPECT_EQ(call_on(thread, "GET", at + "/contacts").body, R"({"users":[]})");
            EXPECT_EQ(call_on(thread, "GET", at + "/blocks").body, R"({"users":[]})");
            EXPECT_FALSE(call_on(thread, "GET", at + "/presence").has("lastSeen"));
        }
        EXPECT_EQ(call("DELETE", at).status, 204);
    }
}

TEST_F(AdminCalls, AnErasureThatTheDatabaseDoesNotTakeChangesNothingAndCanBeRepeated) {
    const std::string user = user_at(0);
    const std::string at = "/v1/users/" + user;
    attach(user, 7);
    put(at + "/status", R"({"status":"busy"})");
    profiles.set_unavailable(true);
    EXPECT_EQ(call("DELETE", at).status, 503);
    turn();
    EXPECT_TRUE(home_of(user).owner.ends.empty());
    EXPECT_EQ(call("GET", at + "/status").body, R"({"status":"busy"})");
    EXPECT_TRUE(call("GET", at + "/presence").has(R"("status":"busy")"));
    profiles.set_unavailable(false);
    EXPECT_EQ(call("DELETE", at).status, 204);
    ASSERT_EQ(home_of(user).owner.ends.size(), 1U);
    EXPECT_EQ(call("GET", at + "/status").body, R"({"status":"auto"})");
}

TEST_F(AdminCalls, NoCallMakesASession) {
    for (const char* target : {"/v1/users/a/presence", "/v1/users/a/status", "/v1/users/a/privacy",
                               "/v1/users/a/sessions", "/v1/users/a/explain?viewer=b"}) {
        EXPECT_EQ(call("GET", target).status, 200);
    }
    put("/v1/users/a/status", R"({"status":"online"})");
    EXPECT_EQ(home_of("a").shard.service.session_count(), 0U);
    const Reply presence = call("GET", "/v1/users/a/presence?viewer=b");
    EXPECT_TRUE(presence.has(R"("status":"offline")"));
    EXPECT_FALSE(presence.has("lastSeen"));
}

}  // namespace
}  // namespace presence::api::testing
