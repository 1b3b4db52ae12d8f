// POST and DELETE /v1/heartbeat, GET /v1/stats, as callers see them. How such sessions live is in
// unit/core/http_beats_test.cc.

#include "unit/api/readers_world.h"

namespace presence::api::testing {
namespace {

class Beats : public ReadersWorld {
protected:
    Reply beat(const std::string& user, const std::string& device = "phone",
               const std::string& more = "", std::size_t thread = 0) {
        Sending sending = by(user);
        sending.body = R"({"deviceId":")" + device + '"' + more + "}";
        const Reply reply = call_on(thread, "POST", "/v1/heartbeat", sending);
        turn();
        return reply;
    }
    std::string status_of(const std::string& user) {
        const std::string body = call("GET", "/v1/users/" + user + "/presence").body;
        const std::string rest = body.substr(body.find(R"("status":")") + 10);
        return rest.substr(0, rest.find('"'));
    }
};

TEST_F(Beats, MakeAUserPresentFromWhicheverThread) {
    const Reply reply = beat("ann", "phone", R"(,"device":{"type":"mobile","name":"my phone"})");
    EXPECT_EQ(reply.status, 200);
    EXPECT_TRUE(reply.body.starts_with(
        R"({"sessionId":"http:phone","intervalMs":30000,"ttlMs":100000,"serverTime":)"))
        << reply.body;
    EXPECT_EQ(status_of("ann"), "online");
    EXPECT_TRUE(call("GET", "/v1/users/ann/presence").has(R"("devices":["mobile"])"));
    pass(60s);
    EXPECT_EQ(beat("ann", "phone", "", 1).status, 200);
    pass(60s);
    EXPECT_EQ(status_of("ann"), "online");
    const Reply listed = call("GET", "/v1/users/ann/sessions");
    EXPECT_TRUE(
        listed.has(R"("sessionId":"http:phone","device":{"type":"mobile","name":"my phone"})"))
        << listed.body;
    EXPECT_TRUE(listed.has(R"("state":"live","road":"http")")) << listed.body;
    pass(41s);
    EXPECT_EQ(status_of("ann"), "offline");
}

TEST_F(Beats, ASignOutEndsAtOnceAndIsNeverAnError) {
    beat("ann", "a b");
    EXPECT_EQ(call_as("ann", "DELETE", "/v1/heartbeat?deviceId=a%20b").status, 204);
    EXPECT_EQ(status_of("ann"), "offline");
    EXPECT_EQ(call_as("ann", "DELETE", "/v1/heartbeat?deviceId=a+b").status, 204);
    EXPECT_EQ(call_as("ann", "DELETE", "/v1/heartbeat").code(), "badRequest");
    EXPECT_EQ(call_as("ann", "DELETE", "/v1/heartbeat?deviceId=").code(), "badRequest");
}

TEST_F(Beats, ADeviceThatIsThrownOutIsToldSoUntilItSignsOut) {
    beat("ann");
    EXPECT_EQ(call("DELETE", "/v1/users/ann/sessions/http%3Aphone").status, 204);
    EXPECT_EQ(status_of("ann"), "offline");
    EXPECT_EQ(beat("ann").code(), "forbidden");
    EXPECT_EQ(beat("ann").status, 403);
    EXPECT_EQ(status_of("ann"), "offline");
    EXPECT_EQ(beat("ann", "tablet").status, 200) << "another device";
    EXPECT_EQ(call_as("ann", "DELETE", "/v1/heartbeat?deviceId=phone").status, 204);
    EXPECT_EQ(beat("ann").status, 200);
    call("DELETE", "/v1/users/ann/sessions/http%3Aphone");
    pass(101s);
    EXPECT_EQ(beat("ann").status, 200) << "a ttl later";
}

TEST_F(Beats, FO057_ARevocationEndsTheSessionAndRefusesTheNext) {
    beat("ann");
    pass(1s);
    post("/v1/users/ann/revoke", R"({"before":)" + std::to_string(clock.wall_now().ms()) + "}");
    turn();
    EXPECT_EQ(status_of("ann"), "offline");
    EXPECT_EQ(beat("ann").status, 401);
}

TEST_F(Beats, AnErasureEndsTheSession) {
    beat("ann");
    EXPECT_EQ(call("DELETE", "/v1/users/ann").status, 204);
    EXPECT_EQ(status_of("ann"), "offline");
    EXPECT_EQ(beat("ann").status, 403);
}

TEST_F(Beats, BoundsAndCallers) {
    for (const char* body :
         {"", "{}", "[]", R"({"deviceId":5})", R"({"deviceId":""})", R"({"deviceId":"\u0000"})",
          R"({"deviceId":"a","device":{"type":"toaster"}})", R"({"deviceId":"a","activity":"x"})",
          R"({"deviceId":"a","device":5})"}) {
        EXPECT_EQ(call_as("ann", "POST", "/v1/heartbeat", body).code(), "badRequest") << body;
    }
    EXPECT_EQ(status_of("ann"), "offline");
    EXPECT_EQ(post("/v1/heartbeat", R"({"deviceId":"a"})").code(), "forbidden");
}

Limits few() {
    Limits limits;
    limits.sessions_per_user = 2;
    limits.rest_per_second = 1;
    limits.rest_burst = 5;
    return limits;
}

class FewBeats : public Beats {
protected:
    FewBeats() { limits = few(); }
};

TEST_F(FewBeats, AreHeldToTheLimitOfSessionsAndTheRateOfCalls) {
    EXPECT_EQ(beat("ann", "a").status, 200);
    EXPECT_EQ(beat("ann", "b").status, 200);
    const Reply third = beat("ann", "c");
    EXPECT_EQ(third.code(), "limitExceeded");
    EXPECT_TRUE(third.has(R"("limit":2)"));
    EXPECT_EQ(beat("ann", "a").status, 200);
    EXPECT_EQ(beat("ann", "b").status, 200);
    const Reply sixth = beat("ann", "b");
    EXPECT_EQ(sixth.code(), "rateLimited");
    EXPECT_NE(sixth.header("Retry-After"), "");
}

// -- Stats --------------------------------------------------------------------------------------

TEST_F(Beats, StatsCountEachPersonOnceOverAllThreads) {
    EXPECT_EQ(without_times(call("GET", "/v1/stats").body),
              R"({"asOf":,"exact":true,"users":{"online":0,"byStatus":{"online":0,"away":0,)"
              R"("busy":0,"dnd":0,"invisible":0,"unknown":0},"byDevice":{"bot":0,"desktop":0,)"
              R"("mobile":0,"other":0,"tablet":0,"web":0}},"sessions":{"live":0,"grace":0,)"
              R"("observing":0,"byHttp":0},"connections":{"webSocket":6,"stream":0,"poll":0},)"
              R"("nodes":1})");
    const std::string here = user_at(0);
    const std::string there = user_at(1);
    attach(here, 1, DeviceKind::desktop);
    attach(here, 2, DeviceKind::mobile);
    const Attachment lost = attach(here, 3, DeviceKind::mobile);
    wait(home_of(here).shard.service.connection_lost(lost.session, false));
    attach(there, 1, DeviceKind::web);
    declare(there, "invisible");
    beat(user_at(1, 1), "a", R"(,"device":{"type":"mobile"})");
    stream("ann", "bob");
    const std::string body = call("GET", "/v1/stats").body;
    EXPECT_NE(body.find(R"("users":{"online":3,"byStatus":{"online":2,"away":0,"busy":0,"dnd":0,)"
                        R"("invisible":1,"unknown":0},"byDevice":{"bot":0,"desktop":1,"mobile":2,)"
                        R"("other":0,"tablet":0,"web":1}})"),
              std::string::npos)
        << body;
    EXPECT_NE(body.find(R"("sessions":{"live":4,"grace":1,"observing":0,"byHttp":1})"),
              std::string::npos)
        << body;
    EXPECT_NE(body.find(R"("stream":1,"poll":0)"), std::string::npos) << body;
}

TEST_F(Beats, StatsAreForBackEndsOnly) {
    EXPECT_EQ(call_as("ann", "GET", "/v1/stats").code(), "forbidden");
    Sending nobody;
    nobody.anonymous = true;
    EXPECT_EQ(call("GET", "/v1/stats", nobody).code(), "unauthorized");
}

}  // namespace
}  // namespace presence::api::testing
