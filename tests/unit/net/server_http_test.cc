#include "net_fixture.h"

namespace presence::net::testing {
namespace {

using namespace std::literals;

std::string get(std::string_view path, std::string_view extra = {}) {
    return "GET " + std::string(path) + " HTTP/1.1\r\nHost: h\r\n" + std::string(extra) + "\r\n";
}

NetLimits quick() {
    NetLimits limits;
    limits.http_head_timeout = 150ms;
    limits.http_body_timeout = 150ms;
    limits.http_idle_timeout = 300ms;
    limits.http_body_bytes = 1000;
    limits.close_timeout = 300ms;
    return limits;
}

class ServerHttp : public NetTest {};
class ServerHttpQuick : public NetTest {
protected:
    ServerHttpQuick() : NetTest(quick()) {}
};

TEST_F(ServerHttp, AnswersAndKeepsTheConnection) {
    Peer peer(port());
    peer.send(get("/a"));
    pump_until_got(peer, "path /a");
    EXPECT_TRUE(peer.received.starts_with("HTTP/1.1 200 OK\r\nDate: "));
    EXPECT_TRUE(peer.got("Content-Length: 7\r\nConnection: keep-alive\r\n"));
    peer.send(get("/b"));
    pump_until_got(peer, "path /b");
    EXPECT_EQ(handler_.requests[1].remote.text, "127.0.0.1");
    EXPECT_TRUE(handler_.requests[1].remote.is_loopback);
    EXPECT_EQ(server_.connection_count(), 1U);
}

TEST_F(ServerHttp, PipelinedRequestsAreAnsweredInOrderAlsoWhenDeferred) {
    std::vector<ConnectionId> waiting;
    handler_.on_request_do = [&](ConnectionId id, HttpRequest& request) {
        waiting.push_back(id);
        loop_.after(5ms, [this, id, path = std::string(request.path())] {
            HttpResponse response;
            response.body = "deferred " + path + ".";
            server_.respond(id, std::move(response));
        });
    };
    Peer peer(port());
    peer.send(get("/1") + get("/2") + get("/3"));
    pump_until_got(peer, "deferred /3.");
    EXPECT_LT(peer.received.find("/1."), peer.received.find("/2."));
    EXPECT_LT(peer.received.find("/2."), peer.received.find("/3."));
}

TEST_F(ServerHttp, ManyPipelinedRequestsAreAllAnswered) {
    std::string all;
    for (int i = 0; i < 200; ++i) {
        all += get("/n");
    }
    Peer peer(port());
    peer.send(all);
    pump_until([&] {
        peer.poll();
        return peer.count("path /n") == 200;
    });
}

TEST_F(ServerHttp, ARequestMayComeByteByByte) {
    Peer peer(port());
    const std::string bytes = "POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc";
    for (const char c : bytes) {
        peer.send({&c, 1});
        pump_a_little();
    }
    pump_until_got(peer, "path /p");
    EXPECT_EQ(handler_.requests[0].body, "abc");
}

TEST_F(ServerHttp, AHeadRequestGetsNoBody) {
    Peer peer(port());
    peer.send("HEAD /x HTTP/1.1\r\nHost: h\r\n\r\n" + get("/after"));
    pump_until_got(peer, "path /after");
    EXPECT_TRUE(peer.got("Content-Length: 7"));
    EXPECT_FALSE(peer.got("path /x"));
}

TEST_F(ServerHttp, ASharedBodyIsSentWhole) {
    const auto body = std::make_shared<const std::string>(3'000'000, 'b');
    handler_.on_request_do = [&](ConnectionId id, HttpRequest&) {
        HttpResponse response;
        response.content_type = "text/plain";
        response.body = body;
        server_.respond(id, std::move(response));
    };
    Peer peer(port());
    peer.send(get("/big") + get("/big"));
    pump_until([&] {
        peer.poll();
        return peer.received.size() >= 6'000'000;
    });
    EXPECT_EQ(peer.count("Content-Length: 3000000"), 2U);
}

TEST_F(ServerHttp, ConnectionCloseEndsCleanly) {
    Peer peer(port());
    peer.send(get("/x", "Connection: close\r\n"));
    pump_until_closed(peer);
    EXPECT_TRUE(peer.got("Connection: close\r\n"));
    EXPECT_TRUE(peer.got("path /x"));
    EXPECT_FALSE(peer.reset);
}

TEST_F(ServerHttp, AClientThatClosedItsSideStillGetsItsAnswer) {
    handler_.on_request_do = [&](ConnectionId id, HttpRequest&) {
        loop_.after(30ms, [this, id] {
            HttpResponse response;
            response.body = "late answer";
            server_.respond(id, std::move(response));
        });
    };
    Peer peer(port());
    peer.send(get("/x"));
    peer.finish_sending();
    pump_until_closed(peer);
    EXPECT_TRUE(peer.got("late answer"));
    EXPECT_EQ(server_.connection_count(), 0U);
}

TEST_F(ServerHttp, AClientThatIsGoneIsToldOnce) {
    handler_.on_request_do = [](ConnectionId, HttpRequest&) {};
    Peer peer(port());
    peer.send(get("/x"));
    pump_until([&] { return !handler_.requests.empty(); });
    peer.reset_connection();
    pump_until([&] { return !handler_.lost.empty(); });
    EXPECT_EQ(handler_.lost, (std::vector<ConnectionId>{id()}));
    server_.respond(id(), {});  // Too late, and no harm.
}

TEST_F(ServerHttp, ContinueIsSentWhenTheBodyIsWelcome) {
    Peer peer(port());
    peer.send("POST /p HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    pump_until_got(peer, "HTTP/1.1 100 Continue\r\n\r\n");
    peer.send("ok");
    pump_until_got(peer, "path /p");
}

TEST_F(ServerHttp, AStreamFlowsUntilItsEnd) {
    handler_.on_request_do = [&](ConnectionId id, HttpRequest&) {
        HttpResponse head;
        head.content_type = "text/event-stream";
        server_.respond_stream(id, std::move(head));
    };
    Peer peer(port());
    peer.send(get("/stream"));
    pump_until_got(peer, "text/event-stream");
    EXPECT_FALSE(peer.got("Content-Length"));
    EXPECT_EQ(server_.send_raw(id(), "data: 1\n\n"), SendResult::sent);
    pump_until_got(peer, "data: 1\n\n");
    server_.end_stream(id());
    EXPECT_EQ(server_.send_raw(id(), "more"), SendResult::closed);
    pump_until_closed(peer);
    EXPECT_FALSE(peer.reset);
    EXPECT_TRUE(handler_.lost.empty());
}

TEST_F(ServerHttp, AStreamWhoseClientLeavesIsLost) {
    handler_.on_request_do = [&](ConnectionId id, HttpRequest&) { server_.respond_stream(id, {}); };
    Peer peer(port());
    peer.send(get("/stream"));
    pump_until_got(peer, "200 OK");
    peer.hang_up();
    pump_until([&] { return handler_.lost.size() == 1; });
}

TEST_F(ServerHttp, AClientThatLeavesWhileItsAnswerIsAwaitedIsNoticed) {
    handler_.on_request_do = [](ConnectionId, HttpRequest&) {};  // Answered much later.
    handler_.on_half_closed_do = [&](ConnectionId id) { server_.respond(id, {}); };
    Peer peer(port());
    peer.send(get("/poll"));
    pump_until([&] { return handler_.requests.size() == 1; });
    EXPECT_TRUE(handler_.half_closed.empty());
    peer.hang_up();
    pump_until([&] { return handler_.half_closed.size() == 1; });
    pump_until([&] { return server_.connection_count() == 0; });
}

TEST_F(ServerHttp, AClientThatClosedItsSideWhileWaitingStillGetsItsAnswer) {
    handler_.on_request_do = [](ConnectionId, HttpRequest&) {};
    handler_.on_half_closed_do = [&](ConnectionId id) {
        HttpResponse response;
        response.body = "nothing new";
        server_.respond(id, std::move(response));
    };
    Peer peer(port());
    peer.send(get("/poll"));
    peer.finish_sending();
    pump_until_closed(peer);
    EXPECT_TRUE(peer.got("nothing new")) << peer.received;
    EXPECT_FALSE(peer.reset);
    EXPECT_EQ(handler_.half_closed.size(), 1U);
}

TEST_F(ServerHttp, LeavingIsNoticedBehindPipelinedRequestsThatAreNotReadYet) {
    NetLimits narrow;
    narrow.http_pipelined_bytes = 100;
    server_.set_limits(narrow);
    handler_.on_request_do = [](ConnectionId, HttpRequest&) {};
    Peer peer(port());
    peer.send(get("/poll"));
    pump_until([&] { return handler_.requests.size() == 1; });
    for (int i = 0; i < 20; ++i) {
        peer.send(get("/next"));
    }
    pump_a_little();
    peer.hang_up();
    pump_until([&] { return handler_.half_closed.size() + handler_.lost.size() >= 1; });
    EXPECT_EQ(handler_.requests.size(), 1U);
}

TEST_F(ServerHttp, ARequestThatIsAnsweredAtOnceNeedsNoNoticeOfItsClientsEnd) {
    Peer peer(port());
    peer.send(get("/x"));
    peer.finish_sending();
    pump_until_closed(peer);
    EXPECT_TRUE(peer.got("path /x"));
    EXPECT_TRUE(handler_.half_closed.empty());
}

TEST_F(ServerHttp, BadRequestsAreAnsweredByNetAndEnd) {
    for (const auto& [bytes, status] : std::vector<std::pair<std::string, std::string>>{
             {"nonsense\r\n\r\n", "400"},
             {get("/", "X: " + std::string(9000, 'x') + "\r\n"), "431"},
             {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 300000\r\n\r\n", "413"},
             {get("/", "Upgrade: websocket\r\nConnection: upgrade\r\nSec-WebSocket-Version: 8\r\n"),
              "426"},
             {get("/",
                  "Upgrade: websocket\r\nConnection: upgrade\r\nSec-WebSocket-Version: 13\r\n"),
              "400"}}) {
        Peer peer(port());
        peer.send(bytes);
        pump_until_closed(peer);
        EXPECT_TRUE(peer.received.starts_with("HTTP/1.1 " + status)) << peer.received;
        EXPECT_EQ(peer.got("Sec-WebSocket-Version: 13"), status == "426");
        EXPECT_FALSE(peer.reset) << status;
    }
    EXPECT_TRUE(handler_.requests.empty());
    EXPECT_EQ(server_.counters().http_refused, 5U);
}

TEST_F(ServerHttpQuick, ABodyTooLargeIsRefusedWhileItIsStillBeingSent) {
    Peer peer(port());
    peer.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n" +
              std::string(50'000, 'x'));
    pump_until_closed(peer);
    EXPECT_TRUE(peer.received.starts_with("HTTP/1.1 413")) << peer.received;
    EXPECT_FALSE(peer.reset);
}

TEST_F(ServerHttpQuick, ASlowHeadIsGivenUpHoweverItDripples) {
    Peer peer(port());
    const MonoTime start = clock_.now();
    std::size_t at = 0;
    const std::string bytes = get("/", "X: " + std::string(5000, 'x') + "\r\n");
    pump_until([&] {
        peer.send_some({bytes.data() + at++, 1});
        peer.poll();
        return peer.closed || peer.got("408");
    });
    EXPECT_TRUE(peer.got("HTTP/1.1 408")) << peer.received;
    EXPECT_LT(clock_.now() - start, 1500ms);
}

TEST_F(ServerHttp, WhoseCredentialsAreRefusedAgainAndAgainIsClosed) {
    handler_.on_request_do = [&](ConnectionId id, HttpRequest& request) {
        HttpResponse response;
        response.status = request.path() == "/known" ? 200 : 401;
        server_.respond(id, std::move(response));
    };
    Peer guesser(port());
    Peer known(port());
    for (int i = 0; i < 30; ++i) {
        guesser.send_some(get("/guess"));
        known.send(get("/known"));
    }
    pump_until_closed(guesser);
    EXPECT_EQ(guesser.count("HTTP/1.1 401"), 10U);
    EXPECT_EQ(guesser.count("Connection: close"), 1U);
    pump_until([&] {
        known.poll();
        return known.count("HTTP/1.1 200") == 30;
    });
    EXPECT_FALSE(known.closed);
}

TEST_F(ServerHttpQuick, ASlowBodyIsGivenUp) {
    Peer peer(port());
    peer.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc");
    pump_until_got(peer, "HTTP/1.1 408");
}

TEST_F(ServerHttpQuick, SilenceIsClosedWithoutAWord) {
    Peer never(port());
    Peer idle(port());
    idle.send(get("/x"));
    pump_until_closed(never);
    EXPECT_EQ(never.received, "");
    idle.poll();
    EXPECT_FALSE(idle.closed) << "idle keep-alive lives longer than a head that never comes";
    pump_until_closed(idle);
    EXPECT_EQ(idle.count("HTTP/1.1"), 1U);
    EXPECT_EQ(server_.connection_count(), 0U);
}

TEST_F(ServerHttpQuick, ADeferredAnswerMayTakeLongerThanAHead) {
    handler_.on_request_do = [&](ConnectionId id, HttpRequest&) {
        loop_.after(600ms, [this, id] { server_.respond(id, {}); });
    };
    Peer peer(port());
    peer.send(get("/x"));
    pump_until_got(peer, "200 OK");
}

TEST_F(ServerHttp, TheHandlerMayAbortInsideTheRequest) {
    handler_.on_request_do = [&](ConnectionId id, HttpRequest& request) {
        server_.abort(id);
        EXPECT_EQ(request.path(), "/x");
    };
    Peer peer(port());
    peer.send(get("/x") + get("/y"));
    pump_until_closed(peer);
    EXPECT_EQ(handler_.requests.size(), 1U);
}

}  // namespace
}  // namespace presence::net::testing
