#include "presence/loop/loop.h"

#include <gtest/gtest.h>

#include <string>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace presence {
namespace {

/// Real time that can be pushed forward, as a machine that slept would see it.
class LeapingClock final : public Clock {
public:
    [[nodiscard]] MonoTime now() const noexcept override {
        ++asked;
        return real_.now() + leapt_;
    }
    [[nodiscard]] WallTime wall_now() const noexcept override { return real_.wall_now(); }
    void leap(Millis by) { leapt_ += by; }

    mutable int asked = 0;

private:
    SystemClock real_;
    Millis leapt_{0};
};

class LoopTest : public ::testing::Test {
protected:
    void run_for_at_most(Millis limit) {
        loop_.after(limit, [this] {
            ADD_FAILURE() << "the loop was not stopped in time";
            loop_.stop();
        });
        loop_.run();
    }

    /// A loop that has nothing to do must not spin: each turn asks for the time.
    void expect_idle_waiting() {
        loop_.after(15s, [] {});
        const auto moved = loop_.after(10s, [] {});
        loop_.after(20ms, [this, moved] { loop_.cancel(moved); });
        loop_.after(200ms, [this] { loop_.stop(); });
        clock_.asked = 0;
        run_for_at_most(20s);
        EXPECT_LT(clock_.asked, 40);
    }

    LeapingClock clock_;
    Loop loop_{clock_};
    std::vector<std::string> seen_;
};

TEST_F(LoopTest, PostedWorkRunsInOrderAndNeverAtOnce) {
    loop_.post([this] {
        seen_.emplace_back("first");
        loop_.post([this] {
            seen_.emplace_back("third");
            loop_.stop();
        });
        seen_.emplace_back("still first");
    });
    loop_.post([this] { seen_.emplace_back("second"); });
    EXPECT_TRUE(seen_.empty());
    run_for_at_most(5s);
    EXPECT_EQ(seen_, (std::vector<std::string>{"first", "still first", "second", "third"}));
}

TEST_F(LoopTest, TimersRunByDeadlineThenByOrder) {
    loop_.after(20ms, [this] {
        seen_.emplace_back("late");
        loop_.stop();
    });
    loop_.after(5ms, [this] { seen_.emplace_back("early a"); });
    loop_.after(5ms, [this] { seen_.emplace_back("early b"); });
    const auto gone = loop_.after(6ms, [this] { seen_.emplace_back("cancelled"); });
    loop_.after(-5ms, [this] { seen_.emplace_back("now"); });
    loop_.cancel(gone);
    loop_.cancel(gone);
    run_for_at_most(5s);
    EXPECT_EQ(seen_, (std::vector<std::string>{"now", "early a", "early b", "late"}));
}

TEST_F(LoopTest, WorkFromOtherThreadsArrivesWhole) {
    int sum = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([this, &sum] {
            for (int i = 0; i < 1000; ++i) {
                loop_.post([this, &sum] {
                    EXPECT_TRUE(loop_.is_owner_thread());
                    if (++sum == 4000) {
                        loop_.stop();
                    }
                });
            }
        });
    }
    run_for_at_most(20s);
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(sum, 4000);
}

TEST_F(LoopTest, StoppedBeforeItRunsItReturnsAtOnce) {
    loop_.post([this] { seen_.emplace_back("work"); });
    loop_.stop();
    loop_.run();
    EXPECT_TRUE(seen_.empty());
    loop_.post([this] { loop_.stop(); });
    loop_.run();
    EXPECT_EQ(seen_, (std::vector<std::string>{"work"}));
}

TEST_F(LoopTest, WaitingCostsNothing) {
    expect_idle_waiting();
}

TEST_F(LoopTest, ABatchEndsOnceForAllItsPosts) {
    loop_.add_batch_end([this] { seen_.emplace_back("end"); });
    loop_.post([this] { seen_.emplace_back("a"); });
    loop_.post([this] {
        loop_.request_batch_end();
        seen_.emplace_back("b");
    });
    loop_.after(20ms, [this] { loop_.stop(); });
    run_for_at_most(5s);
    ASSERT_GE(seen_.size(), 3U);
    EXPECT_EQ((std::vector<std::string>{seen_.begin(), seen_.begin() + 3}),
              (std::vector<std::string>{"a", "b", "end"}));
}

TEST_F(LoopTest, AHookOfABatchEndMayAskForAnother) {
    int ends = 0;
    loop_.add_batch_end([&] {
        if (++ends == 1) {
            loop_.request_batch_end();
        } else {
            loop_.stop();
        }
    });
    loop_.post([] {});
    run_for_at_most(5s);
    EXPECT_EQ(ends, 2);
}

TEST_F(LoopTest, TheTickComesAgainAndAgain) {
    int ticks = 0;
    loop_.set_tick(5ms, [&](const Loop::Tick& tick) {
        EXPECT_GE(tick.late, 0ms);
        if (++ticks == 5) {
            loop_.stop();
        }
    });
    run_for_at_most(5s);
    EXPECT_GE(ticks, 5);
    EXPECT_LE(ticks, 6);  // One more may have been due in the turn that was the last.
}

TEST_F(LoopTest, OneLateTickStandsForAllThatWereMissed) {
    std::vector<Millis> late;
    loop_.set_tick(10ms, [&](const Loop::Tick& tick) {
        late.push_back(tick.late);
        if (late.size() == 1) {
            clock_.leap(3s);
        } else if (late.size() == 4) {
            loop_.stop();
        }
    });
    run_for_at_most(60s);
    EXPECT_GE(late[1], 2900ms);
    EXPECT_LT(late[2], 2900ms);
}

/// Counts what it can read, and notes that it did.
class Reader final : public SocketHandler {
public:
    explicit Reader(std::vector<std::string>& seen) : seen_(seen) {}
    void on_socket_ready(std::uint64_t token, std::uint32_t) override {
        char bytes[16];
        if (::recv(static_cast<int>(token), bytes, sizeof bytes, MSG_DONTWAIT) > 0) {
            seen_.emplace_back("read");
        }
    }

private:
    std::vector<std::string>& seen_;
};

TEST_F(LoopTest, AfterAStallSocketsAreReadBeforeTheTickDecides) {
    int pair[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    Reader reader(seen_);
    loop_.set_socket_handler(&reader);
    ASSERT_TRUE(loop_.add_socket(pair[0], EPOLLIN | EPOLLET, static_cast<std::uint64_t>(pair[0])));

    // The beat arrives and the thread then stands still: both are due when it wakes, and the
    // tick's timer is looked at first.
    loop_.set_tick(1ms, [&](const Loop::Tick& tick) {
        if (tick.late > Loop::kStall) {
            seen_.emplace_back("tick");
            loop_.stop();
        } else {
            ASSERT_EQ(::send(pair[1], "x", 1, 0), 1);
            clock_.leap(1s);
        }
    });
    run_for_at_most(60s);
    EXPECT_EQ(seen_, (std::vector<std::string>{"read", "tick"}));
    loop_.set_socket_handler(nullptr);
    ::close(pair[0]);
    ::close(pair[1]);
}

TEST_F(LoopTest, AStallBetweenTwoTimersIsNoticedToo) {
    int pair[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    Reader reader(seen_);
    loop_.set_socket_handler(&reader);
    ASSERT_TRUE(loop_.add_socket(pair[0], EPOLLIN | EPOLLET, static_cast<std::uint64_t>(pair[0])));

    // Both are due in the same turn.
    loop_.post([&] {
        loop_.after(0ms, [&] {
            ASSERT_EQ(::send(pair[1], "x", 1, 0), 1);
            clock_.leap(1s);
        });
        loop_.after(0ms, [&] {
            seen_.emplace_back("verdict");
            loop_.stop();
        });
    });
    run_for_at_most(60s);
    EXPECT_EQ(seen_, (std::vector<std::string>{"read", "verdict"}));
    loop_.set_socket_handler(nullptr);
    ::close(pair[0]);
    ::close(pair[1]);
}

/// Reads what comes, and may take itself away.
struct Watcher final : SocketWatcher {
    Watcher(Loop& on, int from) : loop(on), fd(from) {}
    void on_ready(std::uint32_t events) override {
        char byte = 0;
        while ((events & EPOLLIN) != 0 && ::recv(fd, &byte, 1, MSG_DONTWAIT) == 1) {
            seen.push_back(byte);
        }
        if (seen.size() >= enough) {
            loop.unwatch(fd);
        }
    }
    Loop& loop;
    int fd;
    std::string seen;
    std::size_t enough = 100;
};

TEST_F(LoopTest, AWatchedSocketIsToldUntilNobodyWatchesIt) {
    int pair[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    Reader server(seen_);
    loop_.set_socket_handler(&server);
    Watcher watcher(loop_, pair[0]);
    ASSERT_TRUE(loop_.watch(pair[0], watcher));
    ASSERT_FALSE(loop_.watch(pair[0], watcher));  // Twice is once too often.
    const auto send_one = [&](const char* byte) { ASSERT_EQ(::send(pair[1], byte, 1, 0), 1); };
    loop_.post([&] { send_one("a"); });
    loop_.after(20ms, [&] {
        watcher.enough = 2;
        send_one("b");
    });
    loop_.after(40ms, [&] { send_one("c"); });
    loop_.after(60ms, [&] { loop_.stop(); });
    run_for_at_most(60s);
    EXPECT_EQ(watcher.seen, "ab");
    EXPECT_TRUE(seen_.empty());  // The server's handler hears nothing of it.
    loop_.set_socket_handler(nullptr);
    ::close(pair[0]);
    ::close(pair[1]);
}

TEST_F(LoopTest, ItSaysWhetherAThreadRunsIt) {
    EXPECT_FALSE(loop_.is_running());
    bool within = false;
    loop_.post([&] {
        within = loop_.is_running();
        loop_.stop();
    });
    run_for_at_most(60s);
    EXPECT_TRUE(within);
    EXPECT_FALSE(loop_.is_running());
}

}  // namespace
}  // namespace presence
