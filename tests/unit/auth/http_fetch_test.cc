#include "presence/auth/http_fetch.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace presence::auth {
namespace {

/// Accepts one connection on a port of loopback, reads its request and gives one answer.
class OneAnswer {
public:
    explicit OneAnswer(std::string answer) : answer_(std::move(answer)) {
        listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        ::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address);
        ::listen(listener_, 1);
        socklen_t length = sizeof address;
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length);
        port_ = ntohs(address.sin_port);
        thread_ = std::thread([this] { serve(); });
    }
    ~OneAnswer() {
        thread_.join();
        ::close(listener_);
    }
    OneAnswer(const OneAnswer&) = delete;
    OneAnswer& operator=(const OneAnswer&) = delete;

    [[nodiscard]] std::string url() const { return fmt::format("http://127.0.0.1:{}/keys", port_); }

private:
    void serve() {
        const int socket = ::accept(listener_, nullptr, nullptr);
        char buffer[4096];
        static_cast<void>(::recv(socket, buffer, sizeof buffer, 0));
        std::size_t sent = 0;
        while (sent < answer_.size()) {
            const auto now =
                ::send(socket, answer_.data() + sent, answer_.size() - sent, MSG_NOSIGNAL);
            if (now <= 0) {
                break;
            }
            sent += static_cast<std::size_t>(now);
        }
        ::shutdown(socket, SHUT_WR);
        while (::recv(socket, buffer, sizeof buffer, 0) > 0) {
        }
        ::close(socket);
    }

    std::string answer_;
    int listener_ = -1;
    int port_ = 0;
    std::thread thread_;
};

std::string http(const std::string& status, const std::string& body) {
    return fmt::format("HTTP/1.1 {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}", status,
                       body.size(), body);
}

TEST(HttpFetch, GivesTheBodyOfAGoodAnswer) {
    const OneAnswer site(http("200 OK", R"({"keys":[]})"));
    const std::atomic<bool> stop = false;

    const auto body = fetch_by_http(site.url(), stop);

    ASSERT_TRUE(body);
    EXPECT_EQ(*body, R"({"keys":[]})");
}

TEST(HttpFetch, AnotherStatusIsAFailure) {
    const OneAnswer site(http("503 Service Unavailable", "sorry"));
    const std::atomic<bool> stop = false;

    const auto body = fetch_by_http(site.url(), stop);

    ASSERT_FALSE(body);
    EXPECT_EQ(body.error().message, "the answer was 503");
    EXPECT_EQ(body.error().code, ErrorCode::unavailable);
}

TEST(HttpFetch, TooLongAnAnswerIsAFailure) {
    const OneAnswer site(http("200 OK", std::string(1024 * 1024 + 1, 'x')));
    const std::atomic<bool> stop = false;

    EXPECT_FALSE(fetch_by_http(site.url(), stop));
}

TEST(HttpFetch, OtherSchemesAreNotFollowed) {
    const OneAnswer site(
        "HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n"
        "Connection: close\r\n\r\n");
    const std::atomic<bool> stop = false;

    EXPECT_FALSE(fetch_by_http(site.url(), stop));
    EXPECT_FALSE(fetch_by_http("file:///etc/passwd", stop));
}

TEST(HttpFetch, StopEndsItEarly) {
    const std::atomic<bool> stop = true;

    EXPECT_FALSE(fetch_by_http("http://127.0.0.1:1/", stop));
}

}  // namespace
}  // namespace presence::auth
