#include "contract/redis/redis_server.h"

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <array>
#include <chrono>
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <netinet/in.h>
#include <sstream>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace presence::testing {

namespace {

using namespace std::chrono_literals;

/// A port whose neighbour 10,000 above, the cluster bus, is free too.
std::uint16_t free_port() {
    constexpr std::uint16_t kMost = 55'000;
    constexpr std::uint16_t kBus = 10'000;
    const auto bind_to = [](std::uint16_t wanted) -> std::uint16_t {
        const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(wanted);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        std::uint16_t port = 0;
        if (::bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
            ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0) {
            port = ntohs(address.sin_port);
        }
        ::close(fd);
        return port;
    };
    while (true) {
        const std::uint16_t port = bind_to(0);
        if (port < kMost && bind_to(static_cast<std::uint16_t>(port + kBus)) != 0) {
            return port;
        }
    }
}

void flatten(const redisReply* reply, std::string& into) {
    if (reply->type == REDIS_REPLY_ARRAY) {
        for (std::size_t i = 0; i < reply->elements; ++i) {
            flatten(reply->element[i], into);
        }
        return;
    }
    into += into.empty() ? "" : "\n";
    if (reply->type == REDIS_REPLY_INTEGER) {
        into += std::to_string(reply->integer);
    } else if (reply->str != nullptr) {
        into.append(reply->str, static_cast<std::size_t>(reply->len));
    }
}

using RawReply =
    std::unique_ptr<redisReply, decltype([](redisReply* reply) { freeReplyObject(reply); })>;

/// Null: not connected, or no answer in time.
RawReply raw_ask(std::uint16_t port, const std::vector<std::string>& arguments) {
    const timeval patience{5, 0};
    std::unique_ptr<redisContext, decltype(&redisFree)> context(
        redisConnectWithTimeout("127.0.0.1", port, patience), redisFree);
    if (!context || context->err != 0) {
        return nullptr;
    }
    redisSetTimeout(context.get(), patience);
    std::vector<const char*> texts;
    std::vector<std::size_t> sizes;
    for (const std::string& argument : arguments) {
        texts.push_back(argument.data());
        sizes.push_back(argument.size());
    }
    return RawReply(static_cast<redisReply*>(redisCommandArgv(
        context.get(), static_cast<int>(texts.size()), texts.data(), sizes.data())));
}

constexpr const char* kNoAnswer = "ERR no answer";

std::string ask(std::uint16_t port, const std::vector<std::string>& arguments) {
    const RawReply reply = raw_ask(port, arguments);
    if (!reply) {
        return kNoAnswer;
    }
    std::string answer;
    flatten(reply.get(), answer);
    return reply->type == REDIS_REPLY_ERROR ? "ERR " + answer : answer;
}

template <class Predicate>
bool wait_until(Predicate holds, std::chrono::milliseconds most) {
    const auto end = std::chrono::steady_clock::now() + most;
    while (!holds()) {
        if (std::chrono::steady_clock::now() > end) {
            return false;
        }
        std::this_thread::sleep_for(10ms);
    }
    return true;
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
        lines.push_back(line);
    }
    return lines;
}

}  // namespace

RedisServer::RedisServer(std::vector<std::string> more_arguments)
    : more_(std::move(more_arguments)), port_(free_port()) {
    std::string name = (std::filesystem::temp_directory_path() / "presenced-redis-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    start();
}

RedisServer::~RedisServer() {
    stop();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

redis::RedisConfig RedisServer::config() const {
    redis::RedisConfig config;
    config.endpoints = {endpoint()};
    return config;
}

void RedisServer::start() {
    std::vector<std::string> arguments{"redis-server",
                                       "--port",
                                       std::to_string(port_),
                                       "--bind",
                                       "127.0.0.1",
                                       "--dir",
                                       folder_.string(),
                                       "--save",
                                       "",
                                       "--appendonly",
                                       "no",
                                       "--daemonize",
                                       "no",
                                       "--logfile",
                                       (folder_ / "log").string()};
    arguments.insert(arguments.end(), more_.begin(), more_.end());
    std::vector<char*> raw;
    for (std::string& argument : arguments) {
        raw.push_back(argument.data());
    }
    raw.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
        ::setpgid(0, 0);
        ::execvp(raw[0], raw.data());
        ::_exit(127);
    }
    EXPECT_TRUE(wait_until([&] { return ask(port_, {"PING"}) != kNoAnswer; }, 10s))
        << "redis-server did not start on port " << port_;
}

void RedisServer::stop() {
    if (pid_ <= 0) {
        return;
    }
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
}

void RedisServer::signal(int number) const {
    ::kill(pid_, number);
}

std::string RedisServer::command(const std::vector<std::string>& arguments) const {
    std::string answer = ask(port_, arguments);
    EXPECT_FALSE(answer.starts_with("ERR ")) << arguments.front() << ": " << answer;
    return answer;
}

RedisCluster::RedisCluster() {
    constexpr std::size_t kServers = 6;
    for (std::size_t i = 0; i < kServers; ++i) {
        servers_.push_back(std::make_unique<RedisServer>(
            std::vector<std::string>{"--cluster-enabled", "yes", "--cluster-node-timeout", "1500",
                                     "--cluster-replica-validity-factor", "0"}));
    }
    std::string create = "redis-cli --cluster create";
    for (const auto& server : servers_) {
        create += " 127.0.0.1:" + std::to_string(server->port());
    }
    create += " --cluster-replicas 1 --cluster-yes > /dev/null 2>&1";
    EXPECT_EQ(std::system(create.c_str()), 0);
    for (const auto& server : servers_) {
        EXPECT_TRUE(wait_until(
            [&] {
                const std::string info = ask(server->port(), {"CLUSTER", "INFO"});
                return info.find("cluster_state:ok") != std::string::npos &&
                       info.find("cluster_known_nodes:6") != std::string::npos;
            },
            20s));
    }
    EXPECT_TRUE(wait_until([&] { return masters().size() == 3; }, 10s));
}

redis::RedisConfig RedisCluster::config() const {
    redis::RedisConfig config;
    config.cluster = true;
    for (const auto& server : servers_) {
        config.endpoints.push_back(server->endpoint());
    }
    return config;
}

std::vector<std::size_t> RedisCluster::masters() const {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < servers_.size(); ++i) {
        if (servers_[i]->running() && ask(servers_[i]->port(), {"ROLE"}).starts_with("master")) {
            found.push_back(i);
        }
    }
    return found;
}

std::size_t RedisCluster::master_of(std::uint16_t slot) const {
    for (const std::size_t asked : masters()) {
        const RawReply ranges = raw_ask(servers_[asked]->port(), {"CLUSTER", "SLOTS"});
        for (std::size_t i = 0; ranges && i < ranges->elements; ++i) {
            redisReply** const range = ranges->element[i]->element;
            if (range[0]->integer > slot || range[1]->integer < slot) {
                continue;
            }
            for (std::size_t server = 0; server < servers_.size(); ++server) {
                if (servers_[server]->port() == range[2]->element[1]->integer) {
                    return server;
                }
            }
        }
    }
    ADD_FAILURE() << "nobody is the master of slot " << slot;
    return 0;
}

void RedisCluster::move_slot(std::uint16_t slot, std::size_t to) {
    const std::size_t from = master_of(slot);
    if (from == to) {
        return;
    }
    const std::string number = std::to_string(slot);
    const std::string from_id = servers_[from]->command({"CLUSTER", "MYID"});
    const std::string to_id = servers_[to]->command({"CLUSTER", "MYID"});
    servers_[to]->command({"CLUSTER", "SETSLOT", number, "IMPORTING", from_id});
    servers_[from]->command({"CLUSTER", "SETSLOT", number, "MIGRATING", to_id});
    while (true) {
        const std::vector<std::string> keys =
            lines_of(servers_[from]->command({"CLUSTER", "GETKEYSINSLOT", number, "10"}));
        if (keys.empty()) {
            break;
        }
        std::vector<std::string> migrate{
            "MIGRATE", "127.0.0.1", std::to_string(servers_[to]->port()), "", "0", "5000", "KEYS"};
        migrate.insert(migrate.end(), keys.begin(), keys.end());
        servers_[from]->command(migrate);
    }
    servers_[to]->command({"CLUSTER", "SETSLOT", number, "NODE", to_id});
    servers_[from]->command({"CLUSTER", "SETSLOT", number, "NODE", to_id});
    for (const std::size_t master : masters()) {
        servers_[master]->command({"CLUSTER", "SETSLOT", number, "NODE", to_id});
    }
}

std::string RedisCluster::command(std::uint16_t slot,
                                  const std::vector<std::string>& arguments) const {
    return servers_[master_of(slot)]->command(arguments);
}

bool age_all_keys(const RedisServer& server, std::int64_t by_ms) {
    const std::string aged =
        server.command({"EVAL",
                        "local forever = 0 "
                        "for _, key in ipairs(redis.call('KEYS', '*')) do "
                        "  local left = redis.call('PTTL', key) "
                        "  if left < 0 then forever = forever + 1 "
                        "  else redis.call('PEXPIRE', key, math.max(left - ARGV[1], 0)) end "
                        "end return forever",
                        "0", std::to_string(by_ms)});
    return aged == "0";
}

std::vector<std::string> keys_without_ttl(const RedisServer& server) {
    std::vector<std::string> found;
    for (const std::string& key : lines_of(server.command({"KEYS", "*"}))) {
        if (server.command({"PTTL", key}) == "-1") {
            found.push_back(key);
        }
    }
    return found;
}

}  // namespace presence::testing
