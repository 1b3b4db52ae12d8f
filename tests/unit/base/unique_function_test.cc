#include "presence/base/unique_function.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <type_traits>

namespace presence {
namespace {

static_assert(!std::is_copy_constructible_v<UniqueFunction<void()>>);
static_assert(std::is_nothrow_move_constructible_v<UniqueFunction<void()>>);
static_assert(!std::is_constructible_v<UniqueFunction<void()>, int>);
static_assert(!std::is_constructible_v<UniqueFunction<int()>, std::string (*)()>);

TEST(UniqueFunction, CallsWhatItHolds) {
    UniqueFunction<int(int, int)> add = [](int a, int b) { return a + b; };
    EXPECT_EQ(add(2, 3), 5);
}

TEST(UniqueFunction, HoldsWhatCannotBeCopied) {
    UniqueFunction<int()> read = [owned = std::make_unique<int>(7)] { return *owned; };
    UniqueFunction<int()> moved = std::move(read);
    EXPECT_EQ(moved(), 7);
}

TEST(UniqueFunction, HandsArgumentsOn) {
    UniqueFunction<std::unique_ptr<int>(std::unique_ptr<int>)> grow =
        [](std::unique_ptr<int> value) {
            ++*value;
            return value;
        };
    EXPECT_EQ(*grow(std::make_unique<int>(1)), 2);
}

TEST(UniqueFunction, KeepsItsStateBetweenCalls) {
    UniqueFunction<int()> count = [n = 0]() mutable { return ++n; };
    EXPECT_EQ(count(), 1);
    EXPECT_EQ(count(), 2);
}

TEST(UniqueFunction, IsEmptyUnlessItHoldsSomething) {
    EXPECT_FALSE(UniqueFunction<void()>());
    EXPECT_FALSE(UniqueFunction<void()>(nullptr));
    UniqueFunction<void()> held = [] {};
    EXPECT_TRUE(held);
    const UniqueFunction<void()> taken = std::move(held);
    EXPECT_TRUE(taken);
    EXPECT_FALSE(held);  // NOLINT(bugprone-use-after-move): the promise under test.
}

TEST(UniqueFunction, LetsGoOfWhatItHeld) {
    const auto watched = std::make_shared<int>(0);
    {
        UniqueFunction<void()> holder = [watched] {};
        EXPECT_EQ(watched.use_count(), 2);
        holder = nullptr;
        EXPECT_EQ(watched.use_count(), 1);
        holder = [watched] {};
    }
    EXPECT_EQ(watched.use_count(), 1);
}

}  // namespace
}  // namespace presence
