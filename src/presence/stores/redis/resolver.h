#pragma once

#include "presence/base/result.h"
#include "presence/base/scheduler.h"
#include "presence/base/unique_function.h"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <vector>

namespace presence::redis {

/// Where a socket can be connected to.
struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t size = 0;
};

/// Looks up names, which may block for long, on a thread of its own, which begins with the first
/// name that is no address. Answers on `home`.
class Resolver {
public:
    using Done = UniqueFunction<void(Result<std::vector<SocketAddress>>)>;

    explicit Resolver(Scheduler& home) : home_(home) {}
    ~Resolver();  ///< Waits for the look-up under way; the others are forgotten.
    Resolver(const Resolver&) = delete;
    Resolver& operator=(const Resolver&) = delete;

    /// Home's thread. An address is answered at once.
    /// @retval ErrorCode::unavailable  The system cannot say.
    void resolve(const std::string& host, std::uint16_t port, Done done);

private:
    struct Asked {
        std::string host;
        std::uint16_t port = 0;
        Done done;
    };
    void run();

    Scheduler& home_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Asked> asked_;
    bool ending_ = false;
    std::thread thread_;
};

}  // namespace presence::redis
