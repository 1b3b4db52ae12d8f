// What a thread remembers of the last hour, and when it forgets.

#include "presence/core/transition_memory.h"

#include "support/virtual_time.h"

#include <gmock/gmock.h>

namespace presence {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const UserId kAnn("ann");
const UserId kBob("bob");
constexpr NodeId kHere{7};

struct TransitionMemoryTest : ::testing::Test {
    testing::VirtualClock clock;
    Limits limits;
    CoreCounters counters;
    TransitionMemory memory{clock, limits, counters};

    static UserRecord record(Status status) {
        UserRecord record;
        record.presence.own.status = record.presence.shown.status = status;
        return record;
    }
    void note(const UserId& user, Status before, Status after, Cause cause = Cause::status) {
        memory.note(user, cause, kHere, record(before), record(after));
    }
    std::vector<Status> after_of(const UserId& user) {
        std::vector<Status> after;
        for (const PastTransition& one : memory.of(user).transitions) {
            after.push_back(one.after.own);
        }
        return after;
    }
};

TEST_F(TransitionMemoryTest, ATransitionComesBackAsItWas) {
    UserRecord before = record(Status::online);
    UserRecord after = record(Status::invisible);
    after.presence.shown.status = Status::offline;
    after.presence.shown_version = Version{99};
    after.presence.own.devices.insert(DeviceKind::web);
    Session session;
    session.id = SessionId("abcdefghijklmno");
    after.sessions.push_back(session);
    const WallTime at = clock.wall_now();
    memory.note(kAnn, Cause::connect, kHere, before, after);
    clock.pass(5s);

    const Past past = memory.of(kAnn);
    ASSERT_THAT(past.transitions, SizeIs(1));
    const PastTransition expected{at,
                                  "connect",
                                  kHere,
                                  session.id,
                                  {Status::online, Status::online},
                                  {Status::invisible, Status::offline},
                                  Version{99},
                                  true,
                                  false,
                                  false};
    EXPECT_EQ(past.transitions.front(), expected);
    EXPECT_EQ(past.since, at);
    EXPECT_THAT(memory.of(UserId("an")).transitions, IsEmpty());
}

TEST_F(TransitionMemoryTest, WhatWasNotSaidForCertainIsRememberedAsUnknown) {
    UserRecord before = record(Status::online);
    before.presence.doubtful = true;
    memory.note(kAnn, Cause::resume, kHere, before, record(Status::online));
    EXPECT_EQ(memory.of(kAnn).transitions.front().before.shown, Status::unknown);
}

TEST_F(TransitionMemoryTest, WhatNobodyCouldSeeIsNotRemembered) {
    UserRecord declared = record(Status::offline);
    declared.presence.declared.status = DeclaredStatus::busy;
    declared.presence.own_version = Version{5};
    memory.note(kAnn, Cause::status, kHere, record(Status::offline), declared);
    EXPECT_THAT(after_of(kAnn), IsEmpty());
}

TEST_F(TransitionMemoryTest, TheNewestThirtyTwoOfAUserAreTold) {
    for (int i = 0; i < 40; ++i) {
        note(kAnn, Status::online, i % 2 == 0 ? Status::busy : Status::dnd);
        note(kBob, Status::online, Status::away);
        clock.pass(1s);
    }
    const Past past = memory.of(kAnn);
    ASSERT_THAT(past.transitions, SizeIs(Past::kMost));
    EXPECT_EQ(past.since, past.transitions.front().at);
    EXPECT_EQ(past.transitions.back().at, clock.wall_now() - 1s);
    EXPECT_EQ(past.transitions.back().after.own, Status::dnd);
}

TEST_F(TransitionMemoryTest, AfterAnHourItIsForgottenAndNotCountedAsLost) {
    note(kAnn, Status::offline, Status::online);
    clock.pass(30min);
    note(kAnn, Status::online, Status::busy);
    clock.pass(30min + 1s);
    EXPECT_THAT(after_of(kAnn), ElementsAre(Status::busy));
    EXPECT_EQ(memory.of(kAnn).since, clock.wall_now() - 1h);
    clock.pass(1h);
    note(kBob, Status::offline, Status::online);
    EXPECT_LT(memory.bytes(), 80U);  // Bob's alone.
    EXPECT_EQ(counters.transitions_forgotten, 0U);
}

TEST_F(TransitionMemoryTest, OverItsBytesTheOldestGoAndAreCounted) {
    limits.transition_memory = 4096;
    note(kAnn, Status::offline, Status::online);
    std::uint64_t noted = 1;
    while (counters.transitions_forgotten == 0) {
        clock.pass(1s);
        note(kBob, Status::online, Status::busy);
        ++noted;
        ASSERT_LE(memory.bytes(), limits.transition_memory);
        ASSERT_LT(noted, 1000U);
    }
    EXPECT_GT(noted, 60U);  // Some fifty bytes each.
    EXPECT_THAT(after_of(kAnn), IsEmpty());
    // What is left of the time before may have holes.
    EXPECT_GT(memory.of(kAnn).since, clock.wall_now() - Millis{1000 * 60 * 60});
    EXPECT_GE(memory.of(kBob).transitions.front().at, memory.of(kBob).since);
}

TEST_F(TransitionMemoryTest, WithoutRoomNothingIsRememberedAndThatIsSaid) {
    limits.transition_memory = 0;
    clock.pass(10s);
    note(kAnn, Status::offline, Status::online);
    EXPECT_THAT(after_of(kAnn), IsEmpty());
    EXPECT_EQ(memory.of(kAnn).since, clock.wall_now());
    EXPECT_EQ(memory.bytes(), 0U);
    EXPECT_EQ(counters.transitions_forgotten, 1U);
}

TEST_F(TransitionMemoryTest, AnErasedUserIsForgottenAndTheOthersAreNot) {
    note(kAnn, Status::offline, Status::online);
    note(kBob, Status::offline, Status::online);
    note(kAnn, Status::online, Status::busy);
    memory.forget(kAnn);
    EXPECT_THAT(after_of(kAnn), IsEmpty());
    EXPECT_THAT(after_of(kBob), ElementsAre(Status::online));
    note(kAnn, Status::offline, Status::away);
    EXPECT_THAT(after_of(kAnn), ElementsAre(Status::away));
}

TEST_F(TransitionMemoryTest, ANodeThatGoesByAnotherNameIsNamedByTheOneOfThen) {
    memory.note(kAnn, Cause::status, NodeId{1}, record(Status::online), record(Status::busy));
    memory.note_rules(kAnn, NodeId{2});
    const Past past = memory.of(kAnn);
    ASSERT_THAT(past.transitions, SizeIs(2));
    EXPECT_EQ(past.transitions[0].node, NodeId{1});
    EXPECT_EQ(past.transitions[1].node, NodeId{2});
    EXPECT_TRUE(past.transitions[1].rules_changed);
    EXPECT_EQ(past.transitions[1].cause, "privacy");
}

TEST(SessionConcerned, IsTheOneThatCameWentOrChanged) {
    Session phone;
    phone.id = SessionId("phone");
    Session laptop;
    laptop.id = SessionId("laptop");
    laptop.active_rank = 3;
    UserRecord one;
    one.sessions = {laptop};
    UserRecord both;
    both.sessions = {laptop, phone};
    EXPECT_EQ(session_concerned(one, both), phone.id);
    EXPECT_EQ(session_concerned(both, one), phone.id);
    UserRecord idle = both;
    idle.sessions[1].idle = true;
    idle.sessions[0].active_rank = 2;  // Its place in the order moved, no more.
    EXPECT_EQ(session_concerned(both, idle), phone.id);
    EXPECT_EQ(session_concerned(both, both), SessionId());
    EXPECT_EQ(session_concerned(both, UserRecord()), SessionId());
}

}  // namespace
}  // namespace presence
