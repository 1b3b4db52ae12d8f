#include "presence/stores/memory/memory_sessions.h"

#include "contract/session_store_contract.h"
#include "support/run_task.h"
#include "support/virtual_time.h"

#include <latch>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace presence::testing {

namespace {

/// A bus that only writes down what was published; any thread.
class RecordingBus final : public PresenceBus {
public:
    void set_receiver(Receiver* /*receiver*/) override {}
    Task<Result<bool>> subscribe(std::vector<UserId> /*users*/) override { co_return true; }
    void unsubscribe(const UserId& /*user*/) override {}
    void publish(PresenceEventRef event) override {
        const std::lock_guard lock(mutex_);
        events_.push_back(std::move(event));
    }
    void publish_profile_changed(const UserId& /*user*/, std::uint64_t /*revision*/) override {}
    void publish_here(PresenceEventRef /*event*/) override {}
    void publish_signal(SignalRef /*signal*/) override {}
    void publish_session_taken(SessionTaken /*taken*/) override {}
    Task<Result<bool>> subscribe_room(RoomId /*room*/) override { co_return true; }
    void unsubscribe_room(const RoomId& /*room*/) override {}
    void publish_room(RoomStatementRef /*statement*/) override {}
    void ask_room(const RoomId& /*room*/) override {}
    void publish_end_set(EndSet /*set*/) override {}
    void publish_session_stays(SessionStays /*stays*/) override {}
    Task<Result<std::size_t>> ask_nodes(SurveyQuestionRef /*question*/) override {
        co_return std::size_t{0};
    }
    void answer_node(SurveyAnswerRef /*answer*/) override {}

    std::vector<PresenceEventRef> events() const {
        const std::lock_guard lock(mutex_);
        return events_;
    }

private:
    mutable std::mutex mutex_;
    std::vector<PresenceEventRef> events_;
};

class MemoryAdapter {
public:
    static constexpr Millis kSlack{1};

    SessionStore& store(int thread) { return thread == 0 ? first_ : second_; }
    template <class T>
    T run(Task<T> task) {
        return run_until_complete(std::move(task));
    }
    void pass(Millis time) { clock_.pass(time); }
    std::vector<PresenceEventRef> events() const { return bus_.events(); }
    void set_unavailable(bool unavailable) { shared_.set_unavailable(unavailable); }

private:
    VirtualClock clock_;
    MemorySessions shared_{clock_};
    RecordingBus bus_;
    MemorySessionStore first_{shared_, &bus_};
    MemorySessionStore second_{shared_, &bus_};
};

INSTANTIATE_TYPED_TEST_SUITE_P(Memory, SessionStoreContract, MemoryAdapter);

UserRecordRef record(std::uint64_t commit, bool with_session = false) {
    auto made = make_ref<UserRecord>();
    made->commit = commit;
    if (with_session) {
        made->sessions.emplace_back();
    }
    return made;
}

UserId numbered(std::uint64_t number) {
    return UserId("user " + std::to_string(number));
}

TEST(MemorySessions, KeepsThePointerAndMakesNoCopy) {
    VirtualClock clock;
    MemorySessions shared(clock);
    const UserRecordRef given = record(1);
    ASSERT_EQ(shared.commit({UserId("ada"), 0, given, Millis{1000}, nullptr}, nullptr),
              CommitOutcome::committed);
    EXPECT_EQ(shared.load(UserId("ada")), given);
}

TEST(MemorySessions, OldRecordsLeaveMemoryAFewAtEachCall) {
    constexpr std::uint64_t kUsers = 10'000;
    constexpr Millis kKeep{60'000};
    VirtualClock clock;
    MemorySessions shared(clock);
    for (std::uint64_t i = 0; i < kUsers; ++i) {
        const bool stays = i % 10 == 0;
        ASSERT_EQ(shared.commit({numbered(i), 0, record(1, stays), kKeep, nullptr}, nullptr),
                  CommitOutcome::committed);
    }
    ASSERT_EQ(shared.size(), kUsers);
    clock.pass(kKeep);
    static_cast<void>(shared.load(numbered(0)));
    EXPECT_GE(shared.size(), kUsers - 4);  // One call does a bounded share of the work.
    for (std::uint64_t i = 0; i < kUsers; ++i) {
        static_cast<void>(shared.load(numbered(i)));
    }
    EXPECT_EQ(shared.size(), kUsers / 10);
}

TEST(MemorySessions, AUserWhoComesAndGoesTakesOnePlaceInTheQueueOfDeadlines) {
    constexpr std::uint64_t kTimes = 10'000;
    constexpr Millis kKeep{60'000};
    VirtualClock clock;
    MemorySessions shared(clock);
    for (std::uint64_t i = 0; i < kTimes; ++i) {
        ASSERT_EQ(
            shared.commit({UserId("ada"), i, record(i + 1, i % 2 == 0), kKeep, nullptr}, nullptr),
            CommitOutcome::committed);
        clock.pass(Millis{10});
    }
    EXPECT_EQ(shared.deadlines(), 1U);
    clock.pass(2 * kKeep);
    for (int i = 0; i < 3; ++i) {  // Filed again once, then dropped.
        static_cast<void>(shared.load(UserId("ada")));
        clock.pass(kKeep);
    }
    EXPECT_EQ(shared.size(), 0U);
    EXPECT_EQ(shared.deadlines(), 0U);
}

TEST(MemorySessions, ALostAnswerIsAWriteThatWasDone) {
    VirtualClock clock;
    MemorySessions shared(clock);
    RecordingBus bus;
    MemorySessionStore store(shared, &bus);
    auto event = std::make_shared<PresenceEvent>();
    event->user = UserId("ada");
    shared.faults().set_loses_answers(true);
    const auto committed =
        run_until_complete(store.commit({UserId("ada"), 0, record(1), Millis{1000}, event}));
    EXPECT_EQ(committed.error().code, ErrorCode::unavailable);
    EXPECT_EQ(shared.load(UserId("ada"))->commit, 1U);
    EXPECT_EQ(bus.events().size(), 1U);
}

TEST(MemorySessions, ASlowStoreAnswersLater) {
    VirtualClock clock;
    VirtualScheduler scheduler(clock);
    MemorySessions shared(clock);
    MemorySessionStore store(shared, nullptr, &scheduler);
    shared.faults().set_delay(Millis{300});
    const auto outcome =
        start_task(store.commit({UserId("ada"), 0, record(1), Millis{1000}, nullptr}));
    scheduler.advance(Millis{299});
    EXPECT_FALSE(outcome->has_value());
    scheduler.advance(Millis{1});
    EXPECT_EQ((*outcome)->value(), CommitOutcome::committed);
}

/// Many threads count one user up, each by reading, adding one and committing.
TEST(MemorySessions, NoCommitOfManyThreadsIsLostAndEventsLeaveInTheirOrder) {
    constexpr int kThreads = 4;
    constexpr int kCommits = 10'000;
    constexpr std::uint64_t kUsers = 3;
    VirtualClock clock;
    MemorySessions shared(clock);
    RecordingBus bus;
    std::latch all_there(kThreads);
    const auto count_up = [&] {
        MemorySessionStore store(shared, &bus);
        all_there.arrive_and_wait();
        for (int done = 0; done < kCommits; ++done) {
            const UserId user = numbered(static_cast<std::uint64_t>(done) % kUsers);
            while (true) {
                const UserRecordRef before = shared.load(user);
                const std::uint64_t expected = before ? before->commit : 0;
                auto event = std::make_shared<PresenceEvent>();
                event->user = user;
                event->presence.own_version = Version{expected + 1};
                const auto outcome = run_until_complete(
                    store.commit({user, expected, record(expected + 1), Millis{1000}, event}));
                if (outcome.value() == CommitOutcome::committed) {
                    break;
                }
            }
        }
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
        threads.emplace_back(count_up);
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    std::map<UserId, std::uint64_t> last;
    for (const PresenceEventRef& event : bus.events()) {
        EXPECT_EQ(event->presence.own_version.value, ++last[event->user]);
    }
    std::uint64_t commits = 0;
    for (std::uint64_t i = 0; i < kUsers; ++i) {
        commits += shared.load(numbered(i))->commit;
    }
    EXPECT_EQ(commits, std::uint64_t{kThreads} * kCommits);
    EXPECT_EQ(bus.events().size(), commits);
}

}  // namespace

}  // namespace presence::testing
