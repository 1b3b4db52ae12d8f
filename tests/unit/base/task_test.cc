#include "presence/base/task.h"

#include "presence/base/unique_function.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>

namespace presence {
namespace {

Task<int> give(int value, int& started) {
    ++started;
    co_return value;
}

Task<int> sum(int& started) {
    const int first = co_await give(2, started);
    const int second = co_await give(3, started);
    co_return first + second;
}

Detached store_sum(std::optional<int>& result, int& started) {
    const int value = co_await sum(started);
    result = value;
}

TEST(Task, YieldsItsValueThroughNestedTasks) {
    std::optional<int> result;
    int started = 0;
    store_sum(result, started);
    EXPECT_EQ(result, 5);
    EXPECT_EQ(started, 2);
}

TEST(Task, OneThatNobodyAwaitsNeverStarts) {
    int started = 0;
    { const Task<int> dropped = give(1, started); }
    EXPECT_EQ(started, 0);
}

Task<std::unique_ptr<int>> give_owned() {
    co_return std::make_unique<int>(9);
}

Detached take_owned(std::unique_ptr<int>& result) {
    result = co_await give_owned();
}

TEST(Task, YieldsWhatCannotBeCopied) {
    std::unique_ptr<int> result;
    take_owned(result);
    ASSERT_TRUE(result);
    EXPECT_EQ(*result, 9);
}

/// A long loop of tasks that finish at once must not eat the stack.
Detached count_up(int most, int& count) {
    int started = 0;
    while (count < most) {
        const int step = co_await give(1, started);
        count += step;
    }
}

TEST(Task, ManyAwaitsInARowDoNotGrowTheStack) {
    int count = 0;
    count_up(1'000'000, count);
    EXPECT_EQ(count, 1'000'000);
}

using Done = Completion<int>::Done;

Task<int> through_callback(UniqueFunction<void(Done)> start) {
    const int value = co_await Completion<int>([&](Done done) { start(std::move(done)); });
    co_return value;
}

Detached store_callback(std::optional<int>& result, UniqueFunction<void(Done)> start) {
    const int value = co_await through_callback(std::move(start));
    result = value;
}

TEST(Completion, ResumesAtOnceWhereTheAnswerCameAtOnce) {
    std::optional<int> result;
    store_callback(result, [](Done done) { done(4); });
    EXPECT_EQ(result, 4);
}

TEST(Completion, ResumesWithinTheCallThatBringsTheAnswerLater) {
    std::optional<int> result;
    std::optional<Done> kept;
    store_callback(result, [&](Done done) { kept.emplace(std::move(done)); });
    EXPECT_FALSE(result);
    (*kept)(6);
    EXPECT_EQ(result, 6);
}

TEST(CompletionDeathTest, AnsweringTwiceIsABug) {
    std::optional<int> result;
    EXPECT_DEATH(store_callback(result,
                                [](Done done) {
                                    done(1);
                                    done(2);
                                }),
                 "assertion failed: state != nullptr");
}

Task<int> throwing() {
    throw 1;
    co_return 0;
}

Detached await_throwing() {
    (void)co_await throwing();
}

TEST(TaskDeathTest, AnExceptionThatEscapesEndsTheProcess) {
    EXPECT_DEATH(await_throwing(), "");
}

}  // namespace
}  // namespace presence
