#include "redis_target.h"

#include "failure.h"

#include <arpa/inet.h>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <functional>
#include <netinet/in.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace presence::bench {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMasters = 3;
/// The bus of a cluster listens 10,000 above.
constexpr std::uint16_t kHighestPort = 55'000;

std::uint16_t free_port() {
    while (true) {
        const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        auto* const generic = reinterpret_cast<sockaddr*>(&address);
        const bool bound =
            ::bind(socket, generic, size) == 0 && ::getsockname(socket, generic, &size) == 0;
        ::close(socket);
        if (!bound) {
            fail_system("bind");
        }
        if (const std::uint16_t port = ntohs(address.sin_port); port < kHighestPort) {
            return port;
        }
    }
}

void wait_until(const std::function<bool()>& holds, std::string_view what) {
    const auto give_up = std::chrono::steady_clock::now() + 30s;
    while (!holds()) {
        if (std::chrono::steady_clock::now() > give_up) {
            fail("waited 30 s in vain for {}", what);
        }
        std::this_thread::sleep_for(20ms);
    }
}

/// The number behind `name` in an answer of INFO; 0: it is not there.
double number_in(const std::string& info, std::string_view name) {
    const std::size_t at = info.find(fmt::format("\n{}:", name));
    double value = 0;
    if (at != std::string::npos) {
        const char* const begin = info.data() + at + name.size() + 2;
        std::from_chars(begin, info.data() + info.size(), value);
    }
    return value;
}

}  // namespace

RedisTarget::RedisTarget(std::size_t servers) : folder_(std::make_unique<TemporaryFolder>()) {
    for (std::size_t at = 0; at < servers; ++at) {
        const std::uint16_t port = free_port();
        const std::string folder = fmt::format("{}/{}", folder_->path(), port);
        std::filesystem::create_directory(folder);
        std::vector<std::string> arguments{"/usr/bin/env", "redis-server",        //
                                           "--port",       std::to_string(port),  //
                                           "--bind",       "127.0.0.1",           //
                                           "--dir",        folder,                //
                                           "--logfile",    folder + "/log",       //
                                           "--save",       "",                    //
                                           "--appendonly", "no"};
        if (servers > 1) {
            arguments.insert(arguments.end(), {"--cluster-enabled", "yes"});
        }
        children_.push_back(
            std::make_unique<ChildProcess>(arguments, kAnyCore, folder + "/errors"));
        servers_.push_back(port);
        wait_until([port] { return RedisLink::answers(port); }, "redis-server");
    }
    masters_ = servers_;
}

RedisTarget RedisTarget::single() {
    return RedisTarget(1);
}

RedisTarget RedisTarget::cluster() {
    RedisTarget target(2 * kMasters);
    target.masters_.resize(kMasters);
    target.join_servers();
    return target;
}

void RedisTarget::join_servers() {
    constexpr std::size_t kSlots = 16'384;
    for (std::size_t at = 0; at < servers_.size(); ++at) {
        RedisLink link(servers_[at]);
        link.run({"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(at + 1)});
        if (at < kMasters) {
            link.run({"CLUSTER", "ADDSLOTSRANGE", std::to_string(at * kSlots / kMasters),
                      std::to_string((at + 1) * kSlots / kMasters - 1)});
        }
        link.run({"CLUSTER", "MEET", "127.0.0.1", std::to_string(servers_.front())});
    }
    const auto all_say = [this](const std::string& what) {
        for (const std::uint16_t port : servers_) {
            if (RedisLink(port).run({"CLUSTER", "INFO"}).find(what) == std::string::npos) {
                return false;
            }
        }
        return true;
    };
    wait_until([&] { return all_say("cluster_known_nodes:6"); }, "the servers to meet");
    for (std::size_t at = kMasters; at < servers_.size(); ++at) {
        const std::string master = RedisLink(masters_[at - kMasters]).run({"CLUSTER", "MYID"});
        wait_until(
            [&] {
                return RedisLink(servers_[at]).accepts({"CLUSTER", "REPLICATE", master});
            },
            "a replica");
    }
    wait_until(
        [&] {
            for (std::size_t at = kMasters; at < servers_.size(); ++at) {
                const std::string info = RedisLink(servers_[at]).run({"INFO", "replication"});
                if (info.find("master_link_status:up") == std::string::npos) {
                    return false;
                }
            }
            return all_say("cluster_state:ok");
        },
        "the cluster");
}

std::string RedisTarget::url() const {
    if (!is_cluster()) {
        return fmt::format("redis://127.0.0.1:{}", servers_.front());
    }
    std::string url = "redis-cluster://";
    for (const std::uint16_t port : masters_) {
        url += fmt::format("{}127.0.0.1:{}", port == masters_.front() ? "" : ",", port);
    }
    return url;
}

std::map<std::string, double> RedisTarget::command_calls() const {
    constexpr std::string_view kHead = "cmdstat_";
    constexpr std::string_view kCalls = ":calls=";
    std::map<std::string, double> calls;
    for (const std::uint16_t port : masters_) {
        const std::string info = RedisLink(port).run({"INFO", "commandstats"});
        for (std::size_t at = info.find(kHead); at != std::string::npos;
             at = info.find(kHead, at + 1)) {
            const std::size_t end = info.find(kCalls, at);
            const std::string name = info.substr(at + kHead.size(), end - at - kHead.size());
            double count = 0;
            std::from_chars(info.data() + end + kCalls.size(), info.data() + info.size(), count);
            calls[name] += count;
        }
    }
    return calls;
}

double RedisTarget::data_bytes() const {
    double bytes = 0;
    for (const std::uint16_t port : masters_) {
        const std::string info = RedisLink(port).run({"INFO", "memory"});
        bytes += number_in(info, "used_memory");
        for (const char* const buffers : {"mem_clients_normal", "mem_clients_slaves",
                                          "mem_cluster_links", "mem_total_replication_buffers"}) {
            bytes -= number_in(info, buffers);
        }
    }
    return bytes;
}

void RedisTarget::pause(bool stopped) const {
    for (const auto& child : children_) {
        ::kill(child->id(), stopped ? SIGSTOP : SIGCONT);
    }
}

void RedisTarget::write_pairs(const std::vector<std::string>& users) const {
    std::vector<std::unique_ptr<RedisLink>> links;
    for (const std::uint16_t port : masters_) {
        links.push_back(std::make_unique<RedisLink>(port));
    }
    const auto home_of = [&](const std::string& key) -> RedisLink& {
        const int slot = is_cluster() ? std::stoi(links[0]->run({"CLUSTER", "KEYSLOT", key})) : 0;
        constexpr int kSlots = 16'384;
        std::size_t home = links.size() - 1;
        while (slot < static_cast<int>(home * kSlots / links.size())) {
            --home;
        }
        return *links[home];
    };
    RedisLink& beats = home_of("presence:beats");
    for (std::size_t at = 0; at < users.size(); ++at) {
        const std::string key = "presence:" + users[at];
        home_of(key).run({"SET", key, "gw-7", "EX", "86400"});
        beats.run(
            {"ZADD", "presence:beats", fmt::format("17640000{:02}.{:06}", at % 30, at), users[at]});
    }
}

void RedisTarget::empty() const {
    for (const std::uint16_t port : masters_) {
        RedisLink(port).run({"FLUSHALL", "SYNC"});
    }
}

}  // namespace presence::bench
