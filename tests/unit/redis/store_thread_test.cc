#include "presence/stores/redis/store_thread.h"

#include <gtest/gtest.h>

#include <future>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace presence::redis {
namespace {

/// The store's work on a loop that this test runs.
class SharedLoop : public ::testing::Test {
protected:
    /// `work` as a piece of the loop's own, and what follows from it.
    void turn(Scheduler::Work work) {
        loop_.post([this, work = std::move(work)]() mutable {
            work();
            loop_.after(Millis{20}, [this] { loop_.stop(); });
        });
        loop_.run();
    }
    void note(char what) { seen_.push_back(what); }

    SystemClock clock_;
    Loop loop_{clock_};
    StoreThread store_{clock_, &loop_};
    std::string seen_;
};

TEST_F(SharedLoop, WhatIsDispatchedOnItsThreadRunsAtOnce) {
    turn([&] {
        store_.dispatch([&] { note('a'); });
        note('b');
    });
    EXPECT_EQ(seen_, "ab");
}

TEST_F(SharedLoop, NothingOvertakesWhatWasHandedInBefore) {
    turn([&] {
        store_.post([&] { note('a'); });
        store_.dispatch([&] { note('b'); });
        store_.post([&] { note('c'); });
        note('-');
    });
    EXPECT_EQ(seen_, "-abc");
}

TEST_F(SharedLoop, AnotherThreadHandsIn) {
    turn([&] {
        std::thread([&] { store_.dispatch([&] { note('a'); }); }).join();
        note('-');
    });
    EXPECT_EQ(seen_, "-a");
}

TEST_F(SharedLoop, WhatIsLeftForTheEndRunsOnceForAllOfATurn) {
    turn([&] {
        for (const char each : {'a', 'b', 'c'}) {
            store_.dispatch([&, each] {
                note(each);
                if (each == 'a') {
                    store_.at_end([&] { note('.'); });
                }
            });
        }
    });
    EXPECT_EQ(seen_, "abc.");
}

TEST_F(SharedLoop, WithinAPieceOfWorkTheEndComesAfterAllOfIt) {
    turn([&] {
        store_.post([&] {
            store_.at_end([&] { note('.'); });
            note('a');
        });
        store_.post([&] { note('b'); });
    });
    EXPECT_EQ(seen_, "ab.");
}

TEST_F(SharedLoop, WaitingRunsTheLoopThatNobodyRunsYet) {
    std::promise<int> promise;
    const std::future<int> there = promise.get_future();
    EXPECT_FALSE(store_.wait(there, Millis{10}));
    store_.post([&] { promise.set_value(1); });
    EXPECT_TRUE(store_.wait(there, Millis{10'000}));
}

struct Ears final : SocketWatcher {
    void on_ready(std::uint32_t) override { ++heard; }
    int heard = 0;
};

TEST_F(SharedLoop, OnceItIsStoppedNothingOfItIsLeftWithTheLoop) {
    int pair[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    Ears ears;
    turn([&] {
        store_.after(Millis{5}, [&] { note('x'); });
        ASSERT_TRUE(store_.watch(pair[0], ears));
        store_.post([&] { note('a'); });
        store_.stop();  // Runs what was handed in; here nobody else is on that thread.
        store_.post([&] { note('x'); });
        store_.dispatch([&] { note('x'); });
        ASSERT_EQ(::send(pair[1], "x", 1, 0), 1);
    });
    EXPECT_EQ(seen_, "a");
    EXPECT_EQ(ears.heard, 0);
    store_.unwatch(pair[0]);
    ::close(pair[0]);
    ::close(pair[1]);
}

TEST_F(SharedLoop, AnotherThreadStopsItWhileTheLoopRuns) {
    std::thread runner([&] { loop_.run(); });
    store_.post([&] { note('a'); });
    while (!loop_.is_running()) {
        std::this_thread::yield();
    }
    store_.stop();
    EXPECT_EQ(seen_, "a");
    loop_.stop();
    runner.join();
}

TEST(StoreThreadOfItsOwn, RunsWhatIsHandedInBeforeItIsStopped) {
    const SystemClock clock;
    StoreThread store(clock);
    int ran = 0;
    for (int i = 0; i < 1'000; ++i) {
        store.dispatch([&] { ++ran; });
    }
    store.stop();
    EXPECT_EQ(ran, 1'000);
}

}  // namespace
}  // namespace presence::redis
