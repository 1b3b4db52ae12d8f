#pragma once

#include "presence/ports/webhook_outbox.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace presence::testing {

using Bodies = std::vector<std::string>;

/// What every WebhookOutbox promises. An `Adapter` has
///   WebhookOutbox& outbox(int node)  two objects, 0 and 1, on the same outbox
///   T run(Task<T>)                   runs a call to its end
///   void pass(Millis)                lets that much time go by, for leases and waits
///   void reopen()                    stops and starts the process, where the outbox survives that
template <class Adapter>
class WebhookOutboxContract : public ::testing::Test {
protected:
    static constexpr const char* kTarget = "https://one.example/hook";
    static constexpr const char* kOther = "https://two.example/hook";

    WebhookOutbox& outbox(int node = 0) { return adapter_.outbox(node); }
    void append(std::vector<std::pair<std::string, std::string>> subjects_and_bodies,
                const char* target = kTarget) {
        std::vector<OutboxEvent> events;
        for (auto& [subject, body] : subjects_and_bodies) {
            events.push_back({target, subject, body});
        }
        ASSERT_TRUE(adapter_.run(outbox().append(std::move(events))));
    }
    /// @param names  Ids of new batches, one character each.
    std::vector<OutboxBatch> claim(const std::string& names, int node = 0,
                                   std::size_t most_events = 100, const char* target = kTarget) {
        OutboxClaim asked{.target = target, .new_ids = {}, .most_events = most_events};
        for (const char name : names) {
            asked.new_ids.emplace_back(1, name);
        }
        return adapter_.run(outbox(node).claim(std::move(asked))).value();
    }
    void delivered(const char* id, int node = 0) {
        EXPECT_TRUE(adapter_.run(outbox(node).delivered(id)));
    }
    OutboxCounts counts() { return adapter_.run(outbox().counts()).value(); }

    Adapter adapter_;
};

TYPED_TEST_SUITE_P(WebhookOutboxContract);

TYPED_TEST_P(WebhookOutboxContract, GivesEventsInOrderAndForgetsWhatHasArrived) {
    this->append({{"ann", "1"}, {"bob", "2"}});
    this->append({{"ann", "3"}});
    this->adapter_.reopen();
    const auto batches = this->claim("ab");
    ASSERT_EQ(batches.size(), 1U);
    EXPECT_EQ(batches[0].id, "a");
    EXPECT_EQ(batches[0].target, this->kTarget);
    EXPECT_EQ(batches[0].bodies, (Bodies{"1", "2", "3"}));
    EXPECT_EQ(batches[0].attempt, 1);
    EXPECT_TRUE(this->claim("cd", 1).empty());
    EXPECT_EQ(this->counts().waiting, 3U);
    this->delivered("a");
    this->adapter_.reopen();
    EXPECT_EQ(this->counts().waiting, 0U);
    EXPECT_TRUE(this->claim("e").empty());
}

TYPED_TEST_P(WebhookOutboxContract, BatchesSideBySideHaveNoSubjectInCommon) {
    this->append({{"ann", "1"}, {"bob", "2"}, {"ann", "3"}, {"cat", "4"}});
    const auto first = this->claim("a", 0, 2);
    ASSERT_EQ(first.size(), 1U);
    EXPECT_EQ(first[0].bodies, (Bodies{"1", "2"}));
    const auto second = this->claim("b", 1, 2);  // Not ann's next, before her first has arrived.
    ASSERT_EQ(second.size(), 1U);
    EXPECT_EQ(second[0].bodies, Bodies{"4"});
    this->delivered("b", 1);
    EXPECT_TRUE(this->claim("c", 1).empty());
    this->delivered("a");
    EXPECT_EQ(this->claim("d", 1).at(0).bodies, Bodies{"3"});
}

TYPED_TEST_P(WebhookOutboxContract, AFailedBatchComesAgainAsItWasAndHoldsUpOnlyItsSubjects) {
    this->append({{"ann", "1"}});
    ASSERT_EQ(this->claim("a").size(), 1U);
    this->append({{"ann", "2"}, {"bob", "3"}});
    EXPECT_TRUE(this->adapter_.run(this->outbox().retry("a", Millis{10'000})));
    EXPECT_EQ(this->claim("b").at(0).bodies, Bodies{"3"});
    this->delivered("b");
    this->adapter_.pass(Millis{9'000});
    EXPECT_TRUE(this->claim("c").empty());
    this->adapter_.pass(Millis{2'000});
    const auto again = this->claim("d", 1);
    ASSERT_EQ(again.size(), 1U);
    EXPECT_EQ(again[0].id, "a");
    EXPECT_EQ(again[0].bodies, Bodies{"1"});
    EXPECT_EQ(again[0].attempt, 2);
    EXPECT_GE(again[0].age, Millis{10'900});
    EXPECT_LE(again[0].age, Millis{60'000});
    this->delivered("a", 1);
    EXPECT_EQ(this->claim("e").at(0).bodies, Bodies{"2"});
}

TYPED_TEST_P(WebhookOutboxContract, TheClaimOfADeadNodeComesBackWithTheSameId) {
    this->append({{"ann", "1"}});
    ASSERT_EQ(this->claim("a", 0).size(), 1U);
    this->adapter_.pass(Millis{59'000});
    EXPECT_TRUE(this->claim("b", 1).empty());
    this->adapter_.pass(Millis{2'000});
    const auto again = this->claim("c", 1);
    ASSERT_EQ(again.size(), 1U);
    EXPECT_EQ(again[0].id, "a");
    EXPECT_EQ(again[0].bodies, Bodies{"1"});
    EXPECT_EQ(again[0].attempt, 2);
}

TYPED_TEST_P(WebhookOutboxContract, WhatIsGivenUpBecomesADeadLetterAndFreesItsSubjects) {
    this->append({{"ann", "{\"a\":1}"}, {"bob", "{\"b\":\"\\n\"}"}});
    ASSERT_EQ(this->claim("a").size(), 1U);
    this->append({{"ann", "3"}});
    EXPECT_TRUE(this->adapter_.run(this->outbox().give_up("a", "it answered 500")));
    EXPECT_EQ(this->claim("b").at(0).bodies, Bodies{"3"});
    this->adapter_.reopen();
    const DeadLetters page =
        this->adapter_.run(this->outbox().dead_letters(std::nullopt, 10)).value();
    ASSERT_EQ(page.letters.size(), 1U);
    EXPECT_EQ(page.next, std::nullopt);
    EXPECT_EQ(page.letters[0].id, "a");
    EXPECT_EQ(page.letters[0].target, this->kTarget);
    EXPECT_EQ(page.letters[0].attempts, 1);
    EXPECT_EQ(page.letters[0].error, "it answered 500");
    EXPECT_EQ(page.letters[0].bodies, (Bodies{"{\"a\":1}", "{\"b\":\"\\n\"}"}));
    EXPECT_EQ(this->counts().dead, 1U);
    EXPECT_EQ(this->counts().waiting, 1U);
}

TYPED_TEST_P(WebhookOutboxContract, DeadLettersComePageByPage) {
    for (const char* id : {"a", "b", "c"}) {
        this->append({{"ann", id}});
        ASSERT_EQ(this->claim(id).size(), 1U);
        EXPECT_TRUE(this->adapter_.run(this->outbox().give_up(id, "")));
    }
    std::vector<std::string> ids;
    std::optional<std::int64_t> after;
    int pages = 0;
    do {
        const DeadLetters page = this->adapter_.run(this->outbox().dead_letters(after, 2)).value();
        for (const DeadLetter& letter : page.letters) {
            ids.push_back(letter.id);
        }
        after = page.next;
        ++pages;
    } while (after && pages < 10);
    EXPECT_EQ(ids, (std::vector<std::string>{"a", "b", "c"}));
    EXPECT_EQ(pages, 2);
}

TYPED_TEST_P(WebhookOutboxContract, TargetsAreApartAndOneCanBeForgotten) {
    this->append({{"ann", "1"}, {"bob", "2"}});
    this->append({{"ann", "1"}}, this->kOther);
    ASSERT_EQ(this->claim("a", 0, 1).size(), 1U);
    EXPECT_TRUE(this->adapter_.run(this->outbox().forget(this->kTarget)));
    EXPECT_TRUE(this->claim("b").empty());
    this->adapter_.pass(Millis{61'000});
    EXPECT_TRUE(this->claim("c").empty());
    EXPECT_EQ(this->claim("d", 0, 100, this->kOther).at(0).bodies, Bodies{"1"});
}

REGISTER_TYPED_TEST_SUITE_P(WebhookOutboxContract, GivesEventsInOrderAndForgetsWhatHasArrived,
                            BatchesSideBySideHaveNoSubjectInCommon,
                            AFailedBatchComesAgainAsItWasAndHoldsUpOnlyItsSubjects,
                            TheClaimOfADeadNodeComesBackWithTheSameId,
                            WhatIsGivenUpBecomesADeadLetterAndFreesItsSubjects,
                            DeadLettersComePageByPage, TargetsAreApartAndOneCanBeForgotten);

}  // namespace presence::testing
