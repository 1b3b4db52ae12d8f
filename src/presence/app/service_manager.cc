#include "presence/app/service_manager.h"

#include "presence/base/log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace presence::app {

namespace {

constexpr std::int64_t kMicrosInMilli = 1000;

std::string_view variable(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? std::string_view() : std::string_view(value);
}

/// 0 for what is no number.
std::int64_t number(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size() ? value : 0;
}

}  // namespace

ServiceManager::ServiceManager() : path_(variable("NOTIFY_SOCKET")) {
    if (path_.empty()) {
        return;
    }
    if ((path_.front() != '/' && path_.front() != '@') ||
        path_.size() >= sizeof(sockaddr_un::sun_path)) {
        log::warning("no_service_manager", "NOTIFY_SOCKET names no socket: {}",
                     log::quoted(path_, 80));
        return;
    }
    fd_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const std::int64_t micros = number(variable("WATCHDOG_USEC"));
    const std::string_view pid = variable("WATCHDOG_PID");
    if (micros > 0 && (pid.empty() || number(pid) == ::getpid())) {
        constexpr std::int64_t kTimes = 3;
        alive_every_ = Millis{std::max<std::int64_t>(micros / kMicrosInMilli / kTimes, 1)};
    }
}

ServiceManager::~ServiceManager() {
    if (fd_ >= 0) {
        ::close(fd_);
    }
}

void ServiceManager::ready(std::string_view address) const {
    tell(fmt::format("READY=1\nSTATUS=serving on {}", address));
}

void ServiceManager::reloading() const {
    tell("RELOADING=1");
}

void ServiceManager::stopping(Millis most) const {
    const std::int64_t micros = most.count() * kMicrosInMilli;
    tell(
        fmt::format("STOPPING=1\nSTATUS=sending clients elsewhere\nEXTEND_TIMEOUT_USEC={}\n"
                    "WATCHDOG_USEC={}",
                    micros, micros));
}

void ServiceManager::alive() const {
    tell("WATCHDOG=1");
}

void ServiceManager::tell(const std::string& message) const {
    if (fd_ < 0) {
        return;
    }
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path_.data(), path_.size());
    if (path_.front() == '@') {
        address.sun_path[0] = '\0';  // A name without a file.
    }
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path_.size());
    if (::sendto(fd_, message.data(), message.size(), MSG_NOSIGNAL,
                 reinterpret_cast<const sockaddr*>(&address), size) < 0) {
        log::warning("service_manager", "the service manager cannot be told: {}",
                     std::strerror(errno));
    }
}

}  // namespace presence::app
