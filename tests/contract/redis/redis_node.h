#pragma once

#include "presence/loop/loop.h"
#include "presence/stores/redis/client.h"
#include "presence/stores/redis/keys.h"
#include "presence/stores/redis/redis_bus.h"
#include "presence/stores/redis/redis_sessions.h"

#include "support/loop_scheduler.h"
#include "support/run_task.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace presence::testing {

/// Runs a Loop on the test's thread as LoopScheduler runs its own.
class TestLoop {
public:
    [[nodiscard]] Scheduler& scheduler() { return loop_; }
    [[nodiscard]] Loop* shared() { return &loop_; }

    template <class Predicate>
    bool run_until(Predicate done, Millis most = std::chrono::seconds{60}) {
        const MonoTime end = clock_.now() + most;
        std::function<void()> look = [&] {
            if (done() || clock_.now() >= end) {
                loop_.stop();
            } else {
                loop_.after(Millis{1}, [&look] { look(); });
            }
        };
        loop_.post([&look] { look(); });
        loop_.run();
        return done();
    }
    void run_ready() {
        loop_.post([this] { loop_.stop(); });
        loop_.run();
    }

private:
    SystemClock clock_;
    Loop loop_{clock_};
};

/// Beside a store that has a thread of its own.
class TestScheduler {
public:
    [[nodiscard]] Scheduler& scheduler() { return loop_; }
    [[nodiscard]] static Loop* shared() { return nullptr; }

    template <class Predicate>
    bool run_until(Predicate done, Millis most = std::chrono::seconds{60}) {
        return loop_.run_until(std::move(done), most);
    }
    void run_ready() { loop_.run_ready(); }

private:
    LoopScheduler loop_;
};

/// Records and bus as one node with one thread has them, on the test's own thread. The store's
/// connections live on that thread, too, if `Home` is TestLoop.
template <class Home>
class RedisNodeOn {
public:
    struct Receiver final : PresenceBus::Receiver {
        void on_presence(const PresenceEventRef& event) override {
            newest[std::string(event->user.text)] = event->presence.own_version.value;
            ++told[std::string(event->user.text)];
        }
        void on_profile_changed(const UserId& user, std::uint64_t) override {
            profiles.emplace_back(user.text);
        }
        void on_signal(const SignalRef&) override { ++signals; }
        void on_session_taken(const SessionTaken& one) override { taken.push_back(one); }
        void on_room(const RoomStatementRef& statement) override { rooms.push_back(statement); }
        void on_room_asked(const RoomId& room) override { asked.push_back(room); }
        void on_end_set(const EndSet& one) override { ends_set.push_back(one); }
        void on_session_stays(const SessionStays& one) override { stays.push_back(one); }
        void on_survey(const SurveyQuestionRef& one) override { questions.push_back(one); }
        void on_survey_answer(const SurveyAnswerRef& one) override { answers.push_back(one); }

        std::map<std::string, std::uint64_t> newest;
        std::map<std::string, int> told;
        std::vector<std::string> profiles;
        int signals = 0;
        std::vector<PartitionSet> gaps;
        std::vector<SessionTaken> taken;
        std::vector<EndSet> ends_set;
        std::vector<RoomStatementRef> rooms;
        std::vector<RoomId> asked;
        std::vector<SessionStays> stays;
        std::vector<SurveyQuestionRef> questions;
        std::vector<SurveyAnswerRef> answers;
    };

    explicit RedisNodeOn(redis::RedisConfig config, std::uint64_t seed = 1)
        : keys(config.prefix, config.partitions),
          client(redis::Client::start(std::move(config), clock, loop.shared()).value()),
          lives(keys.partitions()),
          store(*client, keys, lives, loop.scheduler()),
          bus(std::make_unique<RedisBus>(*client, keys, lives,
                                         std::vector<Scheduler*>{&loop.scheduler()}, seed)) {
        bus->endpoint(0).set_receiver(&receiver);
        bus->set_gap_handler(0,
                             [this](const PartitionSet& lost) { receiver.gaps.push_back(lost); });
        bus->set_node(NodeId{seed});
        store.set_node(NodeId{seed});
    }
    ~RedisNodeOn() {
        client->stop();
        loop.run_ready();
        bus.reset();
    }
    RedisNodeOn(const RedisNodeOn&) = delete;
    RedisNodeOn& operator=(const RedisNodeOn&) = delete;

    template <class T>
    T run(Task<T> task) {
        const Started<T> result = start_task(std::move(task));
        PRESENCE_ASSERT(loop.run_until([&] { return result->has_value(); }));
        return std::move(**result);
    }
    /// Lets things happen until `holds`. False: not within `most`.
    template <class Predicate>
    bool until(Predicate holds, Millis most = Millis{10'000}) {
        const MonoTime end = clock.now() + most;
        bool held = false;
        static_cast<void>(loop.run_until(
            [&] {
                loop.scheduler().after(Millis{5}, [] {});
                held = holds();
                return held || clock.now() >= end;
            },
            most + Millis{1'000}));
        return held;
    }
    void pass(Millis time) {
        const MonoTime end = clock.now() + time;
        until([&] { return clock.now() >= end; }, time + Millis{100});
    }

    static UserRecordRef record(std::uint64_t commit, bool attached = true) {
        auto made = make_ref<UserRecord>();
        made->commit = commit;
        made->presence.own_version = Version{commit};
        if (attached) {
            made->sessions.emplace_back().id = SessionId("session");
        }
        return made;
    }
    /// Commits `user` from `commit - 1` to `commit`, and publishes it.
    Result<CommitOutcome> commit(const UserId& user, std::uint64_t commit) {
        auto event = std::make_shared<PresenceEvent>();
        event->user = user;
        event->presence.own_version = Version{commit};
        return run(store.commit({user, commit - 1, record(commit), Millis{60'000}, event}));
    }
    /// The commit counter that stands there; 0: no record; -1: unavailable.
    std::int64_t stored(const UserId& user) {
        const auto records = run(store.load({user}));
        return !records         ? -1
               : records->at(0) ? static_cast<std::int64_t>(records->at(0)->commit)
                                : 0;
    }
    Result<bool> subscribe(std::vector<UserId> users) {
        return run(bus->endpoint(0).subscribe(std::move(users)));
    }

    SystemClock clock;
    Home loop;
    Receiver receiver;
    redis::Keys keys;
    std::unique_ptr<redis::Client> client;
    redis::Lives lives;
    RedisSessionStore store;
    std::unique_ptr<RedisBus> bus;
};

using RedisNode = RedisNodeOn<TestScheduler>;
using OneThreadRedisNode = RedisNodeOn<TestLoop>;

}  // namespace presence::testing
