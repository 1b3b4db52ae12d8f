// GET /v1/stream (DESIGN rules 12, 20 to 22, 26; RULINGS 41, 42).

#include "unit/api/readers_world.h"

#include <array>

namespace presence::api::testing {
namespace {

class Streams : public ReadersWorld {};

TEST_F(Streams, BeginsWithASnapshotAndGoesOnWithUpdates) {
    const Reply head = stream("ann", "bob,cid");
    EXPECT_EQ(head.status, 200);
    EXPECT_EQ(head.content_type, "text/event-stream");
    EXPECT_EQ(head.header("Cache-Control"), "no-store");
    EXPECT_EQ(head.header("X-Accel-Buffering"), "no");
    EXPECT_EQ(
        without_times(head.body),
        "retry: 3000\n\nevent: snapshot\nid: 1\n"
        R"(data: {"type":"snapshot","users":[{"userId":"bob","status":"offline","version":0},)"
        R"({"userId":"cid","status":"offline","version":0}],"asOf":})"
        "\n\n");
    EXPECT_EQ(sent(), "");
    attach("bob");
    turn();
    EXPECT_TRUE(
        sent().starts_with("event: update\nid: 2\ndata: "
                           R"({"type":"update","users":[{"userId":"bob","status":"online")"))
        << sent();
    EXPECT_TRUE(sent().ends_with("}]}\n\n")) << sent();
}

TEST_F(Streams, TwoStreamsAndTheirSharedNewsAreEncodedForEach) {
    stream("ann", "bob", 1);
    stream("cid", "bob", 2);
    attach("bob");
    turn();
    EXPECT_EQ(sent(1), sent(2));
    EXPECT_NE(sent(1), "");
}

TEST_F(Streams, LastEventIdIsGoneOnFromAndSparesNothing) {
    Sending sending = by("ann");
    sending.headers.emplace_back("Last-Event-ID", "41");
    const Reply head = call_on(0, "GET", "/v1/stream?users=bob", sending);
    EXPECT_TRUE(head.has("event: snapshot\nid: 42\n")) << head.body;
    EXPECT_TRUE(head.has(R"("userId":"bob")"));
    for (const char* odd : {"x", "-1", "1.5", "99999999999999999999", ""}) {
        sending.headers.back().second = odd;
        EXPECT_TRUE(call_on(0, "GET", "/v1/stream?users=bob", sending).has("\nid: 1\n")) << odd;
    }
}

TEST_F(Streams, ACommentComesAtLeastEvery15Seconds) {
    stream("ann", "bob");
    for (int i = 1; i <= 4; ++i) {
        sent().clear();
        pass(15s);
        EXPECT_NE(sent().find(": alive\n\n"), std::string::npos);
    }
}

TEST_F(Streams, WhoReadsIsNotPresent) {
    stream("ann", "bob");
    EXPECT_TRUE(call("GET", "/v1/users/ann/presence").has(R"("status":"offline")"));
    EXPECT_EQ(call("GET", "/v1/users/ann/sessions").body, R"({"sessions":[]})");
}

TEST_F(Streams, ItsWatchesDieWithIt) {
    stream("ann", "bob,cid");
    EXPECT_EQ(edges(), 2U);
    EXPECT_EQ(places(), 1U);
    apis[0]->on_request_lost(net::ConnectionId{1});
    turn();
    EXPECT_EQ(edges(), 0U);
    EXPECT_EQ(places(), 0U);
    attach("bob");
    turn();
    EXPECT_EQ(sent(), "");
}

TEST_F(Streams, AClientThatLeftBeforeItBeganLeavesNothingBehind) {
    const auto opening =
        begin_on(0, "GET", "/v1/stream?users=bob", by(user_at(1)), net::ConnectionId{7});
    pipe.gone.insert(7);
    apis[0]->on_request_lost(net::ConnectionId{7});
    turn();
    ASSERT_TRUE(opening->has_value());
    EXPECT_EQ((**opening).status, 503);
    EXPECT_EQ(edges(), 0U);
    EXPECT_EQ(places(), 0U);
}

TEST_F(Streams, AHiddenSubjectMovesNothing) {
    hide("bob");
    stream("ann", "bob");
    const Attachment phone = attach("bob", 1);
    turn();
    pass(2s);
    declare("bob", "dnd");
    pass(2s);
    leave("bob", phone);
    pass(2s);
    EXPECT_EQ(sent(), "");
    attach("cid");
    EXPECT_TRUE(stream("ann", "bob,cid", 2).has("\nid: 1\n"));
}

TEST_F(Streams, SightGainedAndLostIsTold) {
    hide("bob");
    attach("bob");
    stream("ann", "bob");
    put("/v1/users/bob/privacy", R"({"online":{"mode":"everyone"}})");
    turn();
    EXPECT_NE(sent().find(R"("status":"online")"), std::string::npos) << sent();
    sent().clear();
    put("/v1/users/ann/blocks", R"({"users":["bob"]})");  // The viewer's own doing.
    turn();
    EXPECT_TRUE(sent().ends_with(
        R"({"type":"update","users":[{"userId":"bob","status":"offline","version":0}]})"
        "\n\n"))
        << sent();
}

TEST_F(Streams, FO063_ASlowReaderGetsTheNewestStateOnlyAndIsCutOffAtLast) {
    stream("ann", "bob");
    pipe.blocked[1] = clock.now();
    pipe.result = net::SendResult::blocked;
    const Attachment phone = attach("bob");
    turn();
    pass(2s);
    declare("bob", "dnd");
    pass(2s);
    EXPECT_EQ(sent(), "");
    pipe.blocked.erase(1);
    apis[0]->on_drained(net::ConnectionId{1});
    turn();
    EXPECT_EQ(sent().find("event: update"), sent().rfind("event: update"));
    EXPECT_NE(sent().find(R"("status":"dnd")"), std::string::npos) << sent();
    pipe.blocked[1] = clock.now();  // That was too much again.
    pass(29s);
    EXPECT_FALSE(pipe.aborted.contains(1));
    pass(2s);
    EXPECT_TRUE(pipe.aborted.contains(1));
    EXPECT_EQ(edges(), 0U);
}

TEST_F(Streams, AQueueThatOverflowsEndsIt) {
    stream("ann", "bob");
    pipe.result = net::SendResult::overflow;
    attach("bob");
    turn();
    EXPECT_TRUE(pipe.aborted.contains(1));
    EXPECT_EQ(apis[0]->readers().counters().closed_slow, 1U);
}

TEST_F(Streams, FO058_EndsWithItsToken) {
    token_of("ann");
    tokens.claims["token-of-ann"].expires_at = clock.wall_now() + 60s;
    stream("ann", "bob");
    pass(59s);
    EXPECT_FALSE(pipe.ended.contains(1));
    pass(2s);
    EXPECT_TRUE(pipe.ended.contains(1));
    EXPECT_TRUE(sent().ends_with(": token_expired\n\n")) << sent();
    EXPECT_EQ(edges(), 0U);
}

TEST_F(Streams, FO057_EndsWhenItsTokenIsRevoked) {
    stream("ann", "bob", 1);
    stream("cid", "bob", 2);
    pass(1s);
    post("/v1/users/ann/revoke", R"({"before":)" + std::to_string(clock.wall_now().ms()) + "}");
    turn();
    EXPECT_TRUE(pipe.ended.contains(1));
    EXPECT_TRUE(sent(1).ends_with(": token_revoked\n\n"));
    EXPECT_FALSE(pipe.ended.contains(2));
    EXPECT_EQ(edges(), 1U);
}

TEST_F(Streams, FO057_DoesNotBeginWithATokenThatIsRevokedWhileItsUsersHomeIsAsked) {
    token_of("ann");
    pass(1s);
    start();
    const std::size_t home = shards.homes.index_of(UserId("ann"));
    const std::size_t here = 1 - home;
    const std::array<VirtualScheduler*, 2> turns{&first, &second};
    const auto answer =
        begin_on(here, "GET", "/v1/stream?users=bob", by("ann"), net::ConnectionId{1});
    turns[home]->run_ready();  // The token is looked at, and stands.
    turns[here]->run_ready();  // A place is asked for.
    MemoryProfileStore database(profiles);
    ASSERT_TRUE(
        presence::testing::run_until_complete(database.revoke(UserId("ann"), clock.wall_now()))
            .has_value());
    threads[here]->ear.on_profile_changed(UserId("ann"), 1);
    EXPECT_EQ(answered(answer).status, 401);
    EXPECT_EQ(edges(), 0U);
    EXPECT_EQ(places(), 0U);
}

TEST_F(Streams, EndsWhenItsUserIsErased) {
    stream("ann", "bob", 1);
    stream("ann", "bob", 2, 1);  // On the other thread.
    EXPECT_EQ(call("DELETE", "/v1/users/ann").status, 204);
    EXPECT_TRUE(pipe.ended.contains(1));
    EXPECT_TRUE(pipe.ended.contains(2));
    EXPECT_EQ(edges(), 0U);
}

TEST_F(Streams, FO082_ADrainEndsItWithATimeToComeBackAt) {
    stream("ann", "bob", 1);
    stream("cid", "bob", 2);
    apis[0]->drain(1s);
    turn();
    EXPECT_EQ(sent(1), "retry: 325\n\n: restarting\n\n");
    EXPECT_EQ(sent(2), "retry: 775\n\n: restarting\n\n");
    EXPECT_EQ(pipe.ended.size(), 2U);
    const Reply late = stream("ann", "bob", 3);
    EXPECT_EQ(late.status, 503);
    EXPECT_EQ(late.header("Retry-After"), "1");
}

TEST_F(Streams, WhoShowsAGoodTokenIsNoStrangerAnyMore) {
    stream("ann", "bob", 1);
    answered(poll("ann", "users=bob", 2));
    Sending nobody;
    nobody.token = "bad";
    call_on(0, "GET", "/v1/stream?users=bob", nobody, net::ConnectionId{3});
    call_on(0, "GET", "/healthz", nobody, net::ConnectionId{4});
    EXPECT_EQ(pipe.admitted, (std::set<std::uint64_t>{1, 2}));
}

TEST_F(Streams, HeadOpensNone) {
    const Reply head = call_on(0, "HEAD", "/v1/stream?users=bob", by("ann"));
    EXPECT_EQ(head.status, 200);
    EXPECT_EQ(head.content_type, "text/event-stream");
    EXPECT_EQ(places(), 0U);
}

TEST_F(Streams, OnlyForUsersWhoMayWatch) {
    EXPECT_EQ(call("GET", "/v1/stream?users=bob").code(), "forbidden");  // A back end.
    token_of("ann");
    tokens.claims["token-of-ann"].rights.watch = false;
    EXPECT_EQ(stream("ann", "bob").code(), "forbidden");
    EXPECT_EQ(stream("ann", "ann,bob").code(), "forbidden");
    EXPECT_EQ(stream("ann", "ann").status, 200);
    EXPECT_EQ(stream("cid", "bob&token=x").code(), "badRequest");
}

TEST_F(Streams, UsersAreSplitAtRawCommasAndDecodedAfterwards) {
    const Reply head = stream("ann", "a%2Cb,c+d,%2e%2e,%2F,a%2Cb");
    EXPECT_EQ(head.status, 200);
    for (const char* user :
         {R"("userId":"a,b")", R"("userId":"c d")", R"("userId":"..")", R"("userId":"/")"}) {
        EXPECT_TRUE(head.has(user)) << head.body;
    }
    EXPECT_EQ(edges(), 4U);
    for (const char* bad : {"", "a,", ",a", "a,,b", "a%", "a%zz", "%00", "a&users=b", "%20"}) {
        EXPECT_EQ(stream("ann", bad).code(), "badRequest") << bad;
    }
    EXPECT_EQ(call_on(0, "GET", "/v1/stream", by("ann")).code(), "badRequest");
}

TEST_F(Streams, UpToAHundredUsersFitIntoAUrl) {
    std::string users = "u0";
    for (int i = 1; i < 100; ++i) {
        users += ",u" + std::to_string(i);
    }
    EXPECT_EQ(stream("ann", users).status, 200);
    const Reply over = stream("ann", users + ",one-more", 2);
    EXPECT_EQ(over.code(), "limitExceeded");
    EXPECT_TRUE(over.has(R"("limit":100)"));
    EXPECT_EQ(places(), 1U);
}

Limits few_readers() {
    Limits limits;
    limits.readers_per_user = 2;
    limits.readers = 4;
    return limits;
}

class FewStreams : public ReadersWorld {
protected:
    FewStreams() : ReadersWorld(few_readers()) {}
};

TEST_F(FewStreams, OfOneUserAreLimitedOverAllThreads) {
    EXPECT_EQ(stream("ann", "bob", 1, 0).status, 200);
    EXPECT_EQ(stream("ann", "bob", 2, 1).status, 200);
    const Reply third = stream("ann", "bob", 3, 0);
    EXPECT_EQ(third.status, 429);
    EXPECT_EQ(third.code(), "limitExceeded");
    EXPECT_TRUE(third.has(R"("limit":2)"));
    EXPECT_EQ(home_of("ann").shard.places.refused(), 1U);
    apis[1]->on_request_lost(net::ConnectionId{2});
    turn();
    EXPECT_EQ(stream("ann", "bob", 4, 0).status, 200);
}

TEST_F(FewStreams, OfTheNodeMayAllBeOnOneThreadAndAreLimitedOnAll) {
    for (std::uint64_t i = 0; i < 4; ++i) {
        EXPECT_EQ(stream("user" + std::to_string(i), "bob", i + 1).status, 200);
    }
    for (const std::size_t thread : {0U, 1U}) {
        EXPECT_EQ(stream("user5", "bob", 9, thread).status, 503);
        EXPECT_EQ(apis[thread]->readers().counters().refused, 1U);
    }
    EXPECT_EQ(node_readers.count(), 4U);

    apis[0]->on_request_lost(net::ConnectionId{2});
    turn();
    EXPECT_EQ(stream("user5", "bob", 9, 1).status, 200);
}

TEST_F(FewStreams, ThatAreRefusedTakeNoPlaceOfTheNode) {
    EXPECT_EQ(stream("ann", "bob", 1).status, 200);
    EXPECT_EQ(stream("ann", "bob", 2).status, 200);
    EXPECT_EQ(stream("ann", "bob", 3).status, 429);
    pipe.gone.insert(4);
    stream("cid", "bob", 4);
    EXPECT_EQ(node_readers.count(), 2U);
}

TEST_F(FewStreams, APollThatDoesNotWaitIsAnsweredWhereNoStreamWouldBe) {
    EXPECT_EQ(stream("ann", "bob", 1).status, 200);
    EXPECT_EQ(stream("ann", "bob", 2).status, 200);
    const Reply at_once = answered(poll("ann", "users=bob", 3));
    EXPECT_EQ(at_once.status, 200);
    EXPECT_EQ(answered(poll("ann", "users=bob&waitMs=1000", 4)).status, 429);
    EXPECT_EQ(stream("eve", "bob", 5).status, 200);
    EXPECT_EQ(stream("eve", "bob", 6).status, 200);  // The node is full.
    EXPECT_EQ(answered(poll("cid", "users=bob", 7)).status, 200);
    EXPECT_EQ(answered(poll("cid", "users=bob&waitMs=1000", 8)).status, 503);
    EXPECT_EQ(node_readers.count(), 4U);
    apis[0]->on_request_lost(net::ConnectionId{1});
    turn();
    EXPECT_EQ(node_readers.count(), 3U);
    const auto waiting = poll(
        "cid", "users=bob&waitMs=1000&cursor=" + cursor_of(answered(poll("cid", "users=bob", 9))),
        10);
    EXPECT_FALSE(waiting->has_value());  // There is room for it again.
    EXPECT_EQ(node_readers.count(), 4U);
    pass(2s);
    EXPECT_EQ(answered(waiting).status, 200);
    EXPECT_EQ(node_readers.count(), 3U);
}

// -- The cookie ---------------------------------------------------------------------------------

class StreamCookies : public ReadersWorld {
protected:
    StreamCookies() { cookie = "presence_token"; }

    Reply with(std::vector<std::pair<std::string, std::string>> headers,
               std::string_view target = "/v1/stream?users=bob") {
        Sending sending;
        sending.anonymous = true;
        sending.headers = std::move(headers);
        token_of("ann");
        return call_on(0, "GET", target, sending);
    }
    const std::pair<std::string, std::string> good{"Cookie",
                                                   "a=b; presence_token=token-of-ann; c=d"};
};

TEST_F(StreamCookies, AreTakenFromAllowedOriginsAndFromOnesOwn) {
    const Reply reply = with({good, {"Origin", "https://app.example.com"}});
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.header("Access-Control-Allow-Origin"), "https://app.example.com");
    EXPECT_EQ(reply.header("Access-Control-Allow-Credentials"), "true");
    EXPECT_EQ(with({good, {"Sec-Fetch-Site", "same-origin"}}).status, 200);
    EXPECT_EQ(with({good, {"Sec-Fetch-Site", "same-origin"}}, "/v1/poll?users=bob").status, 200);
}

TEST_F(StreamCookies, FO098_AreTakenFromNoOtherPage) {
    EXPECT_EQ(with({good}).status, 401);
    EXPECT_EQ(with({good, {"Origin", "https://evil.example.com"}}).status, 401);
    EXPECT_EQ(with({good, {"Sec-Fetch-Site", "same-site"}}).status, 401);
    EXPECT_EQ(with({good, {"Sec-Fetch-Site", "cross-site"}}).status, 401);
    EXPECT_EQ(with({good, {"Sec-Fetch-Site", "none"}}).status, 401);
    EXPECT_EQ(
        with({good, {"Origin", "https://app.example.com"}, {"Origin", "https://x.com"}}).status,
        401);
}

TEST_F(StreamCookies, AreTakenForStreamsAndPollsOnly) {
    const std::pair<std::string, std::string> here{"Sec-Fetch-Site", "same-origin"};
    EXPECT_EQ(with({good, here}, "/v1/users/ann/presence").status, 401);
    EXPECT_EQ(with({good, here}, "/v1/stats").status, 401);
    EXPECT_EQ(with({{"Cookie", "presence_token=key"}, here}).status, 401)
        << "no back end by cookie";
}

// A browser sends the password of a page with everything that it asks of its host.
TEST_F(StreamCookies, AreTakenBesideAPasswordAndNotBesideAToken) {
    const std::pair<std::string, std::string> here{"Sec-Fetch-Site", "same-origin"};
    EXPECT_EQ(with({good, here, {"Authorization", "Basic c3RhZ2luZzpzZWNyZXQ="}}).status, 200);
    EXPECT_EQ(with({good, here, {"Authorization", "Bearer wrong"}}).status, 401);
}

TEST_F(StreamCookies, TwoOfANameAreNone) {
    const std::pair<std::string, std::string> here{"Sec-Fetch-Site", "same-origin"};
    EXPECT_EQ(with({{"Cookie", "presence_token=token-of-ann; presence_token=x"}, here}).status,
              401);
    EXPECT_EQ(with({{"Cookie", "presence_token"}, here}).status, 401);
    EXPECT_EQ(with({{"Cookie", "Presence_token=token-of-ann"}, here}).status, 401);
}

TEST_F(Streams, CookiesAreOffByDefault) {
    Sending sending;
    sending.anonymous = true;
    token_of("ann");
    sending.headers = {{"Cookie", "presence_token=token-of-ann; =token-of-ann"},
                       {"Origin", "https://app.example.com"},
                       {"Sec-Fetch-Site", "same-origin"}};
    const Reply reply = call_on(0, "GET", "/v1/stream?users=bob", sending);
    EXPECT_EQ(reply.status, 401);
    EXPECT_EQ(reply.header("Access-Control-Allow-Credentials"), "");
}

}  // namespace
}  // namespace presence::api::testing
