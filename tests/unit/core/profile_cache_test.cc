#include "presence/core/profile_cache.h"

#include "presence/stores/memory/memory_profiles.h"

#include "support/run_task.h"
#include "support/virtual_time.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace presence {
namespace {

using testing::run_until_complete;
using testing::start_task;
using testing::Started;
using testing::VirtualClock;
using testing::VirtualScheduler;

const UserId kAnn("ann");
const UserId kBob("bob");

struct CacheTest : ::testing::Test {
    VirtualClock clock;
    VirtualScheduler scheduler{clock};
    MemoryProfiles profiles;
    MemoryProfileStore store{profiles, &scheduler};
    Limits limits;
    CoreCounters counters;
    ProfileCache cache{clock, store, limits, counters, 60s};

    ProfileAnswer get(const UserId& user) { return run_until_complete(scheduler, cache.get(user)); }
    void block(const UserId& user, const char* other) {
        UserSetChange change;
        change.add = UserSet({UserId(other)});
        MemoryProfileStore at_once(profiles);
        Result<ProfileChange> done =
            run_until_complete(at_once.change_blocks(user, std::move(change), 100));
        ASSERT_TRUE(done.has_value());
    }
    static std::size_t blocks_of(const ProfileAnswer& answer) {
        return answer.profile ? answer.profile->blocks.size() : 0;
    }
};

TEST_F(CacheTest, WhatWasReadIsGivenWithoutAskingAgainUntilItsTimeIsOver) {
    block(kAnn, "x");
    EXPECT_EQ(blocks_of(get(kAnn)), 1U);
    EXPECT_EQ(counters.profile_loads, 1U);
    clock.pass(59'999ms);
    EXPECT_EQ(blocks_of(get(kAnn)), 1U);
    EXPECT_EQ(counters.profile_loads, 1U);
    clock.pass(1ms);
    EXPECT_EQ(blocks_of(get(kAnn)), 1U);
    EXPECT_EQ(counters.profile_loads, 2U);
}

TEST_F(CacheTest, WhileNoWordOfChangesCanComeRulesAreReadAnewAfterASecond) {
    NodeView nodes;
    ProfileCache unheard(clock, store, limits, counters, 60s, &nodes);
    const auto blocks = [&] { return blocks_of(run_until_complete(scheduler, unheard.get(kAnn))); };
    EXPECT_EQ(blocks(), 0U);
    block(kAnn, "x");
    clock.pass(2s);
    EXPECT_EQ(blocks(), 0U);  // It would have been told.
    nodes.health = StoreHealth::down;
    EXPECT_EQ(blocks(), 1U);
    block(kAnn, "y");
    clock.pass(999ms);
    EXPECT_EQ(blocks(), 1U);
    clock.pass(1ms);
    EXPECT_EQ(blocks(), 2U);
}

TEST_F(CacheTest, WhileNeitherWordNorDatabaseCanBeHadWhatWasReadBeforeStaysInForce) {
    NodeView nodes;
    ProfileCache unheard(clock, store, limits, counters, 60s, &nodes);
    block(kAnn, "x");
    EXPECT_EQ(blocks_of(run_until_complete(scheduler, unheard.get(kAnn))), 1U);
    nodes.health = StoreHealth::down;
    profiles.faults().set_unavailable(true);
    clock.pass(5s);
    const ProfileAnswer answer = run_until_complete(scheduler, unheard.get(kAnn));
    EXPECT_TRUE(answer.known);
    EXPECT_EQ(blocks_of(answer), 1U);
}

TEST_F(CacheTest, OneOfWhomNothingIsStoredIsKnownToHaveNothing) {
    const ProfileAnswer answer = get(kAnn);
    EXPECT_TRUE(answer.known);
    EXPECT_EQ(answer.profile, nullptr);
    EXPECT_TRUE(get(kAnn).known);
    EXPECT_EQ(counters.profile_loads, 1U);
}

TEST_F(CacheTest, AnswersComeInTheOrderOfTheQuestionAlsoWithDoubles) {
    block(kBob, "x");
    std::vector<UserId> users{kBob, kAnn, kBob};
    const std::vector<ProfileAnswer> answers =
        run_until_complete(scheduler, cache.get(std::move(users)));
    ASSERT_EQ(answers.size(), 3U);
    EXPECT_EQ(blocks_of(answers[0]), 1U);
    EXPECT_EQ(blocks_of(answers[1]), 0U);
    EXPECT_EQ(blocks_of(answers[2]), 1U);
    EXPECT_EQ(counters.profile_loads, 2U);
}

TEST_F(CacheTest, EqualLookUpsUnderWayAreOne) {
    profiles.faults().set_delay(100ms);
    std::vector<Started<ProfileAnswer>> asked;
    for (int i = 0; i < 50; ++i) {
        asked.push_back(start_task(cache.get(kAnn)));
    }
    scheduler.advance(100ms);
    for (const Started<ProfileAnswer>& one : asked) {
        ASSERT_TRUE(one->has_value());
        EXPECT_TRUE((*one)->known);
    }
    EXPECT_EQ(counters.profile_loads, 1U);
}

TEST_F(CacheTest, EqualLookUpsUnderWayFailAsOneWhileTheDatabaseIsAway) {
    profiles.faults().set_delay(500ms);
    profiles.set_unavailable(true);
    std::vector<Started<ProfileAnswer>> asked;
    for (int i = 0; i < 50; ++i) {
        asked.push_back(start_task(cache.get(kAnn)));
    }
    scheduler.advance(500ms);
    for (const Started<ProfileAnswer>& one : asked) {
        ASSERT_TRUE(one->has_value());  // Not one after the other, each with its own wait.
        EXPECT_FALSE((*one)->known);
    }
    EXPECT_EQ(counters.profile_failures, 1U);
}

TEST_F(CacheTest, ALookUpBegunBeforeAnInvalidationIsNeitherUsedNorKept) {
    profiles.faults().set_delay(100ms);
    Started<ProfileAnswer> asked = start_task(cache.get(kAnn));
    scheduler.advance(50ms);
    cache.invalidate(kAnn);
    scheduler.advance(50ms);
    EXPECT_FALSE(asked->has_value());  // The first answer is not believed.
    scheduler.advance(100ms);
    ASSERT_TRUE(asked->has_value());
    EXPECT_TRUE((*asked)->known);
    EXPECT_EQ(counters.profile_loads, 2U);
}

TEST_F(CacheTest, ALookUpOvertakenAgainAndAgainIsAnsweredByTheFirstReadThatIsNot) {
    profiles.faults().set_delay(100ms);
    Started<ProfileAnswer> asked = start_task(cache.get(kAnn));
    for (int change = 0; change < 10; ++change) {
        scheduler.advance(50ms);
        cache.invalidate(kAnn);
        scheduler.advance(50ms);
        ASSERT_FALSE(asked->has_value()) << change;
    }
    scheduler.advance(100ms);
    ASSERT_TRUE(asked->has_value());
    EXPECT_TRUE((*asked)->known);
    EXPECT_FALSE((*asked)->overtaken);
    EXPECT_EQ(counters.profile_loads, 11U);
}

TEST_F(CacheTest, ALookUpOvertakenWithoutEndSaysSoAndIsNotTakenForAnOutage) {
    profiles.faults().set_delay(100ms);
    Started<ProfileAnswer> asked = start_task(cache.get(kAnn));
    for (int change = 0; change < 100 && !asked->has_value(); ++change) {
        scheduler.advance(50ms);
        cache.invalidate(kAnn);
        scheduler.advance(50ms);
    }
    ASSERT_TRUE(asked->has_value());
    EXPECT_FALSE((*asked)->known);
    EXPECT_TRUE((*asked)->overtaken);
    EXPECT_EQ(counters.profile_loads, 20U);
    profiles.set_unavailable(true);
    Started<ProfileAnswer> in_outage = start_task(cache.get(kAnn));
    scheduler.advance(100ms);
    ASSERT_TRUE(in_outage->has_value());
    EXPECT_FALSE((*in_outage)->known);
    EXPECT_FALSE((*in_outage)->overtaken);
}

TEST_F(CacheTest, AfterAnInvalidationTheNextLookReadsAgain) {
    EXPECT_EQ(blocks_of(get(kAnn)), 0U);
    block(kAnn, "x");
    EXPECT_EQ(blocks_of(get(kAnn)), 0U);
    cache.invalidate(kAnn);
    EXPECT_EQ(blocks_of(get(kAnn)), 1U);
}

TEST_F(CacheTest, WhileTheDatabaseIsAwayWhatWasReadStaysInForce) {
    block(kAnn, "x");
    ASSERT_EQ(blocks_of(get(kAnn)), 1U);
    profiles.set_unavailable(true);
    clock.pass(1h);
    const ProfileAnswer answer = get(kAnn);
    EXPECT_TRUE(answer.known);
    EXPECT_EQ(blocks_of(answer), 1U);
}

TEST_F(CacheTest, WhatIsOutdatedIsReadAgainAndStaysInForceWhileTheDatabaseIsAway) {
    EXPECT_EQ(blocks_of(get(kAnn)), 0U);
    block(kAnn, "x");
    cache.outdate(kAnn);
    EXPECT_EQ(blocks_of(get(kAnn)), 1U);
    EXPECT_EQ(blocks_of(get(kAnn)), 1U);
    EXPECT_EQ(counters.profile_loads, 2U);
    cache.outdate(kAnn);
    profiles.set_unavailable(true);
    const ProfileAnswer answer = get(kAnn);
    EXPECT_TRUE(answer.known);
    EXPECT_EQ(blocks_of(answer), 1U);
}

TEST_F(CacheTest, WhileTheDatabaseIsAwayOneNeverReadIsNotKnown) {
    profiles.set_unavailable(true);
    EXPECT_FALSE(get(kAnn).known);
    profiles.set_unavailable(false);
    EXPECT_TRUE(get(kAnn).known);
}

TEST_F(CacheTest, WhatIsKnownToBeVoidIsNeverUsedAlsoWhileTheDatabaseIsAway) {
    ASSERT_TRUE(get(kAnn).known);
    block(kAnn, "x");
    profiles.set_unavailable(true);
    cache.invalidate(kAnn);
    EXPECT_FALSE(get(kAnn).known);
    profiles.set_unavailable(false);
    EXPECT_EQ(blocks_of(get(kAnn)), 1U);
}

TEST_F(CacheTest, AnInvalidationOfOneDuringALoadOfManyReadsOnlyThatOneAgain) {
    profiles.faults().set_delay(100ms);
    std::vector<UserId> users{kAnn, kBob};
    Started<std::vector<ProfileAnswer>> asked = start_task(cache.get(std::move(users)));
    scheduler.advance(50ms);
    block(kBob, "x");
    cache.invalidate(kBob);
    scheduler.advance(150ms);
    ASSERT_TRUE(asked->has_value());
    EXPECT_TRUE((**asked)[0].known);
    EXPECT_EQ(blocks_of((**asked)[1]), 1U);
    EXPECT_EQ(counters.profile_loads, 3U);
}

TEST_F(CacheTest, ItIsBoundedAndWhatWasPutOutIsReadAgain) {
    limits.profile_cache = 100;
    for (int i = 0; i < 1000; ++i) {
        (void)get(UserId("user" + std::to_string(i)));
        ASSERT_LE(cache.size(), 100U);
    }
    EXPECT_EQ(counters.profile_evictions, 900U);
    block(kAnn, "x");
    EXPECT_EQ(blocks_of(get(kAnn)), 1U);
}

TEST_F(CacheTest, AQuestionAboutMorePeopleThanFitIsAnsweredForAllOfThem) {
    limits.profile_cache = 8;
    std::vector<UserId> users;
    for (int i = 0; i < 40; ++i) {
        users.emplace_back("user" + std::to_string(i));
        block(users.back(), "x");
    }
    const std::vector<ProfileAnswer> answers =
        run_until_complete(scheduler, cache.get(std::move(users)));
    for (const ProfileAnswer& answer : answers) {
        EXPECT_TRUE(answer.known);
        EXPECT_EQ(blocks_of(answer), 1U);
    }
}

TEST_F(CacheTest, AReadUnderWayWhenNewerRulesAreHeardOfIsMadeAgain) {
    profiles.faults().set_delay(100ms);
    const Started<ProfileAnswer> answer = start_task(cache.get(kAnn));
    scheduler.advance(50ms);
    block(kAnn, "x");
    static_cast<void>(cache.heard(kAnn, 1));
    scheduler.advance(500ms);
    ASSERT_TRUE(answer->has_value());
    EXPECT_EQ(blocks_of(**answer), 1U);
    EXPECT_EQ(counters.profile_loads, 2U);
}

TEST_F(CacheTest, AfterAGapTheCopiesOfItsPartitionsAreVoidAndNoOthers) {
    constexpr std::size_t kPartitions = 64;
    const Partition of_ann = Partition::of(kAnn, kPartitions);
    ASSERT_FALSE(of_ann.holds(kBob));
    static_cast<void>(get(kAnn));
    static_cast<void>(get(kBob));
    block(kAnn, "x");
    block(kBob, "x");
    PartitionSet lost(kPartitions);
    lost.insert(of_ann.index);
    cache.invalidate(lost);
    EXPECT_EQ(blocks_of(get(kAnn)), 1U);
    EXPECT_EQ(blocks_of(get(kBob)), 0U);
}

}  // namespace
}  // namespace presence
