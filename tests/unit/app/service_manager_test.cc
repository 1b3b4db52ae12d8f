// What systemd is told, by a socket of our own in its place.

#include "presence/app/service_manager.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace presence::app {
namespace {

class ServiceManagerTest : public ::testing::Test {
protected:
    void SetUp() override {
        path_ = "@presenced-test-" + std::to_string(::getpid());
        fd_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::memcpy(address.sun_path + 1, path_.data() + 1, path_.size() - 1);
        const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path_.size());
        ASSERT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&address), size), 0);
        ::setenv("NOTIFY_SOCKET", path_.c_str(), 1);
    }
    void TearDown() override {
        for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) {
            ::unsetenv(name);
        }
        ::close(fd_);
    }
    /// The next message; empty if there is none.
    [[nodiscard]] std::string told() const {
        std::array<char, 512> bytes{};
        const ssize_t got = ::recv(fd_, bytes.data(), bytes.size(), 0);
        return got < 0 ? "" : std::string(bytes.data(), static_cast<std::size_t>(got));
    }

private:
    std::string path_;
    int fd_ = -1;
};

TEST_F(ServiceManagerTest, IsToldEachStep) {
    const ServiceManager manager;
    manager.ready("127.0.0.1:8080");
    EXPECT_EQ(told(), "READY=1\nSTATUS=serving on 127.0.0.1:8080");
    manager.reloading();
    EXPECT_EQ(told(), "RELOADING=1");
    manager.alive();
    EXPECT_EQ(told(), "WATCHDOG=1");
    manager.stopping(Millis{30'000});
    EXPECT_EQ(told(),
              "STOPPING=1\nSTATUS=sending clients elsewhere\nEXTEND_TIMEOUT_USEC=30000000\n"
              "WATCHDOG_USEC=30000000");
}

TEST_F(ServiceManagerTest, TheWatchdogIsToldThreeTimesAsOftenAsItAsks) {
    EXPECT_FALSE(ServiceManager().alive_every());
    ::setenv("WATCHDOG_USEC", "30000000", 1);
    EXPECT_EQ(ServiceManager().alive_every(), Millis{10'000});
    ::setenv("WATCHDOG_PID", std::to_string(::getpid()).c_str(), 1);
    EXPECT_EQ(ServiceManager().alive_every(), Millis{10'000});
    ::setenv("WATCHDOG_PID", "1", 1);  // It is meant for another process.
    EXPECT_FALSE(ServiceManager().alive_every());
    ::unsetenv("WATCHDOG_PID");
    ::setenv("WATCHDOG_USEC", "soon", 1);
    EXPECT_FALSE(ServiceManager().alive_every());
}

TEST_F(ServiceManagerTest, WhereNobodyAsksNobodyIsTold) {
    ::unsetenv("NOTIFY_SOCKET");
    ServiceManager().ready("x");
    ::setenv("NOTIFY_SOCKET", "relative", 1);
    ServiceManager().ready("x");
    ::setenv("NOTIFY_SOCKET", ("/" + std::string(500, 'x')).c_str(), 1);
    ServiceManager().ready("x");
    EXPECT_EQ(told(), "");
}

}  // namespace
}  // namespace presence::app
