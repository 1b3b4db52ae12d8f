#include "client_pool.h"

#include "failure.h"

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace presence::bench {

namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kSignInsAtOnce = 32;

}  // namespace

ClientPool::ClientPool(std::uint16_t port, std::string user_prefix)
    : port_(port),
      user_prefix_(std::move(user_prefix)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      buffer_(256 * 1024) {}

ClientPool::~ClientPool() {
    for (const Connection& connection : connections_) {
        reset(connection.socket);
    }
    ::close(epoll_);
}

void ClientPool::reset(int socket) {
    const linger at_once{1, 0};
    ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    ::close(socket);
}

void ClientPool::reopen(std::size_t connection) {
    reset(connections_[connection].socket);
    signing_in_ -= connections_[connection].signed_in ? 0U : 1U;
    connections_[connection] = {};
    open(connection);
}

std::string ClientPool::user(std::size_t connection) const {
    return fmt::format("{}{}", user_prefix_, connection);
}

std::string ClientPool::user_list(std::size_t first, std::size_t count) const {
    std::string users;
    for (std::size_t at = first; at < first + count; ++at) {
        users += fmt::format(R"({}"{}")", at == first ? "" : ",", user(at));
    }
    return users;
}

void ClientPool::grow_to(std::size_t count) {
    const std::size_t before = connections_.size();
    auto give_up = SteadyClock::now() + 20s;
    std::size_t last_done = before;
    while (connections_.size() < count || signing_in_ > 0) {
        while (connections_.size() < count && signing_in_ < kSignInsAtOnce) {
            connections_.emplace_back();
            open(connections_.size() - 1);
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

void ClientPool::open(std::size_t index) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket < 0) {
        fail_system("socket");
    }
    connections_[index].socket = socket;
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
    event.data.u64 = index;
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, socket, &event) != 0) {
        fail_system("epoll_ctl");
    }
    ++signing_in_;
    begin(index);
}

void ClientPool::send(std::size_t connection, std::string_view bytes) {
    const ssize_t sent = ::send(connections_[connection].socket, bytes.data(), bytes.size(),
                                MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent != static_cast<ssize_t>(bytes.size())) {
        fail("connection {} does not take {} bytes: {}", connection, bytes.size(),
             sent < 0 ? std::strerror(errno) : "its buffer is full");
    }
}

void ClientPool::poll(std::chrono::milliseconds timeout) {
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

void ClientPool::poll_until(const std::function<bool()>& done, std::string_view what,
                            std::chrono::milliseconds timeout) {
    const auto give_up = SteadyClock::now() + timeout;
    while (!done()) {
        if (SteadyClock::now() > give_up) {
            fail("waited {} ms in vain for {}", timeout.count(), what);
        }
        poll(50ms);
    }
}

void ClientPool::read(std::size_t index) {
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
        const std::size_t taken = take(index, come);
        if (taken < come.size()) {
            connection.pending = come.substr(taken);
        }
        return;
    }
    connection.pending += come;
    const std::string all = std::move(connection.pending);
    connection.pending = std::string(std::string_view(all).substr(take(index, all)));
}

void ClientPool::set_signed_in(std::size_t connection) {
    connections_[connection].signed_in = true;
    --signing_in_;
}

PacedLoad send_paced(ClientPool& clients, std::string_view frame, double per_second,
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
            clients.send(next, frame);
            next = next + 1 == clients.size() ? 0 : next + 1;
        }
        clients.poll(0ms);
        std::this_thread::sleep_until(start + load.took + 1ms);
    }
    return load;
}

}  // namespace presence::bench
