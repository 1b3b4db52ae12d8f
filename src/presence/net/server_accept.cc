#include "presence/base/log.h"
#include "presence/net/server_state.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <unistd.h>

namespace presence::net {
namespace {

/// Edge-triggered and for both directions at once, so that a connection's interest never has to be
/// changed by a system call.
constexpr std::uint32_t kSocketEvents = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;

int open_reserve() {
    return ::open("/dev/null", O_RDONLY | O_CLOEXEC);
}

bool is_out_of_resources(int error) {
    return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

}  // namespace

void Server::State::listen(std::shared_ptr<Listener> listener, std::shared_ptr<TlsContext> tls) {
    if (reserve_fd < 0) {
        reserve_fd = open_reserve();
    }
    listeners.push_back({std::move(listener), std::move(tls), false});
    if (!accept_timer) {
        resume_accepting();
    }
}

void Server::State::stop_accepting() {
    loop.cancel(accept_timer);
    accept_timer = {};
    for (const Listening& each : listeners) {
        if (each.in_loop) {
            loop.remove_socket(each.listener->fd());
        }
    }
    listeners.clear();
}

void Server::State::resume_accepting() {
    accept_timer = {};
    for (std::size_t i = 0; i < listeners.size(); ++i) {
        if (!listeners[i].in_loop) {
            // Tokens of listeners have no generation in their upper half; those of connections do.
            listeners[i].in_loop =
                loop.add_socket(listeners[i].listener->fd(), EPOLLIN | EPOLLEXCLUSIVE, i);
        }
    }
}

void Server::State::accept_all(std::size_t index) {
    for (std::uint32_t n = 0; n < limits.accepts_per_wakeup && index < listeners.size(); ++n) {
        const Listening from = listeners[index];
        sockaddr_storage address{};
        socklen_t size = sizeof address;
        const int fd = ::accept4(from.listener->fd(), reinterpret_cast<sockaddr*>(&address), &size,
                                 SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            accept_pause = Millis{0};
            take_in(fd, address, from);
        } else if (is_out_of_resources(errno)) {
            pause_accepting(index);
            return;
        } else if (errno != EINTR && errno != ECONNABORTED) {
            return;
        }
    }
}

/// Where it says yes and `counts`, a stranger was counted.
bool Server::State::may_take(const sockaddr_storage& address, bool counts) {
    if (counts) {
        switch (strangers->take(to_address_key(address), limits.unadmitted_per_address,
                                limits.unadmitted_total)) {
            case Strangers::Answer::taken:
                break;
            case Strangers::Answer::too_many_here:
                ++counters.refused_per_address;
                return false;
            case Strangers::Answer::too_many:
                ++counters.refused_total;
                return false;
        }
    }
    if (!handler.may_accept(to_remote_address(address))) {
        ++counters.refused_by_handler;
        if (counts) {
            strangers->give_back(to_address_key(address));
        }
        return false;
    }
    return true;
}

void Server::State::take_in(int fd, const sockaddr_storage& address, const Listening& from) {
    ++counters.accepted;
    const RemoteAddress remote = to_remote_address(address);
    const bool counts = (limits.limit_loopback || !remote.is_loopback) && !handler.is_proxy(remote);
    if (!may_take(address, counts)) {
        ::close(fd);
        return;
    }
    const ConnectionId id = slots.take();
    if (!loop.add_socket(fd, kSocketEvents, id.value)) {
        slots.give_back(id);
        ::close(fd);
        if (counts) {
            strangers->give_back(to_address_key(address));
        }
        return;
    }
    Slot& slot = slots.at(static_cast<std::uint32_t>(id.value));
    slot.fd = fd;
    slot.stage = Stage::http;
    slot.message_limit = limits.message_bytes_before_welcome;
    Extras& extras = extras_of(slot);
    extras.http = std::make_unique<HttpSide>(HttpParser::Bounds{
        limits.http_head_bytes, limits.http_body_bytes, limits.http_large_body_bytes});
    if (from.tls) {
        extras.tls = TlsSession(*from.tls, fd);
    }
    if (counts) {
        extras.counted_for = to_address_key(address);
    }
    count_connection();
    set_deadline(slot, id, Deadline::http_head, limits.http_head_timeout);
}

bool Server::State::count_for(Slot& slot, const RemoteAddress& client) {
    Extras& extras = extras_of(slot);
    uncount(extras);
    if (client.is_loopback && !limits.limit_loopback) {
        return true;
    }
    if (strangers->take(client.key, limits.unadmitted_per_address, limits.unadmitted_total) !=
        Strangers::Answer::taken) {
        ++counters.refused_per_address;
        return false;
    }
    extras.counted_for = client.key;
    return true;
}

void Server::State::count_connection() {
    ++connections;
    strangers->connection_opened();
}

void Server::State::uncount_connection() {
    --connections;
    strangers->connection_closed();
}

void Server::State::uncount(Extras& extras) {
    if (extras.counted_for) {
        strangers->give_back(*extras.counted_for);
        extras.counted_for.reset();
    }
}

/// Out of descriptors: accepting rests, longer each time, while all who are here are served on.
void Server::State::pause_accepting(std::size_t index) {
    ++counters.accept_pauses;
    log::warning("accept_paused", "accepting rests: {}", std::strerror(errno));
    shed_one(listeners[index].listener->fd());
    for (Listening& each : listeners) {
        if (each.in_loop) {
            loop.remove_socket(each.listener->fd());
            each.in_loop = false;
        }
    }
    accept_pause =
        std::clamp(accept_pause * 2, limits.accept_pause_least, limits.accept_pause_most);
    const auto self = weak_from_this();
    accept_timer = loop.after(accept_pause, [self] {
        if (const auto state = self.lock()) {
            state->resume_accepting();
        }
    });
}

/// Turns one waiting client away at once, so that it backs off instead of hanging.
void Server::State::shed_one(int listener_fd) {
    if (reserve_fd < 0) {
        reserve_fd = open_reserve();
        return;
    }
    ::close(reserve_fd);
    const int fd = ::accept4(listener_fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
        ::close(fd);
        ++counters.accept_shed;
    }
    reserve_fd = open_reserve();
}

}  // namespace presence::net
