// Who may make which call, and in which order that is found out.

#include "unit/api/api_world.h"

namespace presence::api::testing {
namespace {

struct Row {
    const char* method;
    const char* path;  ///< Behind /v1/users/subject.
    const char* body;
    bool self;
};

constexpr Row kRows[]{
    {"GET", "/presence", "", true},
    {"GET", "/status", "", true},
    {"PUT", "/status", R"({"status":"auto"})", true},
    {"DELETE", "/status", "", true},
    {"GET", "/privacy", "", true},
    {"PUT", "/privacy", R"({"online":{"mode":"everyone"}})", true},
    {"GET", "/contacts", "", false},
    {"PUT", "/contacts", R"({"users":[]})", false},
    {"POST", "/contacts", R"({"add":[]})", false},
    {"GET", "/blocks", "", true},
    {"PUT", "/blocks", R"({"users":[]})", true},
    {"POST", "/blocks", R"({"add":[],"remove":[]})", true},
    {"GET", "/sessions", "", false},
    {"DELETE", "/sessions/none", "", false},
    {"POST", "/revoke", R"({"before":0})", false},
    {"DELETE", "", "", false},
    {"GET", "/explain?viewer=x", "", false},
};

class Callers : public ApiWorld {
protected:
    Reply make(const Row& row, Sending sending) {
        sending.body = row.body;
        return call(row.method, std::string("/v1/users/subject") + row.path, sending);
    }
};

TEST_F(Callers, AreToldApartInEveryRow) {
    for (const Row& row : kRows) {
        SCOPED_TRACE(std::string(row.method) + " " + row.path);
        Sending anonymous;
        anonymous.anonymous = true;
        Reply reply = make(row, anonymous);
        EXPECT_EQ(reply.status, 401);
        EXPECT_EQ(reply.code(), "unauthorized");
        EXPECT_EQ(reply.header("WWW-Authenticate"), "Bearer");
        Sending stranger;
        stranger.token = "wrong";
        EXPECT_EQ(make(row, stranger).status, 401);
        const int by_back_end = make(row, {}).status;
        EXPECT_TRUE(by_back_end == 200 || by_back_end == 204 ||
                    (by_back_end == 404 && std::string_view(row.path) == "/sessions/none"))
            << by_back_end;
        Sending own;
        own.as = "subject";
        reply = make(row, own);
        EXPECT_EQ(reply.status == 200 || reply.status == 204, row.self) << reply.body;
        if (!row.self) {
            EXPECT_EQ(reply.status, 403);
            EXPECT_EQ(reply.code(), "forbidden");
        }
        Sending other;
        other.as = "other";
        reply = make(row, other);
        EXPECT_EQ(reply.status, std::string_view(row.path) == "/presence" ? 200 : 403);
    }
}

TEST_F(Callers, GiveOneBearerTokenInAnyCase) {
    Sending sending;
    sending.anonymous = true;
    const auto with = [&](std::vector<std::pair<std::string, std::string>> headers) {
        sending.headers = std::move(headers);
        return call("GET", "/v1/users/a/status", sending).status;
    };
    EXPECT_EQ(with({{"authorization", "bearer key"}}), 200);
    EXPECT_EQ(with({{"AUTHORIZATION", "BEARER   key"}}), 200);
    EXPECT_EQ(with({{"authorization", "key"}}), 401);
    EXPECT_EQ(with({{"authorization", "Basic key"}}), 401);
    EXPECT_EQ(with({{"authorization", "Bearer "}}), 401);
    EXPECT_EQ(with({{"authorization", "Bearerkey"}}), 401);
    EXPECT_EQ(with({{"authorization", ""}}), 401);
    EXPECT_EQ(with({{"authorization", "Bearer key"}, {"authorization", "Bearer key"}}), 401);
}

TEST_F(Callers, NeverPutATokenIntoTheUrl) {
    for (const char* target :
         {"/v1/users/a/presence?token=x", "/v1/users/a/presence?a=1&token=x",
          "/v1/presence/query?tok%65n", "/healthz?token=", "/?token=x", "/v1/nothing?token=x"}) {
        const Reply reply = call("GET", target);
        EXPECT_EQ(reply.status, 400) << target;
        EXPECT_EQ(reply.code(), "badRequest");
        EXPECT_TRUE(reply.has("token"));
    }
    EXPECT_EQ(call("GET", "/v1/users/token/presence?tokens=x").status, 200);
}

TEST_F(Callers, AreNarrowedByTheClaimsOfTheirToken) {
    const auto with = [&](bool TokenRights::*right, const char* method, const char* path,
                          const char* body) {
        TokenClaims& claims = tokens.claims[token_of("subject")];
        claims.rights = {};
        claims.rights.*right = false;
        return call_as("subject", method, path, body).status;
    };
    constexpr auto kWatch = &TokenRights::watch;
    constexpr auto kStatus = &TokenRights::status;
    constexpr auto kPrivacy = &TokenRights::privacy;
    const char* const user = "/v1/users/subject";
    const auto at = [user](const char* rest) { return std::string(user) + rest; };
    EXPECT_EQ(with(kWatch, "GET", "/v1/users/other/presence", ""), 403);
    EXPECT_EQ(with(kWatch, "POST", "/v1/presence/query", R"({"users":["subject","other"]})"), 403);
    EXPECT_EQ(with(kWatch, "GET", at("/presence").c_str(), ""), 200);
    EXPECT_EQ(with(kWatch, "POST", "/v1/presence/query", R"({"users":["subject"]})"), 200);
    EXPECT_EQ(with(kWatch, "GET", at("/status").c_str(), ""), 200);
    EXPECT_EQ(with(kStatus, "PUT", at("/status").c_str(), R"({"status":"busy"})"), 403);
    EXPECT_EQ(with(kStatus, "DELETE", at("/status").c_str(), ""), 403);
    EXPECT_EQ(with(kStatus, "GET", at("/status").c_str(), ""), 200);
    EXPECT_EQ(with(kPrivacy, "PUT", at("/privacy").c_str(), R"({"online":{"mode":"nobody"}})"),
              403);
    EXPECT_EQ(with(kPrivacy, "PUT", at("/blocks").c_str(), R"({"users":["x"]})"), 403);
    EXPECT_EQ(with(kPrivacy, "POST", at("/blocks").c_str(), R"({"add":["x"]})"), 403);
    EXPECT_EQ(with(kPrivacy, "GET", at("/privacy").c_str(), ""), 200);
    EXPECT_EQ(with(kPrivacy, "GET", at("/blocks").c_str(), ""), 200);
    EXPECT_EQ(with(kPrivacy, "PUT", at("/status").c_str(), R"({"status":"busy"})"), 200);
    EXPECT_EQ(call("GET", at("/blocks")).body, R"({"users":[]})");
}

TEST_F(Callers, AreCheckedForPathThenCredentialThenRightThenRequest) {
    Sending anonymous;
    anonymous.anonymous = true;
    anonymous.body = "no json";
    EXPECT_EQ(call("GET", "/v1/nothing", anonymous).status, 404);
    EXPECT_EQ(call("PUT", "/v1/users/%00/status", anonymous).status, 401);
    EXPECT_EQ(call_as("a", "PUT", "/v1/users/%00/status", "no json").status, 403);
    EXPECT_EQ(call_as("a", "PUT", "/v1/users/a/contacts", "no json").status, 403);
    EXPECT_EQ(call_as("a", "PUT", "/v1/users/a/status", "no json").status, 400);
}

TEST_F(Callers, WithRevokedTokensAreRefusedOnBothThreads) {
    for (const std::string& user : {user_at(0), user_at(1)}) {
        const std::string path = "/v1/users/" + user + "/status";
        EXPECT_EQ(call_as(user, "GET", path).status, 200);
        clock.pass(Millis{1000});
        const std::string now = std::to_string(clock.wall_now().ms());
        const Reply revoked = post("/v1/users/" + user + "/revoke", R"({"before":)" + now + "}");
        EXPECT_EQ(revoked.body, R"({"before":)" + now + "}");
        Sending sending;
        sending.as = user;
        for (std::size_t thread : {0U, 1U}) {
            const Reply reply = call_on(thread, "GET", path, sending);
            EXPECT_EQ(reply.status, 401);
            EXPECT_EQ(reply.code(), "unauthorized");
            EXPECT_TRUE(reply.has("revoked")) << reply.body;
        }
        TokenClaims& claims = tokens.claims[token_of(user)];
        claims.issued_at = clock.wall_now();
        EXPECT_EQ(call_as(user, "GET", path).status, 200);
        claims.issued_at.reset();
        EXPECT_EQ(call_as(user, "GET", path).status, 401);
    }
}

TEST_F(Callers, AreRefusedWhileNobodyKnowsWhatWasRevoked) {
    profiles.set_unavailable(true);
    const Reply reply = call_as("a", "GET", "/v1/users/b/presence");
    EXPECT_EQ(reply.status, 503);
    EXPECT_EQ(reply.code(), "unavailable");
    EXPECT_EQ(reply.header("Retry-After"), "1");
}

class LimitedCallers : public ApiWorld {
protected:
    LimitedCallers() {
        limits.rest_per_second = 2;
        limits.rest_burst = 5;
        limits.lookups_per_second = 10;
        limits.lookups_burst = 20;
    }
};

TEST_F(LimitedCallers, MayCallOnlySoOftenWhicheverThreadsTheyComeInOn) {
    Sending greedy;
    greedy.as = "greedy";
    for (std::size_t i = 0; i < 5; ++i) {
        EXPECT_EQ(call_on(i % 2, "GET", "/v1/users/a/presence", greedy).status, 200) << i;
    }
    for (std::size_t thread : {0U, 1U}) {
        const Reply reply = call_on(thread, "GET", "/v1/users/a/presence", greedy);
        EXPECT_EQ(reply.status, 429);
        EXPECT_EQ(reply.code(), "rateLimited");
        EXPECT_TRUE(reply.has(R"("temporary":true,"retryAfterMs":501)")) << reply.body;
        EXPECT_EQ(reply.header("Retry-After"), "1");
    }
    EXPECT_EQ(call_as("modest", "GET", "/v1/users/a/presence").status, 200);
    EXPECT_EQ(call_as("greedy", "GET", "/v1/users/a/contacts").status, 403);
    for (int i = 0; i < 30; ++i) {
        EXPECT_EQ(call("GET", "/v1/users/a/presence").status, 200);
    }
    clock.pass(Millis{2000});
    EXPECT_EQ(call_as("greedy", "GET", "/v1/users/a/presence").status, 200);
}

TEST_F(LimitedCallers, MayLookUpOnlySoManyUsers) {
    std::string users = R"({"users":["u0")";
    for (int i = 1; i < 15; ++i) {
        users += ",\"u" + std::to_string(i) + "\"";
    }
    users += "]}";
    EXPECT_EQ(call_as("greedy", "POST", "/v1/presence/query", users).status, 200);
    const Reply reply = call_as("greedy", "POST", "/v1/presence/query", users);
    EXPECT_EQ(reply.status, 429);
    EXPECT_EQ(reply.code(), "rateLimited");
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(post("/v1/presence/query", users).status, 200);
    }
    clock.pass(Millis{2000});
    EXPECT_EQ(call_as("greedy", "POST", "/v1/presence/query", users).status, 200);
}

TEST(CallBudgets, ForgetsThoseWhoAreFullAgain) {
    const Limits limits;
    CallBudgets budgets;
    MonoTime now{Millis{1000}};
    const auto take = [&](int i) {
        return budgets.take_call(UserId("u" + std::to_string(i)), limits, now).has_value();
    };
    for (int i = 0; i < static_cast<int>(CallBudgets::kUsers); ++i) {
        EXPECT_TRUE(take(i));
    }
    EXPECT_EQ(budgets.size(), CallBudgets::kUsers);
    now = now + Millis{60'000};
    EXPECT_TRUE(take(0));
    EXPECT_TRUE(take(-1));
    EXPECT_EQ(budgets.size(), 2U);  // The one just used, and the new one.
    for (int i = 0; i < 3 * static_cast<int>(CallBudgets::kUsers); ++i) {
        EXPECT_TRUE(take(i));
        EXPECT_LE(budgets.size(), CallBudgets::kUsers);
    }
}

TEST(CallBudgets, LetsALookUpThroughThatIsLargerThanTheBurst) {
    Limits limits;
    limits.lookups_burst = 10;
    CallBudgets budgets;
    const MonoTime now{Millis{1000}};
    EXPECT_TRUE(budgets.take_lookups(UserId("u"), 1000, limits, now).has_value());
    EXPECT_FALSE(budgets.take_lookups(UserId("u"), 1, limits, now).has_value());
}

}  // namespace
}  // namespace presence::api::testing
