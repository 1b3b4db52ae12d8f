#include "presence/base/compact_text.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace presence {
namespace {

std::string text_of(std::size_t size) {
    std::string text;
    for (std::size_t i = 0; i < size; ++i) {
        text += static_cast<char>('\x7F' + i);  // With bytes that mean something in the last place.
    }
    return text;
}

static_assert(sizeof(CompactText) == 16);

TEST(CompactText, GivesBackWhatItWasMadeOfOnEitherSideOfTheBound) {
    for (const std::size_t size : {0U, 1U, 14U, 15U, 16U, 17U, 1'000U}) {
        const std::string text = text_of(size);
        EXPECT_EQ(CompactText(text).view(), text) << size;
        EXPECT_EQ(CompactText(text).size(), size);
        EXPECT_EQ(CompactText(text).empty(), size == 0);
    }
    EXPECT_TRUE(CompactText().empty());
    using namespace std::string_view_literals;
    EXPECT_EQ(CompactText("a\0b"sv).view(), "a\0b"sv);
}

TEST(CompactText, ComparesByItsBytes) {
    for (const std::size_t size : {15U, 16U}) {
        const std::string text = text_of(size);
        std::string later = text;
        later.back() = static_cast<char>(later.back() + 1);
        EXPECT_EQ(CompactText(text), CompactText(text));
        EXPECT_NE(CompactText(text), CompactText(later));
        EXPECT_LT(CompactText(text), CompactText(later));
        EXPECT_LT(CompactText(), CompactText(text));
        EXPECT_TRUE(CompactText(text) == text);
    }
    EXPECT_LT(CompactText("a"), CompactText(std::string("a") + std::string(20, 'b')));
}

TEST(CompactText, CopiesOfALongTextShareIt) {
    const CompactText text(text_of(40));
    const CompactText copy = text;
    EXPECT_EQ(copy.view().data(), text.view().data());
    EXPECT_NE(CompactText(text_of(40)).view().data(), text.view().data());
}

TEST(CompactText, ACopyOutlivesWhatItWasCopiedFrom) {
    for (const std::size_t size : {5U, 40U}) {
        auto text = std::make_unique<CompactText>(text_of(size));
        const CompactText copy = *text;
        text.reset();
        EXPECT_EQ(copy.view(), text_of(size));
    }
}

TEST(CompactText, WhatWasMovedFromIsEmptyAndCanBeUsedAgain) {
    for (const std::size_t size : {5U, 40U}) {
        CompactText from(text_of(size));
        CompactText to = std::move(from);
        EXPECT_EQ(to.view(), text_of(size));
        EXPECT_TRUE(from.empty());  // NOLINT(bugprone-use-after-move)
        from = text_of(size + 1);
        EXPECT_EQ(from.view(), text_of(size + 1));
        const CompactText& same = to;
        to = same;
        EXPECT_EQ(to.view(), text_of(size));
    }
}

TEST(CompactText, ThreadsMayHoldCopiesOfOneText) {
    const CompactText text(text_of(40));
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([mine = text] {
            for (int round = 0; round < 1'000; ++round) {
                const CompactText copy = mine;
                ASSERT_EQ(copy.size(), 40U);
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(text.view(), text_of(40));
}

}  // namespace
}  // namespace presence
