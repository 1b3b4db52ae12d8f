#include "presence/stores/redis/resolver.h"

#include <cstring>
#include <memory>
#include <netdb.h>
#include <utility>

namespace presence::redis {

namespace {

Result<std::vector<SocketAddress>> look_up(const std::string& host, std::uint16_t port, int flags) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags | AI_NUMERICSERV;
    addrinfo* raw = nullptr;
    const int failed = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &raw);
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> found(raw, &::freeaddrinfo);
    if (failed != 0) {
        return Error{ErrorCode::unavailable, ::gai_strerror(failed), 0, 0};
    }
    std::vector<SocketAddress> addresses;
    for (const addrinfo* each = found.get(); each != nullptr; each = each->ai_next) {
        SocketAddress& address = addresses.emplace_back();
        std::memcpy(&address.storage, each->ai_addr, each->ai_addrlen);
        address.size = each->ai_addrlen;
    }
    return addresses;
}

}  // namespace

Resolver::~Resolver() {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable()) {
        thread_.join();
    }
}

void Resolver::resolve(const std::string& host, std::uint16_t port, Done done) {
    Result<std::vector<SocketAddress>> address = look_up(host, port, AI_NUMERICHOST);
    if (address) {
        done(std::move(address));
        return;
    }
    {
        const std::lock_guard lock(mutex_);
        asked_.push_back({host, port, std::move(done)});
    }
    changed_.notify_one();
    if (!thread_.joinable()) {
        thread_ = std::thread([this] { run(); });
    }
}

void Resolver::run() {
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [this] { return ending_ || !asked_.empty(); });
        if (ending_) {
            return;
        }
        Asked next = std::move(asked_.front());
        asked_.pop_front();
        lock.unlock();
        Result<std::vector<SocketAddress>> found = look_up(next.host, next.port, AI_ADDRCONFIG);
        home_.post([done = std::move(next.done), found = std::move(found)]() mutable {
            done(std::move(found));
        });
        lock.lock();
    }
}

}  // namespace presence::redis
