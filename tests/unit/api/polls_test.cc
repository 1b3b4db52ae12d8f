// GET and POST /v1/poll (DESIGN rules 12, 20, 26; RULINGS 42).

#include "unit/api/readers_world.h"

namespace presence::api::testing {
namespace {

class Polls : public ReadersWorld {
protected:
    /// What ann holds of bob at first.
    std::string first_cursor(const std::string& users = "bob") {
        return cursor_of(answered(poll("ann", "users=" + users)));
    }
};

TEST_F(Polls, TheFirstGivesEverythingAtOnce) {
    const Reply reply = answered(poll("ann", "users=bob,cid&waitMs=30000"));
    EXPECT_EQ(reply.status, 200);
    EXPECT_TRUE(
        reply.body.starts_with(R"({"users":[{"userId":"bob","status":"offline","version":0},)"
                               R"({"userId":"cid","status":"offline","version":0}],"cursor":")"))
        << reply.body;
    EXPECT_EQ(edges(), 0U);
    EXPECT_EQ(places(), 0U);
}

TEST_F(Polls, WaitsForAChangeAndTellsThatAlone) {
    const std::string cursor = first_cursor("bob,cid");
    const auto waiting = poll("ann", "users=bob,cid&waitMs=30000&cursor=" + cursor);
    pass(20s);
    EXPECT_FALSE(waiting->has_value());
    EXPECT_EQ(apis[0]->readers().connections().polls, 1U);
    attach("cid");
    const Reply reply = answered(waiting);
    EXPECT_TRUE(reply.body.starts_with(R"({"users":[{"userId":"cid","status":"online")"))
        << reply.body;
    EXPECT_FALSE(reply.has("bob"));
    EXPECT_NE(cursor_of(reply), cursor);
    EXPECT_EQ(edges(), 0U);
    EXPECT_EQ(places(), 0U);
    EXPECT_EQ(apis[0]->readers().connections().polls, 0U);
}

TEST_F(Polls, WhatChangedBetweenTwoPollsIsToldAtOnce) {
    const std::string cursor = first_cursor();
    attach("bob");
    const Reply reply = answered(poll("ann", "users=bob&waitMs=30000&cursor=" + cursor));
    EXPECT_TRUE(reply.has(R"("status":"online")")) << reply.body;
}

TEST_F(Polls, WithoutAWaitItAnswersAtOnce) {
    const Reply reply = answered(poll("ann", "users=bob&cursor=" + first_cursor()));
    EXPECT_TRUE(reply.has(R"({"users":[],)")) << reply.body;
}

TEST_F(Polls, TheWaitEndsWithNothingAndTheSameCursor) {
    const std::string cursor = first_cursor();
    const auto waiting = poll("ann", "users=bob&waitMs=5000&cursor=" + cursor);
    pass(4900ms);
    EXPECT_FALSE(waiting->has_value());
    pass(300ms);
    const Reply reply = answered(waiting);
    EXPECT_TRUE(reply.has(R"({"users":[],)")) << reply.body;
    EXPECT_EQ(cursor_of(reply), cursor);
    EXPECT_EQ(edges(), 0U);
}

TEST_F(Polls, AChangeTakenBackBeforeThePollIsNone) {
    attach("bob");
    pass(2s);
    const std::string cursor = first_cursor();
    declare("bob", "away");
    pass(2s);
    declare("bob", "auto");
    pass(2s);
    // The versions have moved, so it is told again: to be told twice is allowed, to miss is not.
    const Reply reply = answered(poll("ann", "users=bob&cursor=" + cursor));
    EXPECT_TRUE(reply.has(R"("status":"online")")) << reply.body;
}

TEST_F(Polls, ACursorHoldsOfEachUserWhateverListItCameFrom) {
    const std::string cursor = first_cursor("bob,cid");
    const Reply reply = answered(poll("ann", "users=dee,cid&waitMs=30000&cursor=" + cursor));
    EXPECT_TRUE(reply.has(R"({"users":[{"userId":"dee")")) << reply.body;
    EXPECT_FALSE(reply.has("cid"));
}

TEST_F(Polls, ACursorNotUnderstoodOrOfAnotherViewerGivesEverything) {
    attach("bob");
    const std::string anns = first_cursor();
    for (const std::string& cursor :
         {std::string("x"), std::string("1zz"), std::string("2") + anns.substr(1),
          anns.substr(0, anns.size() - 1), std::string(20'000, '1'), std::string("")}) {
        EXPECT_TRUE(answered(poll("ann", "users=bob&waitMs=9000&cursor=" + cursor))
                        .has(R"("userId":"bob")"))
            << cursor;
    }
    EXPECT_TRUE(
        answered(poll("cid", "users=bob&waitMs=9000&cursor=" + anns)).has(R"("userId":"bob")"));
}

TEST_F(Polls, ACursorMovesOnlyWithWhatTheViewerSees) {
    hide("bob");
    const std::string cursor = first_cursor();
    const auto waiting = poll("ann", "users=bob&waitMs=30000&cursor=" + cursor);
    const Attachment phone = attach("bob");
    turn();
    pass(2s);
    declare("bob", "busy");
    pass(2s);
    leave("bob", phone);
    pass(2s);
    EXPECT_FALSE(waiting->has_value());
    apis[0]->on_request_half_closed(net::ConnectionId{1});
    EXPECT_EQ(cursor_of(answered(waiting)), cursor);
    EXPECT_EQ(first_cursor(), cursor);
}

TEST_F(Polls, SightGainedIsNews) {
    attach("bob");
    hide("bob");
    const std::string cursor = first_cursor();
    const auto waiting = poll("ann", "users=bob&waitMs=30000&cursor=" + cursor);
    put("/v1/users/bob/privacy", R"({"online":{"mode":"everyone"}})");
    EXPECT_TRUE(answered(waiting).has(R"("status":"online")"));
}

TEST_F(Polls, TheAgeingOfLastSeenIsNone) {
    put("/v1/users/bob/privacy", R"({"lastSeen":{"mode":"everyone"}})");
    put("/v1/users/ann/privacy", R"({"lastSeen":{"mode":"everyone"}})");
    leave("bob", attach("bob"));
    pass(2s);
    const Reply before = answered(poll("ann", "users=bob"));
    EXPECT_TRUE(before.has(R"("granularity":"exact")")) << before.body;
    pass(600s);
    const Reply after = answered(poll("ann", "users=bob&cursor=" + cursor_of(before)));
    EXPECT_TRUE(after.has(R"({"users":[],)")) << after.body;
}

TEST_F(Polls, AClientThatLeavesWhileItWaitsFreesEverything) {
    const std::string query = "users=bob&waitMs=30000&cursor=" + first_cursor();
    const auto reset = poll("ann", query, 1);
    const auto closed = poll("ann", query, 2);
    EXPECT_EQ(edges(), 2U);
    apis[0]->on_request_lost(net::ConnectionId{1});
    apis[0]->on_request_half_closed(net::ConnectionId{2});
    turn();
    EXPECT_EQ(edges(), 0U);
    EXPECT_EQ(places(), 0U);
    EXPECT_EQ(apis[0]->readers().counters().left_early, 2U);
    EXPECT_EQ(answered(closed).status, 200);  // It may still read.
    EXPECT_TRUE(reset->has_value());
}

TEST_F(Polls, ARevocationEndsTheWait) {
    const auto waiting = poll("ann", "users=bob&waitMs=30000&cursor=" + first_cursor());
    pass(1s);
    post("/v1/users/ann/revoke", R"({"before":)" + std::to_string(clock.wall_now().ms()) + "}");
    const Reply reply = answered(waiting);
    EXPECT_EQ(reply.status, 401);
    EXPECT_EQ(places(), 0U);
}

TEST_F(Polls, ADrainEndsTheWaitWithNothing) {
    const std::string cursor = first_cursor();
    const auto waiting = poll("ann", "users=bob&waitMs=30000&cursor=" + cursor);
    apis[0]->drain(1s);
    EXPECT_EQ(cursor_of(answered(waiting)), cursor);
}

TEST_F(Polls, BoundsAreNamed) {
    for (const char* wait : {"-1", "30001", "1.5", "x", "", "1e3", "99999999999999999999"}) {
        const Reply reply = answered(poll("ann", std::string("users=bob&waitMs=") + wait));
        EXPECT_EQ(reply.code(), "badRequest") << wait;
        EXPECT_TRUE(reply.has("waitMs must be a whole number from 0 to 30000")) << reply.body;
    }
    EXPECT_EQ(answered(poll("ann", "waitMs=0")).code(), "badRequest");
    EXPECT_EQ(call("GET", "/v1/poll?users=bob").code(), "forbidden");
    EXPECT_EQ(call_as("ann", "POST", "/v1/poll", R"({"users":["bob"],"waitMs":30001})").code(),
              "badRequest");
    EXPECT_EQ(call_as("ann", "POST", "/v1/poll", R"({"users":["bob"],"cursor":5})").code(),
              "badRequest");
    EXPECT_EQ(call_as("ann", "POST", "/v1/poll", R"({"cursor":"x"})").code(), "badRequest");
}

TEST_F(Polls, ByPostForMoreUsersThanFitIntoAUrl) {
    std::string users = R"(["u0")";
    for (int i = 1; i < 500; ++i) {
        users += R"(,"u)" + std::to_string(i) + '"';
    }
    const Reply all = call_as("ann", "POST", "/v1/poll", R"({"users":)" + users + "]}");
    EXPECT_EQ(all.status, 200);
    EXPECT_TRUE(all.has(R"("userId":"u499")"));
    const Reply none = call_as("ann", "POST", "/v1/poll",
                               R"({"users":)" + users + R"(],"cursor":")" + cursor_of(all) + "\"}");
    EXPECT_TRUE(none.has(R"({"users":[],)")) << none.body.substr(0, 200);
    EXPECT_EQ(call_as("ann", "POST", "/v1/poll", R"({"users":)" + users + R"(,"more"]})").code(),
              "limitExceeded");
}

TEST_F(Polls, WorkFromEitherThread) {
    const std::string cursor = first_cursor();
    const auto waiting = poll("ann", "users=bob&waitMs=30000&cursor=" + cursor, 1, 1);
    attach("bob");
    EXPECT_TRUE(answered(waiting).has(R"("status":"online")"));
}

}  // namespace
}  // namespace presence::api::testing
