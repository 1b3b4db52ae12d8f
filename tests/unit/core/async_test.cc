#include "presence/core/async_lock.h"
#include "presence/core/deadline.h"
#include "presence/stores/memory/faults.h"

#include "support/run_task.h"
#include "support/virtual_time.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace presence {
namespace {

using testing::start_task;
using testing::Started;
using testing::VirtualClock;
using testing::VirtualScheduler;

Detached hold(AsyncLock& lock, VirtualScheduler& scheduler, Millis time, std::string name,
              std::vector<std::string>& story) {
    AsyncLock::Guard guard = co_await lock.acquire();
    story.push_back(name + " in");
    co_await wait_for(scheduler, time);
    story.push_back(name + " out");
}

TEST(AsyncLock, FlowsRunOneAfterTheOtherInTheOrderInWhichTheyAsked) {
    VirtualClock clock;
    VirtualScheduler scheduler(clock);
    AsyncLock lock;
    std::vector<std::string> story;

    hold(lock, scheduler, 300ms, "a", story);
    hold(lock, scheduler, 1ms, "b", story);
    hold(lock, scheduler, 200ms, "c", story);
    EXPECT_TRUE(lock.held());
    scheduler.advance(1s);

    EXPECT_EQ(story, (std::vector<std::string>{"a in", "a out", "b in", "b out", "c in", "c out"}));
    EXPECT_FALSE(lock.held());
}

TEST(AsyncLock, WhoAsksWhileItIsPassedOnDoesNotOvertake) {
    VirtualClock clock;
    VirtualScheduler scheduler(clock);
    AsyncLock lock;
    std::vector<std::string> story;
    hold(lock, scheduler, 100ms, "a", story);
    hold(lock, scheduler, 100ms, "b", story);
    scheduler.after(100ms, [&] { hold(lock, scheduler, 100ms, "c", story); });
    scheduler.advance(1s);
    EXPECT_EQ(story, (std::vector<std::string>{"a in", "a out", "b in", "b out", "c in", "c out"}));
}

Task<Result<int>> answer_after(VirtualScheduler& scheduler, Millis time, int value) {
    co_await wait_for(scheduler, time);
    co_return value;
}

Task<Result<int>> answer_at_once(int value) {
    co_return value;
}

TEST(Deadline, AnAnswerInTimeIsGivenAndTheTimerForgotten) {
    VirtualClock clock;
    VirtualScheduler scheduler(clock);
    Started<Result<int>> answer = start_task(
        within(scheduler, 2s, answer_after(scheduler, 1999ms, 7), std::string("the store")));
    scheduler.advance(1998ms);
    EXPECT_FALSE(answer->has_value());
    scheduler.advance(1ms);

    ASSERT_TRUE(answer->has_value());
    EXPECT_EQ(***answer, 7);
    EXPECT_EQ(scheduler.pending(), 0U);
}

TEST(Deadline, AnAnswerWithoutAWaitLeavesNoTimerBehind) {
    VirtualClock clock;
    VirtualScheduler scheduler(clock);
    Started<Result<int>> answer =
        start_task(within(scheduler, 2s, answer_at_once(7), std::string("the store")));
    ASSERT_TRUE(answer->has_value());
    EXPECT_EQ(***answer, 7);
    EXPECT_EQ(scheduler.pending(), 0U);
}

TEST(Deadline, ALateAnswerIsDroppedAndTheCallerToldInTime) {
    VirtualClock clock;
    VirtualScheduler scheduler(clock);
    Started<Result<int>> answer =
        start_task(within(scheduler, 2s, answer_after(scheduler, 5s, 7), std::string("the store")));
    scheduler.advance(2s);

    ASSERT_TRUE(answer->has_value());
    ASSERT_FALSE((*answer)->has_value());
    EXPECT_EQ((*answer)->error().code, ErrorCode::unavailable);
    EXPECT_EQ((*answer)->error().message, "the store did not answer within 2000 ms");
    EXPECT_GT((*answer)->error().retry_after_ms, 0);
    scheduler.advance(10s);
    EXPECT_EQ(scheduler.pending(), 0U);
}

}  // namespace
}  // namespace presence
