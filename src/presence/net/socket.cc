#include "presence/net/socket.h"

#include "presence/net/server.h"

#include <fmt/format.h>

#include <arpa/inet.h>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <optional>
#include <string>
#include <string_view>
#include <unistd.h>

namespace presence::net {
namespace {

/// Connections that may wait in the kernel for accept; it cuts this to net.core.somaxconn.
constexpr int kBacklog = 4096;

struct HostAndPort {
    std::string host;
    std::uint16_t port = 0;
    bool v6 = false;
};

std::optional<HostAndPort> split(std::string_view address) {
    HostAndPort parts;
    const std::size_t colon = address.rfind(':');
    if (colon == std::string_view::npos || colon == 0) {
        return std::nullopt;
    }
    std::string_view host = address.substr(0, colon);
    const std::string_view port = address.substr(colon + 1);
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), parts.port);
    if (port.empty() || error != std::errc{} || end != port.data() + port.size()) {
        return std::nullopt;
    }
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
        host = host.substr(1, host.size() - 2);
        parts.v6 = true;
    }
    parts.host = host == "localhost" ? "127.0.0.1" : std::string(host);
    return parts;
}

struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t size = 0;
    [[nodiscard]] const sockaddr* get() const {
        return reinterpret_cast<const sockaddr*>(&storage);
    }
    [[nodiscard]] sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

std::optional<SocketAddress> resolve(const HostAndPort& parts) {
    SocketAddress address;
    if (parts.v6) {
        sockaddr_in6 v6{};
        v6.sin6_family = AF_INET6;
        v6.sin6_port = htons(parts.port);
        if (::inet_pton(AF_INET6, parts.host.c_str(), &v6.sin6_addr) != 1) {
            return std::nullopt;
        }
        std::memcpy(&address.storage, &v6, sizeof v6);
        address.size = sizeof v6;
        return address;
    }
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(parts.port);
    if (::inet_pton(AF_INET, parts.host.c_str(), &v4.sin_addr) != 1) {
        return std::nullopt;
    }
    std::memcpy(&address.storage, &v4, sizeof v4);
    address.size = sizeof v4;
    return address;
}

/// What the kernel takes and cannot send yet. It would take megabytes: outdated news that nobody
/// can take back, and a reader that is known to be slow only after them (DESIGN rule 21).
constexpr int kUnsentInKernel = 256 * 1024;

/// Opens, binds and listens; -1 with errno set where the system refuses.
int open_listening(SocketAddress& address) {
    const int fd =
        ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -1;
    }
    const int on = 1;
    const int off = 0;
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    // These two its connections take over.
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kUnsentInKernel, sizeof kUnsentInKernel);
    if (address.storage.ss_family == AF_INET6) {
        ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    }
    if (::bind(fd, address.get(), address.size) != 0 || ::listen(fd, kBacklog) != 0 ||
        ::getsockname(fd, address.get(), &address.size) != 0) {
        const int why = errno;
        ::close(fd);
        errno = why;
        return -1;
    }
    return fd;
}

/// The IPv4 address inside `address`, also where it is mapped into IPv6; in network order.
std::optional<in_addr> as_v4(const sockaddr_storage& address) {
    if (address.ss_family == AF_INET) {
        sockaddr_in v4{};
        std::memcpy(&v4, &address, sizeof v4);
        return v4.sin_addr;
    }
    sockaddr_in6 v6{};
    std::memcpy(&v6, &address, sizeof v6);
    if (address.ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
        in_addr inner{};
        std::memcpy(&inner, v6.sin6_addr.s6_addr + 12, sizeof inner);
        return inner;
    }
    return std::nullopt;
}

Error no_address(std::string_view text) {
    return {.code = ErrorCode::bad_request,
            .message = fmt::format("\"{}\" is no address: write 127.0.0.1:8080 or [::1]:8080, "
                                   "port 0 to 65535",
                                   text)};
}

}  // namespace

Result<bool> Listener::check(std::string_view text) {
    const std::optional<HostAndPort> parts = split(text);
    if (!parts || !resolve(*parts)) {
        return no_address(text);
    }
    return true;
}

Result<std::shared_ptr<Listener>> Listener::open(std::string_view text) {
    const std::optional<HostAndPort> parts = split(text);
    std::optional<SocketAddress> address = parts ? resolve(*parts) : std::nullopt;
    if (!address) {
        return no_address(text);
    }
    const int fd = open_listening(*address);
    if (fd < 0) {
        return Error{.code = ErrorCode::unavailable,
                     .message = fmt::format("cannot listen on {}: {}", text, std::strerror(errno))};
    }
    const std::uint16_t port = to_remote_address(address->storage).port;
    std::string shown =
        fmt::format("{}:{}", parts->v6 ? fmt::format("[{}]", parts->host) : parts->host, port);
    return std::shared_ptr<Listener>(new Listener(fd, port, std::move(shown)));
}

Listener::~Listener() {
    ::close(fd_);
}

RemoteAddress to_remote_address(const sockaddr_storage& address) {
    RemoteAddress remote;
    char text[INET6_ADDRSTRLEN] = {};
    if (const std::optional<in_addr> v4 = as_v4(address)) {
        ::inet_ntop(AF_INET, &*v4, text, sizeof text);
        remote.is_loopback = (ntohl(v4->s_addr) >> 24) == 127;
    } else if (address.ss_family == AF_INET6) {
        sockaddr_in6 v6{};
        std::memcpy(&v6, &address, sizeof v6);
        ::inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
        remote.is_loopback = IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
    }
    // The port is at the same place in both families.
    sockaddr_in any{};
    std::memcpy(&any, &address, sizeof any);
    remote.text = text;
    remote.port = ntohs(any.sin_port);
    remote.key = to_address_key(address);
    return remote;
}

RemoteAddress peer_address(int fd) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
        return {};
    }
    return to_remote_address(address);
}

AddressKey to_address_key(const sockaddr_storage& address) {
    AddressKey key;
    if (const std::optional<in_addr> v4 = as_v4(address)) {
        key.bytes[10] = key.bytes[11] = 0xFF;
        std::memcpy(key.bytes.data() + 12, &*v4, sizeof *v4);
    } else if (address.ss_family == AF_INET6) {
        sockaddr_in6 v6{};
        std::memcpy(&v6, &address, sizeof v6);
        std::memcpy(key.bytes.data(), v6.sin6_addr.s6_addr, 8);
    }
    return key;
}

}  // namespace presence::net
