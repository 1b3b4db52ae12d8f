#include "fleet.h"

#include "failure.h"
#include "wire.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <thread>

namespace presence::bench {

namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

/// What a node sends by itself; all other names in the statistics are calls inside scripts or
/// those of the bench and of replicas.
constexpr std::array<std::string_view, 10> kSentByNodes{
    "evalsha", "eval",  "mget",          "ssubscribe", "sunsubscribe",
    "ping",    "hello", "cluster|slots", "auth",       "script|load"};
constexpr std::array<std::string_view, 17> kInScripts{
    "getrange", "exists", "set",  "get",    "del",  "lrem",    "rpush", "lrange", "pexpire",
    "spublish", "time",   "hget", "hsetnx", "hset", "hgetall", "hdel",  "publish"};
/// The only script that calls GET in steady state is that of probes, once each.
constexpr std::string_view kOncePerProbe = "get";

constexpr std::size_t kPeopleEach = 300;
/// So that 300 people's turns come round in over a second, within which changes are merged.
constexpr auto kChangeEvery = 5ms;
constexpr auto kQuiet = 1'200ms;

double since_us(SteadyClock::time_point start) {
    return std::chrono::duration<double, std::micro>(SteadyClock::now() - start).count();
}

/// People on one node, and one on another who watches them all.
class Pair {
public:
    Pair(std::uint16_t from, std::uint16_t to, const std::string& name)
        : people_(from, name + "p"), watcher_(to, name + "w") {
        people_.grow_to(kPeopleEach);
        watcher_.grow_to(1);
        watcher_.watch(0, people_.user_list(0, kPeopleEach));
        watcher_.on_message([this](std::size_t, std::string_view message) {
            heard_ = heard_ || message.find(awaited_) != std::string_view::npos;
        });
        people_.on_message([](std::size_t, std::string_view message) {
            if (message.find(R"("type":"error")") != std::string_view::npos) {
                fail("a status was refused: {}", message);
            }
        });
    }

    /// One of them changes; gives the microseconds until the watcher has heard of it.
    double change() {
        const std::size_t who = turn_ % kPeopleEach;
        const bool away = (turn_++ / kPeopleEach) % 2 == 0;
        awaited_ = fmt::format(R"("{}","status":"{}")", people_.user(who), away ? "away" : "busy");
        heard_ = false;
        const auto start = SteadyClock::now();
        people_.send_text(who, fmt::format(R"({{"type":"status","scope":"session","status":"{}"}})",
                                           away ? "away" : "busy"));
        watcher_.poll_until([this] { return heard_; }, "a change");
        const double took = since_us(start);
        people_.poll(0ms);
        return took;
    }

private:
    LoadClient people_;
    LoadClient watcher_;
    std::string awaited_;
    bool heard_ = false;
    std::size_t turn_ = 0;
};

/// Two bare connections to one master, which publish and hear on a sharded channel.
class Ping {
public:
    explicit Ping(std::uint16_t master) : publisher_(master), subscriber_(master) {
        for (std::size_t at = 0; !subscriber_.accepts({"SSUBSCRIBE", channel_}); ++at) {
            channel_ = fmt::format("ping{}", at);  // Until its slot is one of this master's.
        }
    }

    double send() {
        const auto start = SteadyClock::now();
        publisher_.append({"SPUBLISH", channel_, payload_});
        publisher_.flush();
        static_cast<void>(subscriber_.receive());
        const double took = since_us(start);
        static_cast<void>(publisher_.receive());
        return took;
    }

private:
    RedisLink publisher_;
    RedisLink subscriber_;
    std::string channel_ = "ping";
    std::string payload_ = std::string(100, 'x');  // About what an event has.
};

}  // namespace

Fleet::Fleet(const Options& options, RedisTarget redis, std::size_t nodes)
    : redis_(std::move(redis)) {
    for (std::size_t at = 0; at < nodes; ++at) {
        nodes_.push_back(Target::node(options, redis_.url()));
        people_.push_back(
            std::make_unique<LoadClient>(nodes_.back().port(), fmt::format("n{}u", at)));
    }
}

void Fleet::grow_to(std::size_t count) {
    for (std::size_t at = 0; at < people_.size(); ++at) {
        people_[at]->grow_to(count * (at + 1) / people_.size() - count * at / people_.size());
    }
}

std::size_t Fleet::beat(double per_second, std::chrono::milliseconds duration) {
    const std::string frame = client_frame(Opcode::pong, {});
    const auto start = SteadyClock::now();
    std::size_t sent = 0;
    while (SteadyClock::now() - start < duration) {
        const double due = since_us(start) * per_second / 1e6;
        for (; static_cast<double>(sent) < due; ++sent, ++next_) {
            LoadClient& clients = *people_[next_ % people_.size()];
            clients.send(next_ / people_.size() % clients.size(), frame);
        }
        for (const auto& clients : people_) {
            clients->poll(0ms);
        }
        std::this_thread::sleep_for(1ms);
    }
    return sent;
}

std::vector<std::string> Fleet::users() const {
    std::vector<std::string> users;
    for (const auto& clients : people_) {
        for (std::size_t at = 0; at < clients->size(); ++at) {
            users.push_back(clients->user(at));
        }
    }
    return users;
}

void Fleet::end_nodes() {
    people_.clear();
    nodes_.clear();
}

StoreUse store_use(const std::map<std::string, double>& before,
                   const std::map<std::string, double>& after) {
    StoreUse use;
    for (const auto& [name, calls] : after) {
        const auto found = before.find(name);
        const double grown = calls - (found == before.end() ? 0 : found->second);
        if (std::ranges::find(kSentByNodes, name) != kSentByNodes.end()) {
            use.commands += grown;
        } else if (std::ranges::find(kInScripts, name) != kInScripts.end()) {
            use.inner += grown;
        }
        use.probes += name == kOncePerProbe ? grown : 0;
    }
    use.commands -= use.probes;
    return use;
}

Delays measure_delays(Fleet& fleet, std::chrono::milliseconds duration) {
    std::vector<std::unique_ptr<Pair>> pairs;
    for (std::size_t at = 0; at < fleet.size(); ++at) {
        pairs.push_back(std::make_unique<Pair>(fleet.port(at), fleet.port((at + 1) % fleet.size()),
                                               fmt::format("n{}", at)));
    }
    std::vector<std::unique_ptr<Ping>> pings;
    for (const std::uint16_t master : fleet.redis().masters()) {
        pings.push_back(std::make_unique<Ping>(master));
    }
    // Whoever has just come is still inside the window in which changes are merged.
    std::this_thread::sleep_for(kQuiet);
    Delays delays;
    auto next = SteadyClock::now();
    const auto end = next + duration;
    for (std::size_t turn = 0; next < end; ++turn) {
        delays.changes.push_back(pairs[turn % pairs.size()]->change());
        delays.pings.push_back(pings[turn % pings.size()]->send());
        next = std::max(next + kChangeEvery, SteadyClock::now());
        std::this_thread::sleep_until(next);
    }
    return delays;
}

}  // namespace presence::bench
