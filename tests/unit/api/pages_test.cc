// What is open to anybody; unknown paths; headers; calls from other origins.

#include "unit/api/api_world.h"

namespace presence::api::testing {
namespace {

class Pages : public ApiWorld {
protected:
    Reply open(std::string_view method, std::string_view target) {
        Sending sending;
        sending.anonymous = true;
        return call(method, target, sending);
    }
    Reply from(const std::string& origin, std::string_view method, std::string_view target) {
        Sending sending;
        sending.headers = {{"Origin", origin}};
        return call(method, target, sending);
    }
};

TEST_F(Pages, TellHealthReadinessAndVersion) {
    EXPECT_EQ(open("GET", "/healthz").body, R"({"status":"ok"})");
    EXPECT_EQ(open("GET", "http://any/healthz").status, 200);  // As RFC 9112, 3.2.2 wants it.
    EXPECT_EQ(open("GET", "/version").body,
              R"({"name":"presenced","version":"1.2.3","protocol":1})");
    EXPECT_EQ(open("GET", "/readyz").body, R"({"status":"ready","store":"ok","database":"ok"})");
    EXPECT_EQ(open("GET", "/readyz").status, 200);
    facts.draining = true;
    EXPECT_EQ(open("GET", "/readyz").body, R"({"status":"draining","store":"ok","database":"ok"})");
    EXPECT_EQ(open("GET", "/readyz").status, 503);
    facts.draining = false;
    facts.ready = false;
    EXPECT_EQ(open("GET", "/readyz").body, R"({"status":"starting","store":"ok","database":"ok"})");
    EXPECT_EQ(open("GET", "/readyz").status, 503);
    EXPECT_EQ(open("GET", "/healthz").status, 200);
}

TEST_F(Pages, FO090_ReadinessSaysWhichStoreIsMissing) {
    start();
    profiles.faults().set_unavailable(true);
    const Reply degraded = open("GET", "/readyz");
    EXPECT_EQ(degraded.status, 200);
    EXPECT_EQ(degraded.body, R"({"status":"degraded","store":"ok","database":"down"})");
    profiles.faults().set_unavailable(false);
    EXPECT_EQ(open("GET", "/readyz").body, degraded.body) << "asked once a second at most";
    pass(1s);
    EXPECT_EQ(open("GET", "/readyz").body, R"({"status":"ready","store":"ok","database":"ok"})");
    sessions.faults().set_unavailable(true);
    pass(1s);
    const Reply down = open("GET", "/readyz");
    EXPECT_EQ(down.status, 503);
    EXPECT_EQ(down.body, R"({"status":"storeDown","store":"down","database":"ok"})");
    sessions.faults().set_unavailable(false);
    sessions.faults().set_delay(5s);
    pass(1s);
    EXPECT_EQ(open("GET", "/readyz").status, 503) << "one that hangs is as good as none";
    pass(5s);
}

TEST_F(Pages, ReadinessSaysWhichStoreRefusesWrites) {
    start();
    EXPECT_EQ(open("GET", "/readyz").body, R"({"status":"ready","store":"ok","database":"ok"})");
    profiles.faults().set_refuses_writes(true);
    Sending contacts;
    contacts.body = R"({"users":["bob"]})";
    EXPECT_EQ(call("PUT", "/v1/users/ann/contacts", contacts).status, 503);
    pass(1s);
    const Reply full = open("GET", "/readyz");
    EXPECT_EQ(full.status, 200);
    EXPECT_EQ(full.body, R"({"status":"degraded","store":"ok","database":"degraded"})");
    profiles.faults().set_refuses_writes(false);
    pass(9s);
    EXPECT_EQ(open("GET", "/readyz").body, full.body);
    pass(2s);
    EXPECT_EQ(open("GET", "/readyz").body, R"({"status":"ready","store":"ok","database":"ok"})");
    threads[0]->shard.nodes.health = StoreHealth::degraded;
    pass(1s);
    EXPECT_EQ(open("GET", "/readyz").body,
              R"({"status":"degraded","store":"degraded","database":"ok"})");
    EXPECT_EQ(open("GET", "/readyz").status, 200);
}

TEST_F(Pages, ServeTheContract) {
    const Reply protocol = open("GET", "/v1/protocol.json");
    EXPECT_EQ(protocol.body, assets.protocol_json);
    EXPECT_EQ(protocol.content_type, "application/json");
    const Reply contract = open("GET", "/v1/openapi.yaml");
    EXPECT_EQ(contract.body, assets.openapi_yaml);
    EXPECT_EQ(contract.content_type, "application/yaml");
    Sending held;
    held.headers = {{"If-None-Match", contract.header("ETag")}};
    EXPECT_EQ(call("GET", "/v1/openapi.yaml", held).status, 304);
}

TEST_F(Pages, ServeTheirFilesLockedDown) {
    const Reply page = open("GET", "/");
    EXPECT_EQ(page.status, 200);
    EXPECT_EQ(page.body, "<p>hello</p>");
    EXPECT_EQ(page.content_type, "text/html; charset=utf-8");
    EXPECT_EQ(page.header("ETag"), "\"p1\"");
    const std::string policy = page.header("Content-Security-Policy");
    for (const char* part : {"default-src 'none'", "script-src 'self'", "connect-src 'self'",
                             "img-src 'self' data:", "frame-ancestors 'self'"}) {
        EXPECT_NE(policy.find(part), std::string::npos) << part;
    }
    EXPECT_EQ(policy.find("unsafe"), std::string::npos);
    EXPECT_EQ(page.header("X-Frame-Options"), "SAMEORIGIN");
    EXPECT_EQ(page.header("Cross-Origin-Opener-Policy"), "same-origin");
    EXPECT_EQ(page.header("X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(page.header("Referrer-Policy"), "no-referrer");
    EXPECT_EQ(open("GET", "/assets/a.js").content_type, "text/javascript; charset=utf-8");
    EXPECT_EQ(open("GET", "/?x=1").status, 200);
    EXPECT_EQ(open("HEAD", "/").status, 200);
    Sending held;
    held.headers = {{"If-None-Match", "\"p1\""}};
    EXPECT_EQ(call("GET", "/", held).status, 304);
}

TEST_F(Pages, OfAFolderAreFoundWithoutItsSlash) {
    EXPECT_EQ(open("GET", "/admin/").status, 200);
    const Reply reply = open("GET", "/admin");
    EXPECT_EQ(reply.status, 308);
    EXPECT_EQ(reply.header("Location"), "admin/");
    EXPECT_EQ(open("GET", "/assets").status, 404);
}

TEST_F(Pages, ThatAreNotThereAreNotFound) {
    for (const char* target : {"/v1/nothing",
                               "/v1",
                               "/v1/",
                               "/v1/users",
                               "/v1/users/",
                               "/v1/users/a",
                               "/v1/users/a/b",
                               "/v1/users/a/presence/",
                               "/v1/users/a/presence/x",
                               "/v1/users/a/b/c",
                               "//v1/users/a/presence",
                               "/v1//users/a/presence",
                               "/V1/users/a/presence",
                               "/v1/users/../users/a/presence",
                               "/./healthz",
                               "/healthz/",
                               "/%68ealthz",
                               "/x/../healthz",
                               "/v1/%75sers/a/presence",
                               "/assets/",
                               "/assets/../",
                               "/assets/a.js/",
                               "/assets%2Fa.js",
                               "/metrics",
                               "/demo/token?user=a",
                               "/demo/people",
                               "healthz",
                               "*",
                               "",
                               "/v1/users/a%2Fpresence",
                               "/v1/heartbeat"}) {
        const Reply reply = call("GET", target);
        EXPECT_EQ(reply.status, 404) << target;
        EXPECT_EQ(reply.code(), "notFound") << target;
        EXPECT_EQ(reply.content_type, "application/json");
    }
    const std::pair<const char*, const char*> methods[]{
        {"PUT", "/v1/users/a/presence"},
        {"POST", "/v1/users/a/presence"},
        {"PATCH", "/v1/users/a/status"},
        {"POST", "/v1/users/a/status"},
        {"DELETE", "/v1/presence/query"},
        {"GET", "/v1/presence/query"},
        {"GET", "/v1/users/a/revoke"},
        {"GET", "/v1/users/a"},
        {"DELETE", "/v1/users/a/contacts"},
        {"GET", "/v1/users/a/sessions/x"},
        {"POST", "/healthz"},
        {"DELETE", "/"},
        {"get", "/healthz"},
        {"TRACE", "/v1/users/a/presence"},
        {"POST", "/v1/users/a/explain"},
        {"DELETE", "/v1/users/a/sessions"},
    };
    for (const auto& [method, target] : methods) {
        EXPECT_EQ(call(method, target).code(), "notFound") << method << ' ' << target;
    }
}

TEST_F(Pages, AreAnsweredToHeadAsToGet) {
    EXPECT_EQ(open("HEAD", "/healthz").status, 200);
    EXPECT_EQ(call("HEAD", "/v1/users/a/presence").status, 200);
    EXPECT_EQ(call("HEAD", "/v1/presence/query").status, 404);
}

TEST_F(Pages, OfTheDemoAreThereOnlyInADemo) {
    demo.emplace();
    demo->token = [](const UserId& user) -> Result<std::string> {
        if (user.text == "broken") {
            return Error{ErrorCode::internal, "no key", 0, 0};
        }
        return "token of " + user.text;
    };
    demo->people_json = [] { return std::string(R"({"people":[]})"); };
    EXPECT_EQ(open("GET", "/demo/people").body, R"({"people":[]})");
    EXPECT_EQ(open("GET", "/demo/token?user=a%2Fb").body, R"({"token":"token of a/b"})");
    EXPECT_EQ(open("GET", "/demo/token?user=broken").status, 500);
    for (const char* query : {"", "?user=", "?user=%00", "?user=a&user=b", "?user=%zz"}) {
        const Reply reply = open("GET", std::string("/demo/token") + query);
        EXPECT_EQ(reply.status, 400) << query;
        EXPECT_EQ(reply.code(), "badRequest");
    }
    EXPECT_EQ(open("POST", "/demo/people").status, 404);
}

TEST_F(Pages, Fo098AnswerThePreflightsOfListedOriginsOnly) {
    const std::string listed = "https://app.example.com";
    for (const char* target : {"/v1/users/a/presence", "/v1/nothing", "*", "/"}) {
        const Reply reply = from(listed, "OPTIONS", target);
        EXPECT_EQ(reply.status, 204) << target;
        EXPECT_EQ(reply.body, "");
        EXPECT_EQ(reply.header("Access-Control-Allow-Origin"), listed);
        EXPECT_EQ(reply.header("Vary"), "Origin");
        EXPECT_EQ(reply.header("Access-Control-Allow-Methods"), "GET, POST, PUT, DELETE");
        EXPECT_EQ(reply.header("Access-Control-Allow-Headers"),
                  "Authorization, Content-Type, If-None-Match, Last-Event-ID");
        EXPECT_EQ(reply.header("Access-Control-Allow-Credentials"), "");
    }
    for (const std::string& origin :
         {std::string("null"), std::string(""), std::string("http://app.example.com"),
          std::string("https://app.example.com:8443"), std::string("https://evilapp.example.com"),
          std::string("https://app.example.com.evil.io"),
          std::string("https://app.example.com@evil.io"), std::string("https://app.example.com."),
          std::string("http://[::1]"), "https://app.example.com" + std::string(8192, 'x')}) {
        const Reply reply = from(origin, "OPTIONS", "/v1/users/a/presence");
        EXPECT_EQ(reply.status, 204) << origin;
        EXPECT_EQ(reply.header("Access-Control-Allow-Origin"), "") << origin;
        EXPECT_EQ(reply.header("Access-Control-Allow-Methods"), "");
        EXPECT_EQ(reply.header("Vary"), "Origin");
    }
    Sending twice;
    twice.headers = {{"Origin", listed}, {"Origin", listed}};
    EXPECT_EQ(call("OPTIONS", "/", twice).header("Access-Control-Allow-Origin"), "");
    EXPECT_EQ(open("OPTIONS", "/v1/users/a/presence").status, 204);
}

TEST_F(Pages, LetListedOriginsReadAllAnswers) {
    const std::string listed = "https://app.example.com";
    for (const char* target :
         {"/v1/users/a/presence", "/v1/nothing", "/healthz", "/", "/v1/users/%00/presence"}) {
        const Reply reply = from(listed, "GET", target);
        EXPECT_EQ(reply.header("Access-Control-Allow-Origin"), listed) << target;
        EXPECT_EQ(reply.header("Access-Control-Expose-Headers"), "ETag, Retry-After");
        EXPECT_EQ(reply.header("Vary"), "Origin");
    }
    const Reply other = from("https://evil.io", "GET", "/v1/users/a/presence");
    EXPECT_EQ(other.header("Access-Control-Allow-Origin"), "");
    EXPECT_EQ(other.header("Vary"), "Origin");
    EXPECT_EQ(call("GET", "/v1/users/a/presence").header("Access-Control-Allow-Origin"), "");
}

TEST_F(Pages, OfUsersAreNotKept) {
    EXPECT_EQ(call("GET", "/v1/users/a/sessions").header("Cache-Control"), "no-store");
    EXPECT_EQ(call("GET", "/v1/users/a/presence").header("Cache-Control"), "private, no-cache");
    EXPECT_EQ(call("GET", "/v1/nothing").header("Cache-Control"), "no-store");
}

}  // namespace
}  // namespace presence::api::testing
