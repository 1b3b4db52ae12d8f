#pragma once

#include "presence/stores/redis/config.h"

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

namespace presence::testing {

/// A real redis-server of the test's own: a free port of loopback, a folder that goes with it,
/// nothing kept on disk.
class RedisServer {
public:
    explicit RedisServer(std::vector<std::string> more_arguments = {});
    ~RedisServer();
    RedisServer(const RedisServer&) = delete;
    RedisServer& operator=(const RedisServer&) = delete;

    [[nodiscard]] std::uint16_t port() const { return port_; }
    [[nodiscard]] redis::Endpoint endpoint() const { return {"127.0.0.1", port_}; }
    [[nodiscard]] redis::RedisConfig config() const;

    void stop();                    ///< kill -9
    void start();                   ///< On the same port; empty.
    void signal(int number) const;  ///< SIGSTOP, SIGCONT.
    [[nodiscard]] bool running() const { return pid_ > 0; }

    /// Runs a command and gives its answer as text, one line a value. Fails the test on an error.
    std::string command(const std::vector<std::string>& arguments) const;

private:
    std::filesystem::path folder_;
    std::vector<std::string> more_;
    std::uint16_t port_;
    pid_t pid_ = 0;
};

/// Three masters with a replica each.
class RedisCluster {
public:
    RedisCluster();
    RedisCluster(const RedisCluster&) = delete;
    RedisCluster& operator=(const RedisCluster&) = delete;

    [[nodiscard]] redis::RedisConfig config() const;
    [[nodiscard]] RedisServer& server(std::size_t index) { return *servers_[index]; }
    [[nodiscard]] std::size_t size() const { return servers_.size(); }
    /// The server that is the master of a slot, as most of the running ones say.
    [[nodiscard]] std::size_t master_of(std::uint16_t slot) const;
    /// Moves a slot with its keys to another master, as `redis-cli --cluster reshard` does.
    void move_slot(std::uint16_t slot, std::size_t to);
    [[nodiscard]] std::vector<std::size_t> masters() const;
    /// Runs a command where the master of `slot` is.
    std::string command(std::uint16_t slot, const std::vector<std::string>& arguments) const;

private:
    std::vector<std::unique_ptr<RedisServer>> servers_;
};

/// Lets a server's time pass for all keys that have a TTL. True: every key had one.
bool age_all_keys(const RedisServer& server, std::int64_t by_ms);

/// Keys without a TTL; none is the only right answer.
std::vector<std::string> keys_without_ttl(const RedisServer& server);

}  // namespace presence::testing
