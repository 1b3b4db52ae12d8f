#pragma once

#include "presence/stores/redis/redis_bus.h"
#include "presence/stores/redis/redis_registry.h"
#include "presence/stores/redis/redis_sessions.h"

#include "contract/redis/redis_node.h"
#include "contract/redis/redis_server.h"
#include "support/loop_scheduler.h"
#include "support/run_task.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace presence::testing {

/// One server for all tests of the program. As a `Place` it has
///
///   static redis::RedisConfig config()              how to reach it
///   static std::vector<RedisServer*> masters()      those that hold its keys
///   static std::vector<RedisServer*> servers()      those, and their replicas
struct SingleRedis {
    static RedisServer& server() {
        static RedisServer server;
        return server;
    }
    static redis::RedisConfig config() { return server().config(); }
    static std::vector<RedisServer*> masters() { return {&server()}; }
    static std::vector<RedisServer*> servers() { return masters(); }
};

/// Likewise three masters with a replica each.
struct ClusterOfRedis {
    static RedisCluster& cluster() {
        static RedisCluster cluster;
        return cluster;
    }
    static redis::RedisConfig config() { return cluster().config(); }
    static std::vector<RedisServer*> masters() {
        std::vector<RedisServer*> found;
        for (const std::size_t index : cluster().masters()) {
            found.push_back(&cluster().server(index));
        }
        return found;
    }
    static std::vector<RedisServer*> servers() {
        std::vector<RedisServer*> all;
        for (std::size_t index = 0; index < cluster().size(); ++index) {
            all.push_back(&cluster().server(index));
        }
        return all;
    }
};

template <class Place>
void empty_all() {
    for (const RedisServer* const master : Place::masters()) {
        master->command({"FLUSHALL"});
    }
}

template <class Place>
void expect_a_ttl_everywhere() {
    for (const RedisServer* const master : Place::masters()) {
        EXPECT_TRUE(keys_without_ttl(*master).empty());
    }
}

template <class Place>
class RedisSessionsAdapter {
public:
    static constexpr Millis kSlack{2'000};  // The server's time goes on by itself.

    RedisSessionsAdapter() {
        empty_all<Place>();
        client_ = redis::Client::start(Place::config(), clock_).value();
        EXPECT_TRUE(client_->wait_for_first_contact(Millis{5'000}).value());
        for (std::unique_ptr<RedisSessionStore>& store : stores_) {
            store = std::make_unique<RedisSessionStore>(*client_, keys_, lives_, loop_);
        }
        bus_ =
            std::make_unique<RedisBus>(*client_, keys_, lives_, std::vector<Scheduler*>{&loop_}, 1);
        bus_->endpoint(0).set_receiver(&receiver_);
        EXPECT_TRUE(run(bus_->endpoint(0).subscribe({user_})));
    }
    ~RedisSessionsAdapter() {
        set_unavailable(false);
        client_->stop();
        bus_.reset();
        expect_a_ttl_everywhere<Place>();
    }
    RedisSessionsAdapter(const RedisSessionsAdapter&) = delete;
    RedisSessionsAdapter& operator=(const RedisSessionsAdapter&) = delete;

    SessionStore& store(int thread) { return *stores_.at(static_cast<std::size_t>(thread)); }
    template <class T>
    T run(Task<T> task) {
        return run_until_complete(loop_, std::move(task));
    }
    void pass(Millis time) {
        for (const RedisServer* const master : Place::masters()) {
            EXPECT_TRUE(age_all_keys(*master, time.count()));
        }
    }
    /// Those of the contract's user, in order: a mark is sent behind them, and waited for.
    std::vector<PresenceEventRef> events() {
        auto mark = std::make_shared<PresenceEvent>();
        mark->user = user_;
        bus_->endpoint(0).publish(mark);
        EXPECT_TRUE(loop_.run_until([this] { return receiver_.marked; }));
        return receiver_.events;
    }
    void set_unavailable(bool unavailable) {
        for (const RedisServer* const server : Place::servers()) {
            server->command({"ACL", "SETUSER", "default", unavailable ? "-@all" : "+@all", "+acl",
                             "+client", "+role"});
        }
    }

private:
    struct Receiver final : PresenceBus::Receiver {
        void on_presence(const PresenceEventRef& event) override {
            if (event->presence.own_version.value == 0) {
                marked = true;
            } else {
                events.push_back(event);
            }
        }
        void on_profile_changed(const UserId&, std::uint64_t) override {}
        void on_signal(const SignalRef&) override {}
        void on_session_taken(const SessionTaken&) override {}
        void on_room(const RoomStatementRef&) override {}
        void on_room_asked(const RoomId&) override {}
        void on_end_set(const EndSet&) override {}
        void on_session_stays(const SessionStays&) override {}
        void on_survey(const SurveyQuestionRef&) override {}
        void on_survey_answer(const SurveyAnswerRef&) override {}
        std::vector<PresenceEventRef> events;
        bool marked = false;
    };

    const UserId user_{"ada"};
    SystemClock clock_;
    LoopScheduler loop_;
    Receiver receiver_;
    redis::Keys keys_{"pd", 64};
    redis::Lives lives_{64};
    std::unique_ptr<redis::Client> client_;
    std::array<std::unique_ptr<RedisSessionStore>, 2> stores_;
    std::unique_ptr<RedisBus> bus_;
};

template <class Place>
class RedisRegistryAdapter {
public:
    RedisRegistryAdapter() {
        empty_all<Place>();
        EXPECT_TRUE(node_.until([&] { return node_.client->usable(); }));
        for (std::size_t i = 0; i < 2; ++i) {
            registries_[i] = std::make_unique<RedisRegistry>(
                *node_.client, node_.keys, node_.loop.scheduler(), *node_.bus, random_);
            stores_[i] = std::make_unique<RedisSessionStore>(*node_.client, node_.keys, node_.lives,
                                                             node_.loop.scheduler());
        }
    }
    ~RedisRegistryAdapter() { expect_a_ttl_everywhere<Place>(); }
    RedisRegistryAdapter(const RedisRegistryAdapter&) = delete;
    RedisRegistryAdapter& operator=(const RedisRegistryAdapter&) = delete;

    NodeRegistry& registry(int node) { return *registries_.at(static_cast<std::size_t>(node)); }
    SessionStore& store(int node) { return *stores_.at(static_cast<std::size_t>(node)); }
    template <class T>
    T run(Task<T> task) {
        return node_.run(std::move(task));
    }
    void pass(Millis time) { node_.pass(time); }  // The server's clock is nobody's to set.
    void lose_all() { empty_all<Place>(); }
    void know_life_of(const UserId& user) {
        const std::uint32_t partition = node_.keys.partition_of(user);
        EXPECT_TRUE(node_.until(
            [&] { return node_.lives.losses_at(partition, "none of its lives", 0) > 0; }));
    }

private:
    RedisNode node_{Place::config()};
    SystemRandom random_;
    std::array<std::unique_ptr<RedisRegistry>, 2> registries_;
    std::array<std::unique_ptr<RedisSessionStore>, 2> stores_;
};

/// Three threads of one node.
template <class Place>
class RedisBusAdapter {
public:
    static constexpr int kThreads = 3;

    RedisBusAdapter() {
        client_ = redis::Client::start(Place::config(), clock_).value();
        EXPECT_TRUE(client_->wait_for_first_contact(Millis{5'000}).value());
        bus_ = std::make_unique<RedisBus>(*client_, keys_, lives_,
                                          std::vector<Scheduler*>{&loop_, &loop_, &loop_}, 1);
        bus_->set_node(NodeId{7});
        settle();
    }
    ~RedisBusAdapter() {
        client_->stop();
        bus_.reset();
    }
    RedisBusAdapter(const RedisBusAdapter&) = delete;
    RedisBusAdapter& operator=(const RedisBusAdapter&) = delete;

    NodeId node(int /*thread*/) const { return NodeId{7}; }
    PresenceBus& endpoint(int thread) { return bus_->endpoint(static_cast<std::size_t>(thread)); }
    template <class T>
    T run(int /*thread*/, Task<T> task) {
        return run_until_complete(loop_, std::move(task));
    }
    /// What was handed in before has been answered by the server when what comes after it has, and
    /// has come back when a later subscription is in force. On every server: each has a share of
    /// so many users.
    void settle() {
        constexpr int kUsers = 24;
        for (int round = 0; round < 3; ++round) {
            std::vector<UserId> fresh;
            for (int i = 0; i < kUsers; ++i) {
                fresh.emplace_back("settle " + std::to_string(++settled_));
            }
            EXPECT_TRUE(run(0, bus_->endpoint(0).subscribe(std::move(fresh))));
        }
        loop_.run_ready();
    }

private:
    SystemClock clock_;
    LoopScheduler loop_;
    redis::Keys keys_{"pd", 64};
    redis::Lives lives_{64};
    std::unique_ptr<redis::Client> client_;
    std::unique_ptr<RedisBus> bus_;
    int settled_ = 0;
};

}  // namespace presence::testing
