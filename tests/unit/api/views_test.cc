// Presence over HTTP: who sees what, in which bytes.

#include "unit/api/api_world.h"

#include <algorithm>

namespace presence::api::testing {
namespace {

class Views : public ApiWorld {};

TEST_F(Views, ShowTheSameBytesForOneWhoNeverWasAndOneWhoMayNotBeSeen) {
    attach("hidden");
    put("/v1/users/hidden/privacy", R"({"online":{"mode":"nobody"}})");
    const Reply hidden = call_as("v", "GET", "/v1/users/hidden/presence");
    const Reply never = call_as("v", "GET", "/v1/users/never/presence");
    EXPECT_EQ(hidden.status, 200);
    EXPECT_EQ(hidden.body, R"({"userId":"hidden","status":"offline","version":0})");
    EXPECT_EQ(never.body, R"({"userId":"never","status":"offline","version":0})");
    EXPECT_EQ(hidden.content_type, "application/json");
    const Reply back_end = call("GET", "/v1/users/hidden/presence?viewer=v");
    EXPECT_EQ(back_end.body, hidden.body);
}

TEST_F(Views, ShowEverythingToABackEndAndToTheUserItself) {
    attach("a");
    put("/v1/users/a/status", R"({"status":"invisible"})");
    pass(Millis{2000});
    const std::string all = call("GET", "/v1/users/a/presence").body;
    EXPECT_NE(all.find(R"("status":"invisible")"), std::string::npos) << all;
    EXPECT_NE(all.find(R"("declared":{"status":"invisible","scope":"user"})"), std::string::npos);
    EXPECT_EQ(call_as("a", "GET", "/v1/users/a/presence").body, all);
    EXPECT_EQ(call("GET", "/v1/users/a/presence?viewer=a").body, all);
    EXPECT_EQ(call_as("b", "GET", "/v1/users/a/presence").body.find("invisible"),
              std::string::npos);
}

TEST_F(Views, AreTheSameFromBothThreads) {
    const std::string near = user_at(0);
    const std::string far = user_at(1);
    attach(near, 1);
    attach(far, 2);
    for (const std::string& user : {near, far}) {
        const std::string target = "/v1/users/" + user + "/presence";
        const Reply here = call_on(0, "GET", target);
        EXPECT_TRUE(here.has(R"("status":"online")")) << here.body;
        EXPECT_TRUE(here.has(R"("devices":["desktop"])"));
        EXPECT_EQ(call_on(1, "GET", target).body, here.body);
    }
}

TEST_F(Views, ChangeAtOnceWithTheRulesOnBothThreads) {
    const std::string user = user_at(0);
    attach(user);
    const std::string target = "/v1/users/" + user + "/presence";
    Sending viewer;
    viewer.as = "v";
    for (const std::size_t thread : {0U, 1U}) {
        EXPECT_TRUE(call_on(thread, "GET", target, viewer).has("online"));
    }
    for (const std::size_t changing : {0U, 1U}) {
        Sending block;
        block.body = R"({"add":["v"]})";
        EXPECT_EQ(call_on(changing, "POST", "/v1/users/" + user + "/blocks", block).status, 200);
        for (const std::size_t thread : {0U, 1U}) {
            EXPECT_TRUE(call_on(thread, "GET", target, viewer).has(R"("version":0)"));
        }
        block.body = R"({"remove":["v"]})";
        call_on(changing, "POST", "/v1/users/" + user + "/blocks", block);
        for (const std::size_t thread : {0U, 1U}) {
            EXPECT_TRUE(call_on(thread, "GET", target, viewer).has("online"));
        }
    }
}

TEST_F(Views, AreForTheViewerNamed) {
    EXPECT_EQ(call_as("me", "GET", "/v1/users/a/presence?viewer=me").status, 200);
    for (const char* viewer : {"you", "", "%zz", "me&viewer=me", "%00"}) {
        const Reply reply =
            call_as("me", "GET", std::string("/v1/users/a/presence?viewer=") + viewer);
        EXPECT_EQ(reply.status, 403) << viewer;
        EXPECT_EQ(reply.code(), "forbidden");
    }
    for (const char* viewer : {"", "%00", "%20", "%zz", "a&viewer=b", "a%E2%80%AE"}) {
        const Reply reply = call("GET", std::string("/v1/users/a/presence?viewer=") + viewer);
        EXPECT_EQ(reply.status, 400) << viewer;
        EXPECT_EQ(reply.code(), "badRequest");
    }
    Sending sending;
    sending.body = R"({"users":["a"]})";
    EXPECT_EQ(call("POST", "/v1/presence/query?viewer=%00", sending).status, 400);
    sending.as = "me";
    EXPECT_EQ(call("POST", "/v1/presence/query?viewer=you", sending).status, 403);
    EXPECT_EQ(call("POST", "/v1/presence/query?viewer=me", sending).status, 200);
}

TEST_F(Views, CarryAHashOfTheirBytes) {
    attach("a");
    const Reply before = call("GET", "/v1/users/a/presence");
    const std::string etag = before.header("ETag");
    ASSERT_GT(etag.size(), 2U);
    EXPECT_TRUE(etag.starts_with('"') && etag.ends_with('"'));
    EXPECT_EQ(before.header("Cache-Control"), "private, no-cache");
    const auto with = [&](const std::string& tags) {
        Sending sending;
        sending.headers = {{"If-None-Match", tags}};
        return call("GET", "/v1/users/a/presence", sending);
    };
    for (const std::string& tags :
         {etag, "W/" + etag, "\"x\", " + etag, std::string("*"), "\"y\" ,W/" + etag + " "}) {
        const Reply held = with(tags);
        EXPECT_EQ(held.status, 304) << tags;
        EXPECT_EQ(held.body, "");
        EXPECT_EQ(held.content_type, "");
        EXPECT_EQ(held.header("ETag"), etag);
    }
    for (const std::string tags : {"\"x\"", "", "x", ","}) {
        EXPECT_EQ(with(tags).status, 200) << tags;
    }
    put("/v1/users/a/status", R"({"status":"busy"})");
    const Reply after = with(etag);
    EXPECT_EQ(after.status, 200);
    EXPECT_NE(after.header("ETag"), etag);
    EXPECT_TRUE(after.has(R"("status":"busy")"));
    // Of bytes and nothing else: two who may not be seen differ by their names alone.
    EXPECT_EQ(call_as("v", "GET", "/v1/users/x/presence").header("ETag"),
              call("GET", "/v1/users/x/presence?viewer=v").header("ETag"));
}

TEST_F(Views, OfManyComeInOrderEachOnce) {
    attach("b");
    const Reply reply = post("/v1/presence/query", R"({"users":["a","b","a","c"]})");
    EXPECT_EQ(reply.status, 200);
    const std::size_t a = reply.body.find(R"({"userId":"a","status":"offline","version":0})");
    const std::size_t b = reply.body.find(R"({"userId":"b","status":"online")");
    const std::size_t c = reply.body.find(R"({"userId":"c")");
    EXPECT_LT(a, b);
    EXPECT_LT(b, c);
    EXPECT_NE(c, std::string::npos);
    EXPECT_EQ(reply.body.find(R"("userId":"a")", a + 20), std::string::npos);
    EXPECT_TRUE(reply.has(R"("asOf":)" + std::to_string(clock.wall_now().ms()))) << reply.body;
    EXPECT_EQ(post("/v1/presence/query", R"({"users":[]})").body,
              R"({"users":[],"asOf":)" + std::to_string(clock.wall_now().ms()) + "}");
}

TEST_F(Views, OfManyAreForTheUserWhoAsks) {
    attach("b");
    put("/v1/users/b/privacy", R"({"online":{"mode":"only","users":["friend"]}})");
    const std::string users = R"({"users":["b"]})";
    EXPECT_TRUE(call_as("friend", "POST", "/v1/presence/query", users).has("online"));
    EXPECT_TRUE(call_as("other", "POST", "/v1/presence/query", users).has("offline"));
    Sending sending;
    sending.body = users;
    EXPECT_TRUE(call("POST", "/v1/presence/query?viewer=other", sending).has("offline"));
}

TEST_F(Views, OfManyRefuseWhatIsNoListOfUsers) {
    for (const char* body : {"{}", R"({"users":"a"})", R"({"users":[5]})", R"({"users":[""]})",
                             R"({"users":null})", "[]", "null", "5", "", "{", "\xFF"}) {
        const Reply reply = post("/v1/presence/query", body);
        EXPECT_EQ(reply.status, 400) << body;
        EXPECT_EQ(reply.code(), "badRequest");
    }
    std::string many = R"({"users":["u")";
    for (int i = 0; i < 1000; ++i) {
        many += ",\"u" + std::to_string(i) + "\"";
    }
    const Reply reply = post("/v1/presence/query", many + "]}");
    EXPECT_EQ(reply.status, 429);
    EXPECT_EQ(reply.code(), "limitExceeded");
    EXPECT_TRUE(reply.has(R"("limit":1000)"));
}

TEST_F(Views, AreUnavailableWithoutTheStore) {
    sessions.set_unavailable(true);
    EXPECT_EQ(call("GET", "/v1/users/a/presence").status, 503);
    EXPECT_EQ(post("/v1/presence/query", R"({"users":["a"]})").code(), "unavailable");
    EXPECT_EQ(call("GET", "/v1/users/a/sessions").status, 503);
    EXPECT_EQ(call("GET", "/v1/users/a/explain?viewer=v").status, 503);
}

TEST_F(Views, Fo069TakeAnyIdAndNormaliseNone) {
    struct Case {
        const char* encoded;
        const char* id;
    };
    for (const Case& one : {Case{"a%2Fb", "a/b"},
                            {"%2E%2E", ".."},
                            {"..", ".."},
                            {".", "."},
                            {"a%2fb%2F", "a/b/"},
                            {"a%3Fb%23c", "a?b#c"},
                            {"a%252Fb", "a%2Fb"},
                            {"%C3%BC", "\xC3\xBC"},
                            {"a%20b", "a b"},
                            {"a+b", "a+b"},
                            {"a:b@c;d", "a:b@c;d"},
                            {"%25", "%"},
                            {"*", "*"},
                            {"null", "null"},
                            {"__proto__", "__proto__"}}) {
        const Reply reply =
            call_as("v", "GET", std::string("/v1/users/") + one.encoded + "/presence");
        EXPECT_EQ(reply.status, 200) << one.encoded;
        EXPECT_TRUE(reply.has(std::string(R"({"userId":")") + one.id + '"')) << reply.body;
    }
    const std::string longest(128, 'x');
    EXPECT_EQ(call("GET", "/v1/users/" + longest + "/presence").status, 200);
    for (const std::string& user :
         {std::string("%00"), std::string("a%0Ab"), longest + "x", std::string("%FF"),
          std::string("%20"), std::string("%E2%80%AE"), std::string("%zz"), std::string("a%"),
          std::string("a%2"), std::string(""), std::string("%C0%AF"), std::string("%7F")}) {
        const Reply reply = call("GET", "/v1/users/" + user + "/presence");
        EXPECT_EQ(reply.status, 400) << user;
        EXPECT_EQ(reply.code(), "badRequest");
        EXPECT_TRUE(reply.has("userId")) << reply.body;
    }
}

TEST_F(Views, ListSessionsOldestFirst) {
    EXPECT_EQ(call("GET", "/v1/users/a/sessions").body, R"({"sessions":[]})");
    const Attachment phone = attach("a", 1, DeviceKind::mobile);
    clock.pass(Millis{1000});
    const Attachment desk = attach("a", 2, DeviceKind::desktop);
    for (const std::size_t thread : {0U, 1U}) {
        const Reply reply = call_on(thread, "GET", "/v1/users/a/sessions");
        const std::size_t first_at = reply.body.find(phone.id.text);
        const std::size_t second_at = reply.body.find(desk.id.text);
        ASSERT_NE(second_at, std::string::npos) << reply.body;
        EXPECT_LT(first_at, second_at);
        EXPECT_TRUE(reply.has(R"("device":{"type":"mobile","name":"name"})"));
        EXPECT_TRUE(reply.has(R"("state":"live")"));
        EXPECT_TRUE(reply.has(R"("lastHeartbeatAt":)"));
        EXPECT_TRUE(reply.has(R"("connectedAt":)" + std::to_string(clock.wall_now().ms() - 1000)));
    }
    PresenceService& service = home_of("a").shard.service;
    wait(service.connection_lost(phone.session, false));
    EXPECT_TRUE(call("GET", "/v1/users/a/sessions").has(R"("state":"grace")"));
}

TEST_F(Views, AreExplainedToBackEnds) {
    attach("a");
    put("/v1/users/a/status", R"({"status":"busy"})");
    put("/v1/users/a/blocks", R"({"users":["v"]})");
    for (const std::size_t thread : {0U, 1U}) {
        const Reply reply = call_on(thread, "GET", "/v1/users/a/explain?viewer=v");
        EXPECT_EQ(reply.status, 200);
        EXPECT_TRUE(reply.body.starts_with(
            R"({"viewer":"v","subject":"a","view":{"userId":"a","status":"offline","version":0},)"))
            << reply.body;
        EXPECT_TRUE(reply.has(R"("sessions":[{"sessionId":")"));
        EXPECT_TRUE(reply.has(
            R"("merge":{"policy":"most_available","declared":{"status":"busy"},"result":"busy"})"))
            << reply.body;
        EXPECT_TRUE(reply.has(R"("rules":[{"attribute":"online")"));
        EXPECT_TRUE(reply.has(R"("passes":false)"));
    }
    const Reply self = call("GET", "/v1/users/a/explain?viewer=a");
    EXPECT_TRUE(self.has(R"("view":{"userId":"a","status":"busy")")) << self.body;
    EXPECT_FALSE(self.has(R"("passes":false)"));
    const Reply nobody = call("GET", "/v1/users/never/explain?viewer=v");
    EXPECT_TRUE(nobody.has(R"("sessions":[],"merge":{"policy":"most_available",)"
                           R"("declared":{"status":"auto"},"result":"offline"})"))
        << nobody.body;
    for (const char* query : {"", "?viewer=", "?viewer=%00", "?viewer=a&viewer=b", "?v=a"}) {
        EXPECT_EQ(call("GET", std::string("/v1/users/a/explain") + query).status, 400) << query;
    }
}

TEST_F(Views, AMomentOfTheLastHourIsExplained) {
    attach("a");
    clock.pass(10s);
    const std::string before = std::to_string(clock.wall_now().ms());
    clock.pass(10s);
    put("/v1/users/a/status", R"({"status":"busy","customStatus":{"text":"secret"}})");
    for (const std::size_t thread : {0U, 1U}) {
        const Reply then = call_on(thread, "GET", "/v1/users/a/explain?viewer=v&at=" + before);
        ASSERT_EQ(then.status, 200) << then.body;
        EXPECT_TRUE(then.has(R"("then":{"at":)" + before +
                             R"(,"known":true,"status":"online","shown":"online","seen":"online",)"
                             R"("rulesChanged":false,"because":{"at":)"))
            << then.body;
        EXPECT_TRUE(then.has(R"("cause":"status","before":{"status":"online","shown":"online"},)"
                             R"("after":{"status":"busy","shown":"busy"},"version":)"))
            << then.body;
        EXPECT_TRUE(then.has(R"("changed":["status","customStatus"]}])")) << then.body;
        EXPECT_TRUE(then.has(R"("complete":true)"));
        EXPECT_EQ(then.body.find("secret", then.body.find("\"then\"")), std::string::npos);
    }
    EXPECT_FALSE(call("GET", "/v1/users/a/explain?viewer=v").has("\"past\""));
    const std::string future = std::to_string(clock.wall_now().ms() + 1000);
    for (const std::string& at : {std::string("x"), std::string("-1"), std::string(), future}) {
        EXPECT_EQ(call("GET", "/v1/users/a/explain?viewer=v&at=" + at).status, 400) << at;
    }
}

TEST_F(Views, WhatIsErasedIsNotRemembered) {
    attach("a");
    const std::string at = std::to_string(clock.wall_now().ms());
    ASSERT_EQ(call("DELETE", "/v1/users/a").status, 204);
    turn();
    const Reply then = call("GET", "/v1/users/a/explain?viewer=v&at=" + at);
    EXPECT_TRUE(then.has(R"("transitions":[])")) << then.body;
}

}  // namespace
}  // namespace presence::api::testing
