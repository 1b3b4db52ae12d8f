#include "presence/net/http_parser.h"

#include "presence/net/handshake.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace presence::net {
namespace {

using State = HttpParser::State;

/// Feeds `bytes` in pieces of `step`, the rest always again at the front, as the server does.
void feed_in_steps(HttpParser& parser, std::string_view bytes, std::size_t step) {
    std::string unread;
    for (std::size_t at = 0; at < bytes.size(); at += step) {
        unread.append(bytes.substr(at, step));
        unread.erase(0, parser.feed(unread));
    }
}

int status_for(std::string_view bytes, std::uint32_t head = 8192, std::uint32_t body = 1024) {
    HttpParser parser({head, body});
    feed_in_steps(parser, bytes, bytes.size());
    return parser.state() == State::failed ? parser.status() : 0;
}

TEST(HttpParser, ReadsARequestWithBodyCutAnywhere) {
    const std::string bytes =
        "POST /v1/users/a%20b/../status?x=1&y=%41 HTTP/1.1\r\nHost: h\r\nX-Two: 1\r\nx-two:  2 \r\n"
        "Content-Length: 5\r\n\r\nhello";
    for (std::size_t step = 1; step <= bytes.size(); ++step) {
        HttpParser parser({8192, 1024});
        feed_in_steps(parser, bytes, step);
        ASSERT_EQ(parser.state(), State::complete) << step;
        const HttpRequest& request = parser.request();
        EXPECT_EQ(request.method, "POST");
        EXPECT_EQ(request.path(), "/v1/users/a%20b/../status");
        EXPECT_EQ(request.query(), "x=1&y=%41");
        EXPECT_EQ(request.body, "hello");
        EXPECT_EQ(request.header("X-TWO"), "1");
        EXPECT_EQ(request.header_count("X-Two"), 2U);
        EXPECT_FALSE(request.header("Absent").has_value());
        EXPECT_TRUE(request.keep_alive);
    }
}

TEST(HttpParser, ReadsChunkedBodiesAndIgnoresTrailers) {
    const std::string bytes =
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
        "3\r\nabc\r\n2;ext=1\r\nde\r\n0\r\nAuthorization: Bearer forged\r\n\r\n";
    for (std::size_t step = 1; step <= bytes.size(); ++step) {
        HttpParser parser({8192, 1024});
        feed_in_steps(parser, bytes, step);
        ASSERT_EQ(parser.state(), State::complete) << step;
        EXPECT_EQ(parser.request().body, "abcde");
        EXPECT_FALSE(parser.request().header("Authorization").has_value());
    }
}

TEST(HttpParser, ReadsABodyOfNothingButItsEndHoweverItComes) {
    const std::string head = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (const char* end : {"0\r\n\r\n", "0;a=1\r\n\r\n", "000\r\n\r\n", "0\r\nT: x\r\n\r\n"}) {
        const std::string bytes = head + end;
        for (std::size_t step = 1; step <= bytes.size(); ++step) {
            HttpParser parser({8192, 1024});
            feed_in_steps(parser, bytes, step);
            ASSERT_EQ(parser.state(), State::complete) << end << step;
            EXPECT_EQ(parser.request().body, "");
        }
    }
}

TEST(HttpParser, ALargeBodyIsReadOnlyWhereTheHeadIsAllowedOne) {
    const auto read = [](const std::string& path, const std::string& rest) {
        HttpParser parser({.head = 8192, .body = 10, .large_body = 20});
        const std::string bytes = "PUT " + path + " HTTP/1.1\r\nHost: h\r\n" + rest;
        parser.feed(bytes, [](const HttpRequest& head) { return head.path() == "/list"; });
        return parser.state() == State::failed ? parser.status()
                                               : static_cast<int>(parser.request().body.size());
    };
    const std::string twenty(20, 'x');
    const std::string sized = "Content-Length: 20\r\n\r\n" + twenty;
    const std::string chunked = "Transfer-Encoding: chunked\r\n\r\n9\r\nxxxxxxxxx\r\nb\r\n" +
                                twenty.substr(0, 11) + "\r\n0\r\n\r\n";
    EXPECT_EQ(read("/list", sized), 20);
    EXPECT_EQ(read("/list", chunked), 20);
    EXPECT_EQ(read("/other", sized), 413);
    EXPECT_EQ(read("/other", chunked), 413);
    EXPECT_EQ(read("/other", "Content-Length: 10\r\n\r\n" + twenty.substr(0, 10)), 10);
    EXPECT_EQ(read("/list", "Content-Length: 21\r\n\r\n"), 413);
    EXPECT_EQ(read("/list", "Transfer-Encoding: chunked\r\n\r\n15\r\n"), 413);
}

TEST(HttpParser, Http10KnowsNoUpgrade) {
    const std::string rest =
        "Host: h\r\nupgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    for (const bool old : {true, false}) {
        HttpParser parser({.head = 8192, .body = 1024});
        feed_in_steps(parser, std::string("GET / HTTP/1.") + (old ? "0" : "1") + "\r\n" + rest, 7);
        ASSERT_EQ(parser.state(), State::complete);
        EXPECT_FALSE(inspect_handshake(parser.request()).has_value());
        EXPECT_EQ(parser.request().is_upgrade, !old);
    }
}

TEST(HttpParser, OfAHeadThatIsRefusedTheOriginIsKnownAsFarAsItCame) {
    const std::string origin = "Origin: https://a.example\r\n";
    const std::string post = "POST / HTTP/1.1\r\nHost: h\r\n" + origin;
    for (const auto& [bytes, status] : std::vector<std::pair<std::string, int>>{
             {post + "Content-Length: 5000\r\n\r\n", 413},
             {post + "X: " + std::string(9'000, 'x') + "\r\n\r\n", 431},
             {post + "Transfer-Encoding: gzip\r\n\r\n", 501},
             {"POST / HTTP/1.1\r\n" + origin + "\r\n", 400}}) {
        HttpParser parser({.head = 8192, .body = 1024});
        feed_in_steps(parser, bytes, bytes.size());
        ASSERT_EQ(parser.state(), State::failed);
        EXPECT_EQ(parser.status(), status);
        EXPECT_EQ(parser.request().header_count("Origin"), 1U) << status;
        EXPECT_EQ(parser.request().header("Origin"), "https://a.example") << status;
    }
}

TEST(HttpParser, LeavesTheNextRequestAlone) {
    const std::string_view two =
        "GET /a HTTP/1.1\r\nHost: h\r\n\r\nGET /b HTTP/1.1\r\nHost: h\r\n\r\n";
    HttpParser parser({8192, 1024});
    const std::size_t used = parser.feed(two);
    EXPECT_EQ(used, two.size() / 2);
    EXPECT_EQ(parser.request().path(), "/a");
    parser.next();
    EXPECT_EQ(parser.feed(two.substr(used)), two.size() / 2);
    EXPECT_EQ(parser.request().path(), "/b");
}

TEST(HttpParser, AnswersWhatCannotBeReadWithTheFittingStatus) {
    EXPECT_EQ(status_for("\x16\x03\x01\x02 TLS hello\r\n\r\n"), 400);
    EXPECT_EQ(status_for("GET / HTTP/1.1\r\n\r\n"), 400) << "no Host";
    EXPECT_EQ(status_for("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), 400);
    EXPECT_EQ(status_for("GET nowhere HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
    EXPECT_EQ(status_for("GET / HTTP/1.1\r\nHost : a\r\n\r\n"), 400);
    EXPECT_EQ(status_for("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 505);
    EXPECT_EQ(status_for("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n"), 400);
    EXPECT_EQ(status_for("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n"
                         "Content-Length: 2\r\n\r\n"),
              400);
    EXPECT_EQ(status_for("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n"
                         "Transfer-Encoding: chunked\r\n\r\n"),
              400)
        << "smuggling";
    EXPECT_EQ(status_for("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n"), 501);
    EXPECT_EQ(status_for("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"),
              501);
    EXPECT_EQ(status_for("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
              400);
}

TEST(HttpParser, HeadsAndBodiesAreLimited) {
    const std::string open = "GET / HTTP/1.1\r\nHost: h\r\nX: ";
    EXPECT_EQ(status_for(open + std::string(500, 'x') + "\r\n\r\n", 600), 0);
    EXPECT_EQ(status_for(open + std::string(700, 'x'), 600), 431);
    EXPECT_EQ(status_for("GET /" + std::string(9000, 'x')), 431);

    const std::string post = "POST / HTTP/1.1\r\nHost: h\r\n";
    EXPECT_EQ(status_for(post + "Content-Length: 1024\r\n\r\n"), 0);
    EXPECT_EQ(status_for(post + "Content-Length: 1025\r\n\r\n"), 413);
    EXPECT_EQ(status_for(post + "Transfer-Encoding: chunked\r\n\r\n401\r\n"), 413);
    EXPECT_EQ(status_for(post + "Transfer-Encoding: chunked\r\n\r\n300\r\n" +
                         std::string(0x300, 'x') + "\r\n300\r\n"),
              413)
        << "over two chunks";
    EXPECT_EQ(status_for(post + "Transfer-Encoding: chunked\r\n\r\n1;" + std::string(9000, 'x')),
              400)
        << "a chunk's head that never ends";
}

TEST(HttpParser, TellsOnceThatTheClientWaitsForContinue) {
    HttpParser parser({8192, 1024});
    parser.feed("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    EXPECT_TRUE(parser.take_expects_continue());
    EXPECT_FALSE(parser.take_expects_continue());
    parser.feed("ok");
    EXPECT_EQ(parser.state(), State::complete);
}

TEST(HttpParser, KnowsWhoWantsToKeepTheConnection) {
    const auto keeps = [](std::string_view bytes) {
        HttpParser parser({8192, 1024});
        parser.feed(bytes);
        return parser.request().keep_alive;
    };
    EXPECT_TRUE(keeps("GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
    EXPECT_FALSE(keeps("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"));
    EXPECT_FALSE(keeps("GET / HTTP/1.0\r\n\r\n"));
    EXPECT_TRUE(keeps("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
}

TEST(HttpRequest, TheAbsoluteFormHasTheSamePath) {
    HttpRequest request;
    request.target = "http://example.com/v1/x?y=http://z/";
    EXPECT_EQ(request.path(), "/v1/x");
    EXPECT_EQ(request.query(), "y=http://z/");
    request.target = "/redirect?to=http://z/a";
    EXPECT_EQ(request.path(), "/redirect");
    request.target = "http://example.com";
    EXPECT_EQ(request.path(), "");
}

HttpRequest upgrade_request() {
    HttpRequest request;
    request.method = "GET";
    request.target = "/v1/connect";
    request.headers = {{"Host", "h"},
                       {"Upgrade", "WebSocket"},
                       {"Connection", "keep-alive, Upgrade"},
                       {"Sec-WebSocket-Version", "13"},
                       {"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="},
                       {"Sec-WebSocket-Protocol", "presence.v1, other"},
                       {"Sec-WebSocket-Protocol", "third"}};
    return request;
}

void set_header(HttpRequest& request, std::string_view name, std::string value) {
    for (auto& [key, old] : request.headers) {
        if (key == name) {
            old = std::move(value);
            return;
        }
    }
}

TEST(Handshake, AGoodOneIsUnderstood) {
    HttpRequest request = upgrade_request();
    EXPECT_FALSE(inspect_handshake(request).has_value());
    EXPECT_TRUE(request.is_upgrade);
    EXPECT_EQ(request.subprotocols, (std::vector<std::string>{"presence.v1", "other", "third"}));
}

TEST(Handshake, TheAnswerProvesThatItWasRead) {
    // The example of RFC 6455, section 1.3.
    const std::string answer = encode_accept("dGhlIHNhbXBsZSBub25jZQ==", "presence.v1");
    EXPECT_NE(answer.find("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"),
              std::string::npos);
    EXPECT_NE(answer.find("Sec-WebSocket-Protocol: presence.v1\r\n"), std::string::npos);
    EXPECT_EQ(encode_accept("dGhlIHNhbXBsZSBub25jZQ==", "").find("Protocol:"), std::string::npos);
}

TEST(Handshake, ABadOneIsRefused) {
    const auto status_with = [](std::string_view name, std::string value) {
        HttpRequest request = upgrade_request();
        set_header(request, name, std::move(value));
        const auto fault = inspect_handshake(request);
        return fault ? fault->status : 0;
    };
    EXPECT_EQ(status_with("Sec-WebSocket-Version", "12"), 426);
    EXPECT_EQ(status_with("Sec-WebSocket-Version", ""), 426);
    EXPECT_EQ(status_with("Sec-WebSocket-Key", "short"), 400);
    EXPECT_EQ(status_with("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZ!=="), 400);

    HttpRequest post = upgrade_request();
    post.method = "POST";
    EXPECT_EQ(inspect_handshake(post)->status, 400);

    HttpRequest two_keys = upgrade_request();
    two_keys.headers.emplace_back("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==");
    EXPECT_EQ(inspect_handshake(two_keys)->status, 400);
}

TEST(Handshake, OtherRequestsAreLeftAlone) {
    HttpRequest request = upgrade_request();
    set_header(request, "Upgrade", "h2c");
    EXPECT_FALSE(inspect_handshake(request).has_value());
    EXPECT_FALSE(request.is_upgrade);
}

TEST(HttpResponse, AValueCannotBeginAHeaderOfItsOwn) {
    HttpResponse response;
    response.headers.emplace_back("X-Echo", "a\r\nSet-Cookie: b");
    const std::string head = encode_head(response, {.date = "D"});
    EXPECT_EQ(head,
              "HTTP/1.1 200 OK\r\nDate: D\r\nX-Echo: a  Set-Cookie: b\r\nContent-Length: 0\r\n"
              "Connection: keep-alive\r\n\r\n");
}

TEST(HttpResponse, DatesAreWrittenAsHttpWantsThem) {
    EXPECT_EQ(http_date(784'111'777), "Sun, 06 Nov 1994 08:49:37 GMT");
}

}  // namespace
}  // namespace presence::net
