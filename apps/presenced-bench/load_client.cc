#include "load_client.h"

#include "failure.h"
#include "wire.h"

#include <arpa/inet.h>
#include <array>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace presence::bench {

namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kSignInsAtOnce = 32;
constexpr std::string_view kSecret = "dev";  // That of `presenced serve --dev`.

std::string close_text(std::string_view payload) {
    if (payload.size() < 2) {
        return "without a code";
    }
    const unsigned code =
        static_cast<unsigned char>(payload[0]) * 256U + static_cast<unsigned char>(payload[1]);
    return fmt::format("{} {}", code, payload.substr(2));
}

}  // namespace

LoadClient::LoadClient(std::uint16_t port, std::string user_prefix)
    : port_(port),
      user_prefix_(std::move(user_prefix)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      buffer_(256 * 1024) {}

LoadClient::~LoadClient() {
    const linger reset{1, 0};
    for (const Connection& connection : connections_) {
        ::setsockopt(connection.socket, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        ::close(connection.socket);
    }
    ::close(epoll_);
}

std::string LoadClient::user(std::size_t connection) const {
    return fmt::format("{}{}", user_prefix_, connection);
}

void LoadClient::grow_to(std::size_t count) {
    const std::size_t before = connections_.size();
    auto give_up = SteadyClock::now() + 20s;
    std::size_t last_done = before;
    while (connections_.size() < count || signing_in_ > 0) {
        while (connections_.size() < count && signing_in_ < kSignInsAtOnce) {
            open_one();
        }
        poll(100ms);
        if (connections_.size() - signing_in_ > last_done) {
            last_done = connections_.size() - signing_in_;
            give_up = SteadyClock::now() + 20s;
        } else if (SteadyClock::now() > give_up) {
            fail("signing in stood still for 20 s with {} of {} done", last_done, count);
        }
    }
}

void LoadClient::open_one() {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket < 0) {
        fail_system("socket");
    }
    connections_.emplace_back().socket = socket;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port_);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        fail_system("connect");
    }
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = connections_.size() - 1;
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, socket, &event) != 0) {
        fail_system("epoll_ctl");
    }
    ++signing_in_;
    send(connections_.size() - 1, upgrade_request());
}

void LoadClient::send(std::size_t connection, std::string_view bytes) {
    const ssize_t sent = ::send(connections_[connection].socket, bytes.data(), bytes.size(),
                                MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent != static_cast<ssize_t>(bytes.size())) {
        fail("connection {} does not take {} bytes: {}", connection, bytes.size(),
             sent < 0 ? std::strerror(errno) : "its buffer is full");
    }
}

void LoadClient::send_text(std::size_t connection, std::string_view message) {
    send(connection, client_frame(Opcode::text, message));
}

void LoadClient::poll(std::chrono::milliseconds timeout) {
    std::array<epoll_event, 256> events{};
    int wait = static_cast<int>(timeout.count());
    while (true) {
        const int count =
            ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), wait);
        for (int at = 0; at < count; ++at) {
            read(events[static_cast<std::size_t>(at)].data.u64);
        }
        if (count < static_cast<int>(events.size())) {
            return;
        }
        wait = 0;
    }
}

void LoadClient::poll_until(const std::function<bool()>& done, std::string_view what,
                            std::chrono::milliseconds timeout) {
    const auto give_up = SteadyClock::now() + timeout;
    while (!done()) {
        if (SteadyClock::now() > give_up) {
            fail("waited {} ms in vain for {}", timeout.count(), what);
        }
        poll(50ms);
    }
}

void LoadClient::read(std::size_t index) {
    Connection& connection = connections_[index];
    const ssize_t size = ::recv(connection.socket, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (size < 0 && errno == EAGAIN) {
        return;
    }
    if (size <= 0 && connection.silent) {
        ::epoll_ctl(epoll_, EPOLL_CTL_DEL, connection.socket, nullptr);
        return;
    }
    if (size <= 0) {
        fail("connection {} ({}) was lost: {}", index, user(index),
             size == 0 ? "closed by the server" : std::strerror(errno));
    }
    const std::string_view come(buffer_.data(), static_cast<std::size_t>(size));
    if (connection.pending.empty()) {
        const std::size_t taken = take_frames(index, come);
        if (taken < come.size()) {
            connection.pending = come.substr(taken);
        }
        return;
    }
    connection.pending += come;
    const std::string all = std::move(connection.pending);
    connection.pending = std::string(std::string_view(all).substr(take_frames(index, all)));
}

std::size_t LoadClient::take_frames(std::size_t index, std::string_view bytes) {
    std::size_t taken = 0;
    if (connections_[index].stage == Stage::upgrading) {
        taken = take_upgrade(index, bytes);
        if (taken == 0) {
            return 0;
        }
    }
    while (true) {
        const ServerFrame frame = first_frame(bytes.substr(taken));
        if (frame.size == 0) {
            return taken;
        }
        taken += frame.size;
        switch (frame.opcode) {
            case Opcode::text:
                take_text(index, frame.payload);
                break;
            case Opcode::ping:
                if (!connections_[index].silent) {
                    send(index, client_frame(Opcode::pong, frame.payload));
                }
                break;
            case Opcode::pong:
                break;
            default:
                if (connections_[index].silent) {
                    break;
                }
                fail("connection {} ({}) was closed: {}", index, user(index),
                     close_text(frame.payload));
        }
    }
}

std::size_t LoadClient::take_upgrade(std::size_t index, std::string_view bytes) {
    const std::size_t end = bytes.find("\r\n\r\n");
    if (end == std::string_view::npos) {
        return 0;
    }
    if (!bytes.starts_with("HTTP/1.1 101")) {
        fail("the server refused the upgrade: {}", bytes.substr(0, bytes.find("\r\n")));
    }
    connections_[index].stage = Stage::welcoming;
    const std::string fields = hello_fields_ ? hello_fields_(index) : std::string();
    send_text(index, fmt::format(R"({{"type":"hello","token":"{}"{}}})",
                                 mint_token(user(index), kSecret), fields));
    return end + 4;
}

void LoadClient::take_text(std::size_t index, std::string_view message) {
    Connection& connection = connections_[index];
    if (connection.stage == Stage::ready) {
        if (on_message_) {
            on_message_(index, message);
        }
        return;
    }
    if (message.find(R"("type":"welcome")") == std::string_view::npos) {
        fail("the server refused the hello of {}: {}", user(index), message);
    }
    connection.stage = Stage::ready;
    --signing_in_;
    if (on_welcome_) {
        on_welcome_(index, message);
    }
}

PacedLoad send_paced(LoadClient& client, std::string_view frame, double per_second,
                     std::chrono::milliseconds duration) {
    constexpr auto kMostBehind = 100ms;
    auto start = SteadyClock::now();
    PacedLoad load;
    std::size_t next = 0;
    while (load.took < duration) {
        load.took = SteadyClock::now() - start;
        const auto planned =
            std::chrono::duration<double>(static_cast<double>(load.sent) / per_second);
        if (load.took - planned > kMostBehind) {
            const auto stall =
                std::chrono::duration_cast<std::chrono::nanoseconds>(load.took - planned);
            start += stall;
            load.took -= stall;
            load.stalled += stall;
        }
        const double due = std::chrono::duration<double>(load.took).count() * per_second;
        for (; static_cast<double>(load.sent) < due; ++load.sent) {
            client.send(next, frame);
            next = next + 1 == client.size() ? 0 : next + 1;
        }
        client.poll(0ms);
        std::this_thread::sleep_until(start + load.took + 1ms);
    }
    return load;
}

}  // namespace presence::bench
