#include "failure.h"
#include "gauges.h"
#include "load_client.h"
#include "redis_target.h"
#include "scenarios.h"
#include "targets.h"
#include "wire.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <memory>
#include <optional>
#include <random>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace presence::bench {

namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

constexpr auto kStep = 50ms;
/// Each connection beats once in that long.
constexpr auto kBeatEvery = 20s;
constexpr std::size_t kRooms = 300;
constexpr std::size_t kWatchesEach = 30;
/// How often in a step of 10,000 people, that many of each.
constexpr std::size_t kStatuses = 4;
constexpr std::size_t kMoves = 2;
/// A fault each time that long is over; it lasts the other.
constexpr auto kFaultEvery = 60s;
constexpr auto kFaultLasts = 3s;
/// By then graces are over and all that was owed is written.
constexpr auto kCalm = 30s;

/// What must be nothing when nobody is there.
constexpr auto kGauges = std::to_array<std::string_view>({
    "presenced_users",
    "presenced_sessions",
    "presenced_connections",
    "presenced_watches",
    "presenced_watched_users",
    "presenced_rooms",
    "presenced_room_replicas",
    "presenced_queue_entries",
});

/// People on some nodes, who do all that people do.
class Town {
public:
    Town(const Options& options, std::size_t nodes, std::size_t people) {
        if (nodes > 1) {
            redis_.emplace(RedisTarget::single());
        }
        for (std::size_t at = 0; at < nodes; ++at) {
            nodes_.push_back(nodes > 1 ? Target::node(options, redis_->url())
                                       : Target::presenced(options));
            files_before_ += static_cast<double>(open_files(nodes_.back().process()));
        }
        for (std::size_t at = 0; at < nodes; ++at) {
            people_.push_back(
                std::make_unique<LoadClient>(nodes_[at].port(), fmt::format("n{}u", at)));
            listen(at);
            people_[at]->grow_to(people / nodes);
        }
    }

    void live(std::chrono::milliseconds duration) {
        const auto start = SteadyClock::now();
        auto next_fault = start + kFaultEvery / 2;
        for (auto now = start; now < start + duration; now = SteadyClock::now()) {
            step();
            if (now > next_fault) {
                next_fault = now + kFaultEvery;
                fault();
            }
            if (!warm_ && now > start + duration / 3) {
                warm_ = memory();
            }
            poll_for(kStep);
        }
        memory_after_ = memory();
        if (!errors_.empty()) {
            fail("{} errors that should not be, the first: {}", errors_.size(), errors_.front());
        }
    }

    /// Everybody says goodbye.
    void end() {
        for (const auto& clients : people_) {
            for (std::size_t at = 0; at < clients->size(); ++at) {
                if (!clients->is_signed_in(at)) {
                    continue;
                }
                clients->send_text(at, R"({"type":"bye"})");
                clients->fall_silent(at);
                if (at % 256 == 0) {
                    clients->poll(1ms);
                }
            }
        }
        const auto give_up = SteadyClock::now() + kCalm;
        while (!left().empty() && SteadyClock::now() < give_up) {
            poll_for(500ms);
        }
        people_.clear();
        if (const std::string what = left(); !what.empty()) {
            fail("everybody has gone, and there is left:{}", what);
        }
    }

    [[nodiscard]] double files_left() const {
        double files = -files_before_;
        for (const Target& node : nodes_) {
            files += static_cast<double>(open_files(node.process()));
        }
        return files;
    }
    /// Of all nodes together, from the first third of the time to its end.
    [[nodiscard]] double memory_growth() const { return memory_after_ - warm_.value_or(0); }
    [[nodiscard]] double memory_at_end() const { return memory_after_; }
    [[nodiscard]] double done() const { return static_cast<double>(done_); }

private:
    /// Of one connection. Everybody is in one room at a time, so that what there is to hold does
    /// not grow and memory tells of what is lost.
    struct Life {
        std::string resume;
        std::optional<std::size_t> room;
    };

    /// What should be nothing when nobody is there, and is not.
    [[nodiscard]] std::string left() const {
        std::string left;
        for (const Target& node : nodes_) {
            const std::map<std::string, double> metrics = scrape(node.port());
            for (const auto& [series, value] : metrics) {
                const std::string_view name = std::string_view(series).substr(0, series.find('{'));
                if (value > 0 && std::ranges::find(kGauges, name) != kGauges.end()) {
                    left += fmt::format(" {} {}", series, value);
                }
            }
        }
        return left;
    }

    void listen(std::size_t node) {
        LoadClient& clients = *people_[node];
        lives_.emplace_back();
        clients.on_welcome([this, node](std::size_t at, std::string_view welcome) {
            std::vector<Life>& lives = lives_[node];
            lives.resize(std::max(lives.size(), at + 1));
            lives[at].resume = text_of(welcome, "resume");
            settle_in(node, at);
        });
        clients.on_refused([this, node](std::size_t at, std::string_view answer) {
            if (answer.find(R"("code":"unavailable")") == std::string_view::npos) {
                fail("a hello was refused: {}", answer);
            }
            people_[node]->fall_silent(at);  // The store stands still: tried again.
            refused_.emplace_back(node, at);
        });
        clients.set_hello_fields([this, node](std::size_t at) {
            return at < lives_[node].size() && !lives_[node][at].resume.empty()
                       ? fmt::format(R"(,"resume":"{}")", lives_[node][at].resume)
                       : std::string();
        });
        clients.on_message([this](std::size_t, std::string_view message) {
            if (message.find(R"("code":"internal")") != std::string_view::npos ||
                message.find(R"("code":"badRequest")") != std::string_view::npos) {
                errors_.emplace_back(message);
            }
        });
    }

    void settle_in(std::size_t node, std::size_t at) {
        enter(node, at, lives_[node][at].room.value_or(below(kRooms)));
        watch(*people_[node], at);
    }

    void enter(std::size_t node, std::size_t at, std::size_t room) {
        lives_[node][at].room = room;
        people_[node]->send_text(at, fmt::format(R"({{"type":"join","room":"r{}"}})", room));
    }

    void watch(LoadClient& clients, std::size_t at) {
        const std::size_t first = below(std::max<std::size_t>(clients.size(), kWatchesEach));
        clients.send_text(at, fmt::format(R"({{"type":"watch","mode":"set","users":[{}]}})",
                                          clients.user_list(first, kWatchesEach)));
    }

    /// Somebody who is signed in; empty: not found at once.
    std::optional<std::size_t> somebody(const LoadClient& clients) {
        const std::size_t at = below(clients.size());
        return clients.is_signed_in(at) ? std::optional(at) : std::nullopt;
    }

    void step() {
        for (const auto& [node, at] : std::exchange(refused_, {})) {
            people_[node]->reopen(at);
        }
        const std::string beat = client_frame(Opcode::pong, {});
        for (std::size_t node = 0; node < people_.size(); ++node) {
            LoadClient& clients = *people_[node];
            const std::size_t beats = clients.size() * kStep / kBeatEvery + 1;
            for (std::size_t one = 0; one < beats; ++one, ++turn_) {
                if (clients.is_signed_in(turn_ % clients.size())) {
                    clients.send(turn_ % clients.size(), beat);
                }
            }
            for (std::size_t one = 0; one < kStatuses; ++one) {
                speak(clients);
            }
            for (std::size_t one = 0; one < kMoves; ++one) {
                move(node);
            }
        }
    }

    void speak(LoadClient& clients) {
        const auto at = somebody(clients);
        if (!at) {
            return;
        }
        ++done_;
        static constexpr std::array kWords{
            R"({"type":"status","scope":"session","status":"away"})",
            R"({"type":"status","scope":"session","status":"busy"})",
            R"({"type":"status","status":"auto","customStatus":{"text":"at lunch"}})",
            R"({"type":"status","status":"invisible"})",
            R"({"type":"status","status":"auto","customStatus":null})",
            R"({"type":"activity","state":"idle"})",
            R"({"type":"activity","state":"active"})",
            R"({"type":"privacy","online":{"mode":"nobody"}})",
            R"({"type":"privacy","online":{"mode":"everyone"}})",
            R"({"type":"block","users":["troll"]})",
            R"({"type":"unblock","users":["troll"]})",
        };
        clients.send_text(*at, kWords[below(kWords.size())]);
        if (const auto other = somebody(clients)) {
            clients.send_text(*other, fmt::format(R"({{"type":"signal","to":{{"userId":"{}"}},)"
                                                  R"("kind":"typing","active":true}})",
                                                  clients.user(below(clients.size()))));
        }
    }

    /// From room to room, from list to list, and from connection to connection.
    void move(std::size_t node) {
        LoadClient& clients = *people_[node];
        const auto at = somebody(clients);
        if (!at) {
            return;
        }
        ++done_;
        switch (below(4)) {
            case 0:
                clients.send_text(*at, fmt::format(R"({{"type":"leave","room":"r{}"}})",
                                                   *lives_[node][*at].room));
                enter(node, *at, below(kRooms));
                break;
            case 1:
                watch(clients, *at);
                break;
            case 2:
                lives_[node][*at] = {};  // As a new session; the old one ends by its grace.
                [[fallthrough]];
            default:
                clients.reopen(*at);
        }
    }

    /// The store, or else a node, stands still for a while.
    void fault() {
        const bool of_store = redis_ && below(2) == 0;
        const pid_t node = nodes_[below(nodes_.size())].process();
        say_progress(of_store ? "the store stands still" : "a node stands still");
        of_store ? redis_->pause(true) : signal_to(node, SIGSTOP);
        poll_for(kFaultLasts);
        of_store ? redis_->pause(false) : signal_to(node, SIGCONT);
    }

    static void signal_to(pid_t process, int what) { ::kill(process, what); }

    void poll_for(std::chrono::milliseconds time) {
        const auto end = SteadyClock::now() + time;
        do {
            for (const auto& clients : people_) {
                clients->poll(1ms);
            }
        } while (SteadyClock::now() < end);
    }

    [[nodiscard]] double memory() const {
        double memory = 0;
        for (const Target& node : nodes_) {
            memory += process_memory(node.process()).resident;
        }
        return memory;
    }

    std::size_t below(std::size_t most) {
        return std::uniform_int_distribution<std::size_t>(0, most - 1)(random_);
    }

    std::optional<RedisTarget> redis_;
    std::vector<Target> nodes_;
    std::vector<std::unique_ptr<LoadClient>> people_;
    std::vector<std::vector<Life>> lives_;  ///< By node and connection.
    std::vector<std::string> errors_;
    std::vector<std::pair<std::size_t, std::size_t>> refused_;  ///< Node and connection.
    std::mt19937 random_{1};
    std::size_t turn_ = 0;
    std::size_t done_ = 0;
    double files_before_ = 0;
    std::optional<double> warm_;
    double memory_after_ = 0;
};

void soak(const Options& options, std::size_t nodes, Report& report) {
    Town town(options, nodes, options.connections.value_or(10'000));
    say_progress(fmt::format("{} nodes, everybody is there", nodes));
    town.live(options.phase);
    town.end();
    const std::string of = nodes == 1 ? "one_node_" : "three_nodes_";
    const auto add = [&](const char* name, const char* unit, double value,
                         std::optional<double> bar) {
        report.metrics.push_back({.name = of + name,
                                  .unit = unit,
                                  .values = {value},
                                  .bar_on = bar ? BarOn::value : BarOn::nothing,
                                  .bar = bar.value_or(0)});
    };
    add("things_done", "", town.done(), {});
    add("memory_at_end", "MB", town.memory_at_end() / 1e6, {});
    // What a heap that has found its size still moves.
    add("memory_growth_share", "", town.memory_growth() / town.memory_at_end(), 0.05);
    add("files_left", "", town.files_left(), 8);
}

}  // namespace

Report run_soak(const Options& options) {
    Report report{"soak",
                  fmt::format("{} connections, {} s on one node, then on three with one Redis; "
                              "every {} s the store or a node stands still for {} s",
                              options.connections.value_or(10'000), options.phase.count() / 1'000,
                              kFaultEvery.count(), kFaultLasts.count()),
                  {}};
    soak(options, 1, report);
    soak(options, 3, report);
    return report;
}

}  // namespace presence::bench
