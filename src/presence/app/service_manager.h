#pragma once

#include "presence/base/time.h"

#include <optional>
#include <string>
#include <string_view>

namespace presence::app {

/// Tells systemd how the process is, by datagrams to the socket of NOTIFY_SOCKET (sd_notify(3)).
/// Where nobody asked for it, all calls do nothing. Main thread.
class ServiceManager {
public:
    /// Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID.
    ServiceManager();
    ~ServiceManager();
    ServiceManager(const ServiceManager&) = delete;
    ServiceManager& operator=(const ServiceManager&) = delete;

    void ready(std::string_view address) const;
    void reloading() const;
    /// @param most  Time that the stop may take; the watchdog rests meanwhile.
    void stopping(Millis most) const;
    /// The process and all its threads live.
    void alive() const;

    /// How often `alive` is to be said: a third of what the watchdog allows. Nothing: there is
    /// none.
    [[nodiscard]] std::optional<Millis> alive_every() const noexcept { return alive_every_; }

private:
    void tell(const std::string& message) const;

    std::string path_;
    int fd_ = -1;
    std::optional<Millis> alive_every_;
};

}  // namespace presence::app
