// Status, rules, contacts and blocks over HTTP.

#include "unit/api/api_world.h"

namespace presence::api::testing {
namespace {

class ProfileCalls : public ApiWorld {
protected:
    static std::string at(const char* rest) { return std::string("/v1/users/a/") + rest; }
    std::string in(Millis time) const { return std::to_string((clock.wall_now() + time).ms()); }
};

TEST_F(ProfileCalls, AStatusIsStoredReadAndTakenBack) {
    EXPECT_EQ(call("GET", at("status")).body, R"({"status":"auto"})");
    const std::string end = in(Millis{60'000});
    const std::string stored =
        R"({"status":"dnd","expiresAt":)" + end + R"(,"customStatus":{"text":"T","emoji":"E"}})";
    EXPECT_EQ(put(at("status"), stored).body, stored);
    for (const std::size_t thread : {0U, 1U}) {
        EXPECT_EQ(call_on(thread, "GET", at("status")).body, stored);
    }
    EXPECT_EQ(put(at("status"), R"({"customStatus":null})").body,
              R"({"status":"dnd","expiresAt":)" + end + "}");
    EXPECT_EQ(put(at("status"), R"({"status":"away"})").body, R"({"status":"away"})");
    const Reply gone = call("DELETE", at("status"));
    EXPECT_EQ(gone.status, 204);
    EXPECT_EQ(gone.body, "");
    EXPECT_EQ(call("GET", at("status")).body, R"({"status":"auto"})");
    EXPECT_EQ(call("DELETE", at("status")).status, 204);
}

TEST_F(ProfileCalls, WhatWasReadIsStillGivenWhileTheDatabaseIsAway) {
    const std::string stored = R"({"status":"busy","customStatus":{"text":"T"}})";
    EXPECT_EQ(put(at("status"), stored).body, stored);
    EXPECT_EQ(call("GET", at("privacy")).status, 200);
    profiles.set_unavailable(true);
    EXPECT_EQ(call("GET", at("status")).body, stored);
    EXPECT_EQ(call("GET", at("privacy")).status, 200);
    EXPECT_EQ(put(at("status"), R"({"status":"away"})").status, 503);
    EXPECT_EQ(call("GET", at("status")).body, stored);
    EXPECT_EQ(call("GET", "/v1/users/never-read/status").status, 503);
    EXPECT_EQ(call("GET", "/v1/users/never-read/privacy").status, 503);
}

TEST_F(ProfileCalls, AListAsLongAsTheLimitIsTakenWhole) {
    std::string body = R"({"users":[)";
    for (std::size_t i = 0; i < limits.list_users; ++i) {
        const std::string number = std::to_string(i);
        body += (i == 0 ? "\"" : ", \"") + std::string(128 - number.size(), 'u') + number + '"';
    }
    body += "]}";
    ASSERT_GT(body.size(), 1'300'000U);
    EXPECT_EQ(put(at("contacts"), body).status, 200);
    EXPECT_EQ(put(at("blocks"), body).status, 200);
}

TEST_F(ProfileCalls, OnlyKnownCallersMayBringLargeBodiesAndOnlyToListsOfUsers) {
    start();
    const auto may = [&](const char* method, const std::string& path, const std::string& token) {
        net::HttpRequest head;
        head.method = method;
        head.target = path;
        if (!token.empty()) {
            head.headers.emplace_back("Authorization", "Bearer " + token);
        }
        return apis[0]->may_be_large(head);
    };
    for (const char* list : {"contacts", "blocks"}) {
        EXPECT_TRUE(may("PUT", at(list), "key")) << list;
        EXPECT_TRUE(may("POST", at(list), "key")) << list;
    }
    EXPECT_TRUE(may("PUT", at("privacy"), "key"));
    EXPECT_TRUE(may("PUT", at("privacy"), token_of("a")));
    EXPECT_TRUE(may("PUT", at("blocks"), token_of("a")));
    EXPECT_FALSE(may("PUT", at("blocks"), token_of("b")));
    EXPECT_FALSE(may("PUT", at("contacts"), token_of("a")));
    EXPECT_FALSE(may("PUT", at("blocks"), "forged"));
    EXPECT_FALSE(may("PUT", at("blocks"), ""));
    EXPECT_FALSE(may("PUT", at("status"), "key"));
    EXPECT_FALSE(may("POST", "/v1/presence/query", "key"));
    EXPECT_FALSE(may("POST", "/v1/no-such-path", "key"));
}

TEST_F(ProfileCalls, Fo102AStatusThatIsOverIsNotShown) {
    const Reply stored =
        put(at("status"),
            R"({"status":"busy","expiresInMs":800,"customStatus":{"text":"x","expiresInMs":900}})");
    EXPECT_EQ(stored.body, R"({"status":"busy","expiresAt":)" + in(Millis{800}) +
                               R"(,"customStatus":{"text":"x","expiresAt":)" + in(Millis{900}) +
                               "}}");
    clock.pass(Millis{800});
    EXPECT_EQ(call("GET", at("status")).body, R"({"status":"auto","customStatus":{"text":"x",)"
                                              R"("expiresAt":)" +
                                                  in(Millis{100}) + "}}");
    clock.pass(Millis{100});
    EXPECT_EQ(call("GET", at("status")).body, R"({"status":"auto"})");
}

TEST_F(ProfileCalls, ChangesOfOneListAtTheSameTimeAreAllMadeAndAllAnswered) {
    profiles.faults().set_delay(Millis{10});
    std::vector<Started<net::HttpResponse>> answers;
    for (int i = 0; i < 60; ++i) {
        Sending sending;
        sending.body = R"({"add":["friend)" + std::to_string(i) + R"("]})";
        answers.push_back(begin_on(0, "POST", at("contacts"), sending));
        turn();
        clock.pass(Millis{1});  // So each commit overtakes the reads behind the ones before.
    }
    for (int i = 0; i < 100; ++i) {
        turn();
        clock.pass(Millis{5});
    }
    for (const Started<net::HttpResponse>& answer : answers) {
        ASSERT_TRUE(answer->has_value());
        EXPECT_EQ((*answer)->status, 200) << (*answer)->body_view();
    }
    const Reply stored = call("GET", at("contacts"));
    for (int i = 0; i < 60; ++i) {
        EXPECT_TRUE(stored.has("\"friend" + std::to_string(i) + "\"")) << i;
    }
}

TEST_F(ProfileCalls, AWriterThatNeverRestsTurnsNobodyAway) {
    profiles.faults().set_delay(Millis{10});
    Shard& home = home_of("a").shard;
    const Started<Result<ProfileRef>> asked = start_task(home.editor.profile(UserId("a")));
    for (int i = 0; i < 100 && !asked->has_value(); ++i) {
        clock.pass(Millis{5});
        home.cache.invalidate(UserId("a"));
        clock.pass(Millis{5});
        turn();
    }
    ASSERT_TRUE(asked->has_value());
    EXPECT_TRUE((*asked)->has_value());
}

TEST_F(ProfileCalls, AStatusIsShownOnTheUsersDevices) {
    attach("a");
    Sending sending;
    sending.body = R"({"status":"busy"})";
    for (const std::size_t thread : {0U, 1U}) {
        sending.body = thread == 0 ? R"({"status":"busy"})" : R"({"status":"dnd"})";
        EXPECT_EQ(call_on(thread, "PUT", at("status"), sending).status, 200);
        EXPECT_TRUE(call("GET", "/v1/users/a/presence").has(thread == 0 ? "busy" : "dnd"));
    }
    EXPECT_EQ(call_as("a", "DELETE", at("status")).status, 204);
    EXPECT_TRUE(call("GET", "/v1/users/a/presence").has(R"("status":"online")"));
}

TEST_F(ProfileCalls, AWrongStatusChangesNothing) {
    for (const char* body :
         {"{}", R"({"status":"offline"})", R"({"status":5})", R"({"status":"busy","expiresAt":1})",
          R"({"status":"busy","expiresInMs":0})", R"({"expiresInMs":5000})",
          R"({"status":"busy","expiresInMs":5,"expiresAt":9000000000000})",
          R"({"status":"busy","scope":"session"})", R"({"customStatus":{}})",
          R"({"customStatus":{"text":"x","expiresAt":1}})", "[]", "null", ""}) {
        const Reply reply = put(at("status"), body);
        EXPECT_EQ(reply.status, 400) << body;
        EXPECT_EQ(reply.code(), "badRequest");
    }
    const Reply too_long =
        put(at("status"), R"({"customStatus":{"text":")" + std::string(101, 'x') + "\"}}");
    EXPECT_TRUE(too_long.status == 400 || too_long.status == 429) << too_long.body;
    EXPECT_EQ(call("GET", at("status")).body, R"({"status":"auto"})");
}

TEST_F(ProfileCalls, AUserWhoChangesTooOftenIsToldWhenAndNothingIsKeptForLater) {
    const auto change = [&](int i) {
        return call_as("a", "PUT", at("status"),
                       R"({"customStatus":{"text":"n)" + std::to_string(i) + "\"}}");
    };
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(change(i).status, 200) << i;
    }
    const Reply refused = change(10);
    EXPECT_EQ(refused.status, 429);
    EXPECT_EQ(refused.code(), "rateLimited");
    EXPECT_TRUE(refused.has(R"("temporary":true,"retryAfterMs":1001)")) << refused.body;
    EXPECT_EQ(refused.header("Retry-After"), "2");
    EXPECT_EQ(call_as("a", "DELETE", at("status")).status, 429);
    EXPECT_TRUE(call("GET", at("status")).has("n9"));
    pass(Millis{5000});
    EXPECT_TRUE(call("GET", at("status")).has("n9"));
    EXPECT_EQ(change(11).status, 200);
    for (int i = 0; i < 30; ++i) {
        EXPECT_EQ(put(at("status"), R"({"status":"busy"})").status, 200);
    }
}

TEST_F(ProfileCalls, RulesAreReadAndSetOneByOne) {
    EXPECT_EQ(call("GET", at("privacy")).body,
              R"({"online":{"mode":"everyone"},"lastSeen":{"mode":"contacts"}})");
    const std::string set =
        R"({"online":{"mode":"only","users":["a","z"]},"lastSeen":{"mode":"contacts"}})";
    EXPECT_EQ(
        call_as("a", "PUT", at("privacy"), R"({"online":{"mode":"only","users":["z","a","z"]}})")
            .body,
        set);
    for (const char* body :
         {"{}", R"({"online":{}})", R"({"online":{"mode":"all"}})", R"({"online":{"mode":"only"}})",
          R"({"lastSeen":null})", R"({"online":{"mode":"only","users":[5]}})", "", "[]"}) {
        const Reply reply = put(at("privacy"), body);
        EXPECT_EQ(reply.status, 400) << body;
        EXPECT_EQ(reply.code(), "badRequest");
    }
    for (const std::size_t thread : {0U, 1U}) {
        EXPECT_EQ(call_on(thread, "GET", at("privacy")).body, set);
    }
    EXPECT_EQ(put(at("privacy"), R"({"lastSeen":{"mode":"nobody"}})").body,
              R"({"online":{"mode":"only","users":["a","z"]},"lastSeen":{"mode":"nobody"}})");
}

TEST_F(ProfileCalls, ListsAreReplacedAddedToAndRemovedFrom) {
    for (const char* list : {"contacts", "blocks"}) {
        SCOPED_TRACE(list);
        const std::string target = at(list);
        EXPECT_EQ(call("GET", target).body, R"({"users":[]})");
        EXPECT_EQ(put(target, R"({"users":["e","c","e"]})").body, R"({"users":["c","e"]})");
        EXPECT_EQ(post(target, R"({"add":["d","c"],"remove":["e","never"]})").body,
                  R"({"users":["c","d"]})");
        EXPECT_EQ(post(target, R"({"remove":["c"]})").body, R"({"users":["d"]})");
        EXPECT_EQ(post(target, R"({"add":[]})").body, R"({"users":["d"]})");
        for (const char* body : {"{}", R"({"add":"x"})", R"({"add":[5]})", R"({"remove":[""]})",
                                 R"({"add":null})", R"({"add":["x"],"remove":["x"]})"}) {
            EXPECT_EQ(post(target, body).code(), "badRequest") << body;
        }
        for (const char* body : {"{}", R"({"users":"x"})", R"({"users":[5]})", "[]"}) {
            EXPECT_EQ(put(target, body).code(), "badRequest") << body;
        }
        for (const std::size_t thread : {0U, 1U}) {
            EXPECT_EQ(call_on(thread, "GET", target).body, R"({"users":["d"]})");
        }
        EXPECT_EQ(put(target, R"({"users":[]})").body, R"({"users":[]})");
    }
}

TEST_F(ProfileCalls, NobodyBlocksThemselves) {
    EXPECT_EQ(put(at("blocks"), R"({"users":["b","a"]})").code(), "badRequest");
    EXPECT_EQ(call_as("a", "POST", at("blocks"), R"({"add":["a"]})").code(), "badRequest");
    EXPECT_EQ(call_as("a", "POST", at("blocks"), R"({"remove":["a"]})").status, 200);
    EXPECT_EQ(put(at("contacts"), R"({"users":["a"]})").status, 200);
    EXPECT_EQ(call("GET", at("blocks")).body, R"({"users":[]})");
}

TEST_F(ProfileCalls, AListThatWouldGrowTooLongIsRefusedWhole) {
    limits.list_users = 3;
    EXPECT_EQ(put(at("contacts"), R"({"users":["b","c","d"]})").status, 200);
    Reply reply = post(at("contacts"), R"({"add":["e"]})");
    EXPECT_EQ(reply.status, 429);
    EXPECT_EQ(reply.code(), "limitExceeded");
    EXPECT_TRUE(reply.has(R"("temporary":false,"limit":3)")) << reply.body;
    reply = put(at("contacts"), R"({"users":["b","c","d","e"]})");
    EXPECT_EQ(reply.code(), "limitExceeded");
    EXPECT_EQ(call("GET", at("contacts")).body, R"({"users":["b","c","d"]})");
}

TEST_F(ProfileCalls, AreUnavailableWithoutTheDatabaseAndChangeNothing) {
    profiles.set_unavailable(true);
    for (const char* rest : {"status", "privacy", "contacts", "blocks"}) {
        const Reply reply = call("GET", at(rest));
        EXPECT_EQ(reply.status, 503) << rest;
        EXPECT_EQ(reply.code(), "unavailable");
        EXPECT_EQ(reply.header("Retry-After"), "1");
    }
    EXPECT_EQ(put(at("status"), R"({"status":"busy"})").status, 503);
    EXPECT_EQ(call("DELETE", at("status")).status, 503);
    EXPECT_EQ(put(at("privacy"), R"({"online":{"mode":"nobody"}})").status, 503);
    EXPECT_EQ(put(at("blocks"), R"({"users":["b"]})").status, 503);
    EXPECT_EQ(post(at("contacts"), R"({"add":["b"]})").status, 503);
    profiles.set_unavailable(false);
    EXPECT_EQ(call("GET", at("status")).body, R"({"status":"auto"})");
    EXPECT_EQ(call("GET", at("blocks")).body, R"({"users":[]})");
}

TEST_F(ProfileCalls, WhatHasNotChangedIsNotSentAgain) {
    put("/v1/users/a/blocks", R"({"users":["b"]})");
    for (const char* what : {"status", "privacy", "contacts", "blocks"}) {
        const std::string path = std::string("/v1/users/a/") + what;
        Sending held;
        held.headers = {{"If-None-Match", call("GET", path).header("ETag")}};
        const Reply same = call("GET", path, held);
        EXPECT_EQ(same.status, 304) << what;
        EXPECT_EQ(same.body, "");
    }
    Sending held;
    held.headers = {{"If-None-Match", call("GET", "/v1/users/a/blocks").header("ETag")}};
    put("/v1/users/a/blocks", R"({"users":["c"]})");
    EXPECT_EQ(call("GET", "/v1/users/a/blocks", held).status, 200);
}

}  // namespace
}  // namespace presence::api::testing
