#include "bare_server.h"

#include "failure.h"
#include "wire.h"

#include <arpa/inet.h>
#include <array>
#include <cstdint>
#include <cstdio>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace presence::bench {

namespace {

// The answer to the one key that the load client sends.
constexpr std::string_view kUpgraded =
    "HTTP/1.1 101 Switching Protocols\r\n"
    "Upgrade: websocket\r\n"
    "Connection: Upgrade\r\n"
    "Sec-WebSocket-Accept: 0000000000000000000000000000\r\n"
    "Sec-WebSocket-Protocol: presence.v1\r\n"
    "\r\n";

constexpr std::string_view kWelcome =
    R"({"type":"welcome","userId":"u","sessionId":"s","resume":"r","resumed":false})";

class BareServer {
public:
    explicit BareServer(const BareOptions& options)
        : options_(options),
          welcome_(server_text_frame(kWelcome)),
          answer_(server_text_frame(std::string(options.answer_bytes, ' '))) {
        listen();
    }

    [[noreturn]] void run() {
        std::array<epoll_event, 512> events{};
        while (true) {
            const int count =
                ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), -1);
            for (int at = 0; at < count; ++at) {
                const int socket = events[static_cast<std::size_t>(at)].data.fd;
                if (socket == listener_) {
                    accept();
                } else {
                    read(socket);
                }
            }
        }
    }

private:
    enum class Stage : std::uint8_t { closed, opened, upgraded, greeted };

    void listen() {
        listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        auto* generic = reinterpret_cast<sockaddr*>(&address);
        if (::bind(listener_, generic, size) != 0 || ::listen(listener_, 4'096) != 0 ||
            ::getsockname(listener_, generic, &size) != 0) {
            fail_system("listen");
        }
        epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
        watch(listener_, EPOLLIN);
        fmt::print("ready http://127.0.0.1:{}\n", ntohs(address.sin_port));
        std::fflush(stdout);
    }

    void watch(int socket, std::uint32_t events) const {
        epoll_event event{};
        event.events = events;
        event.data.fd = socket;
        if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, socket, &event) != 0) {
            fail_system("epoll_ctl");
        }
    }

    void accept() {
        while (true) {
            const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
            if (socket < 0) {
                return;
            }
            const int on = 1;
            ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
            if (stages_.size() <= static_cast<std::size_t>(socket)) {
                stages_.resize(static_cast<std::size_t>(socket) + 1);
            }
            stages_[static_cast<std::size_t>(socket)] = Stage::opened;
            // Edge-triggered is the cheaper of the two: what a read has emptied is not looked at
            // again. No message here fills the buffer, so one read empties a socket.
            watch(socket, EPOLLIN | EPOLLET);
        }
    }

    void read(int socket) {
        const ssize_t size = ::recv(socket, buffer_.data(), buffer_.size(), 0);
        Stage& stage = stages_[static_cast<std::size_t>(socket)];
        if (size <= 0) {
            ::close(socket);
            stage = Stage::closed;
            return;
        }
        switch (stage) {
            case Stage::opened:
                send(socket, kUpgraded);
                stage = Stage::upgraded;
                return;
            case Stage::upgraded:
                send(socket, welcome_);
                stage = Stage::greeted;
                return;
            default:
                answer(socket);
        }
    }

    void answer(int socket) {
        if (options_.answer == BareAnswer::reply) {
            send(socket, answer_);
        } else if (options_.answer == BareAnswer::fan_out) {
            for (std::size_t other = 0; other < stages_.size(); ++other) {
                if (stages_[other] == Stage::greeted && static_cast<int>(other) != socket) {
                    send(static_cast<int>(other), answer_);
                }
            }
        }
    }

    static void send(int socket, std::string_view bytes) {
        [[maybe_unused]] const ssize_t sent =
            ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    }

    BareOptions options_;
    std::string welcome_;
    std::string answer_;
    int listener_ = -1;
    int epoll_ = -1;
    std::vector<Stage> stages_;
    std::array<char, 64 * 1024> buffer_{};
};

}  // namespace

void run_bare_server(const BareOptions& options) {
    BareServer(options).run();
}

}  // namespace presence::bench
