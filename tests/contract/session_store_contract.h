#pragma once

#include "presence/ports/session_store.h"

#include "contract/nasty_ids.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

namespace presence::testing {

/// What every SessionStore promises. An `Adapter` has
///   SessionStore& store(int thread)         two objects, 0 and 1, on the same records
///   T run(Task<T>)                          runs a call to its end
///   void pass(Millis)                       lets time pass
///   std::vector<PresenceEventRef> events()  what was published so far, in order
///   void set_unavailable(bool)
///   kSlack                                  how exact its time is
template <class Adapter>
class SessionStoreContract : public ::testing::Test {
protected:
    static constexpr Millis kKeep{60'000};

    static UserRecordRef record(std::uint64_t commit, bool with_session = false) {
        auto record = make_ref<UserRecord>();
        record->commit = commit;
        record->presence.own_version = Version{commit * 10};
        if (with_session) {
            record->sessions.emplace_back().id = SessionId("session");
        }
        return record;
    }
    static PresenceEventRef event(const UserId& user, std::uint64_t version) {
        auto event = std::make_shared<PresenceEvent>();
        event->user = user;
        event->presence.own_version = Version{version};
        return event;
    }

    Result<CommitOutcome> commit(const UserId& user, std::uint64_t expected, UserRecordRef next,
                                 PresenceEventRef published = nullptr, int thread = 0,
                                 Millis keep = kKeep) {
        return adapter_.run(adapter_.store(thread).commit(
            {user, expected, std::move(next), keep, std::move(published)}));
    }
    UserRecordRef load(const UserId& user, int thread = 0) {
        return adapter_.run(adapter_.store(thread).load({user})).value().at(0);
    }

    Adapter adapter_;
    const UserId user_{"ada"};
};

TYPED_TEST_SUITE_P(SessionStoreContract);

TYPED_TEST_P(SessionStoreContract, NothingIsStoredAtFirst) {
    const auto records =
        this->adapter_.run(this->adapter_.store(0).load({this->user_, UserId("bob")}));
    ASSERT_TRUE(records);
    ASSERT_EQ(records->size(), 2U);
    EXPECT_EQ(records->at(0), nullptr);
    EXPECT_EQ(records->at(1), nullptr);
}

TYPED_TEST_P(SessionStoreContract, LoadsInTheOrderOfTheQuestion) {
    const UserId bob("bob");
    ASSERT_EQ(this->commit(this->user_, 0, this->record(1)).value(), CommitOutcome::committed);
    ASSERT_EQ(this->commit(bob, 0, this->record(2)).value(), CommitOutcome::committed);
    const auto records =
        this->adapter_.run(this->adapter_.store(1).load({bob, UserId("nobody"), this->user_, bob}));
    ASSERT_EQ(records->size(), 4U);
    EXPECT_EQ(records->at(0)->commit, 2U);
    EXPECT_EQ(records->at(1), nullptr);
    EXPECT_EQ(records->at(2)->commit, 1U);
    EXPECT_EQ(records->at(3)->commit, 2U);
}

TYPED_TEST_P(SessionStoreContract, ACommitOnAnOldRecordIsAConflictAndChangesNothing) {
    ASSERT_EQ(this->commit(this->user_, 0, this->record(1)).value(), CommitOutcome::committed);
    ASSERT_EQ(this->commit(this->user_, 1, this->record(2), nullptr, 1).value(),
              CommitOutcome::committed);
    EXPECT_EQ(this->commit(this->user_, 1, this->record(3)).value(), CommitOutcome::conflict);
    EXPECT_EQ(this->commit(this->user_, 0, this->record(3)).value(), CommitOutcome::conflict);
    EXPECT_EQ(this->commit(this->user_, 5, this->record(6)).value(), CommitOutcome::conflict);
    EXPECT_EQ(this->load(this->user_)->commit, 2U);
}

TYPED_TEST_P(SessionStoreContract, OfManyCommitsEachStandsOrFallsByItself) {
    const UserId bob("bob");
    ASSERT_EQ(this->commit(bob, 0, this->record(1)).value(), CommitOutcome::committed);
    std::vector<Commit> commits;
    commits.push_back({this->user_, 0, this->record(1), this->kKeep, this->event(this->user_, 3)});
    commits.push_back({bob, 0, this->record(1), this->kKeep, this->event(bob, 4)});
    for (const char* name : {"c", "d", "e", "f"}) {
        commits.push_back({UserId(name), 0, this->record(1), this->kKeep, nullptr});
    }
    const auto outcomes =
        this->adapter_.run(this->adapter_.store(0).commit_many(std::move(commits)));
    ASSERT_TRUE(outcomes);
    EXPECT_EQ(*outcomes, (std::vector{CommitOutcome::committed, CommitOutcome::conflict,
                                      CommitOutcome::committed, CommitOutcome::committed,
                                      CommitOutcome::committed, CommitOutcome::committed}));
    EXPECT_EQ(this->load(UserId("f"), 1)->commit, 1U);
    const std::vector<PresenceEventRef> events = this->adapter_.events();
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0]->user, this->user_);
    EXPECT_TRUE(this->adapter_.run(this->adapter_.store(0).commit_many({}))->empty());
}

TYPED_TEST_P(SessionStoreContract, OnlyACommitThatSucceedsIsPublished) {
    const UserId& user = this->user_;
    ASSERT_EQ(this->commit(user, 0, this->record(1), this->event(user, 11)).value(),
              CommitOutcome::committed);
    ASSERT_EQ(this->commit(user, 0, this->record(2), this->event(user, 12)).value(),
              CommitOutcome::conflict);
    ASSERT_EQ(this->commit(user, 1, this->record(2)).value(), CommitOutcome::committed);
    ASSERT_EQ(this->commit(user, 2, this->record(3), this->event(user, 13), 1).value(),
              CommitOutcome::committed);
    const std::vector<PresenceEventRef> events = this->adapter_.events();
    ASSERT_EQ(events.size(), 2U);
    EXPECT_EQ(events[0]->presence.own_version, Version{11});
    EXPECT_EQ(events[1]->presence.own_version, Version{13});
}

TYPED_TEST_P(SessionStoreContract, ARecordWithoutSessionsGoesWhenItsTimeIsOver) {
    ASSERT_EQ(this->commit(this->user_, 0, this->record(1)).value(), CommitOutcome::committed);
    this->adapter_.pass(this->kKeep - TypeParam::kSlack);
    EXPECT_NE(this->load(this->user_), nullptr);
    this->adapter_.pass(TypeParam::kSlack);
    EXPECT_EQ(this->load(this->user_), nullptr);
    EXPECT_EQ(this->commit(this->user_, 1, this->record(2)).value(), CommitOutcome::conflict);
    EXPECT_EQ(this->commit(this->user_, 0, this->record(1)).value(), CommitOutcome::committed);
}

TYPED_TEST_P(SessionStoreContract, TheTimeCountsFromTheLastCommit) {
    ASSERT_EQ(this->commit(this->user_, 0, this->record(1)).value(), CommitOutcome::committed);
    this->adapter_.pass(this->kKeep / 2);
    ASSERT_EQ(this->commit(this->user_, 1, this->record(2)).value(), CommitOutcome::committed);
    this->adapter_.pass(this->kKeep - TypeParam::kSlack);
    EXPECT_NE(this->load(this->user_), nullptr);
    this->adapter_.pass(TypeParam::kSlack);
    EXPECT_EQ(this->load(this->user_), nullptr);
}

TYPED_TEST_P(SessionStoreContract, ARecordWithASessionStays) {
    ASSERT_EQ(this->commit(this->user_, 0, this->record(1)).value(), CommitOutcome::committed);
    ASSERT_EQ(this->commit(this->user_, 1, this->record(2, true)).value(),
              CommitOutcome::committed);
    this->adapter_.pass(100 * this->kKeep);
    ASSERT_NE(this->load(this->user_), nullptr);
    ASSERT_EQ(this->commit(this->user_, 2, this->record(3)).value(), CommitOutcome::committed);
    this->adapter_.pass(this->kKeep);
    EXPECT_EQ(this->load(this->user_), nullptr);
}

TYPED_TEST_P(SessionStoreContract, AnErasedRecordIsGone) {
    ASSERT_EQ(this->commit(this->user_, 0, this->record(1, true)).value(),
              CommitOutcome::committed);
    EXPECT_TRUE(this->adapter_.run(this->adapter_.store(1).erase(this->user_)));
    EXPECT_TRUE(this->adapter_.run(this->adapter_.store(1).erase(UserId("never there"))));
    EXPECT_EQ(this->load(this->user_), nullptr);
    EXPECT_EQ(this->commit(this->user_, 0, this->record(1)).value(), CommitOutcome::committed);
    this->adapter_.pass(this->kKeep);
    EXPECT_EQ(this->load(this->user_), nullptr);
}

TYPED_TEST_P(SessionStoreContract, UnavailableChangesNothingAndHealsByItself) {
    ASSERT_EQ(this->commit(this->user_, 0, this->record(1)).value(), CommitOutcome::committed);
    this->adapter_.set_unavailable(true);
    const auto loaded = this->adapter_.run(this->adapter_.store(0).load({this->user_}));
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().code, ErrorCode::unavailable);
    const auto committed =
        this->commit(this->user_, 1, this->record(2), this->event(this->user_, 12));
    ASSERT_FALSE(committed);
    EXPECT_EQ(committed.error().code, ErrorCode::unavailable);
    const auto erased = this->adapter_.run(this->adapter_.store(0).erase(this->user_));
    ASSERT_FALSE(erased);
    EXPECT_EQ(erased.error().code, ErrorCode::unavailable);
    this->adapter_.set_unavailable(false);
    EXPECT_EQ(this->load(this->user_)->commit, 1U);
    EXPECT_TRUE(this->adapter_.events().empty());
}

TYPED_TEST_P(SessionStoreContract, FO_069_FO_071_IdsAreComparedByteForByte) {
    const std::vector<UserId> ids = nasty_ids();
    std::uint64_t commit = 0;
    for (const UserId& id : ids) {
        ++commit;
        ASSERT_EQ(this->commit(id, 0, this->record(commit)).value(), CommitOutcome::committed)
            << id.text.view();
    }
    const auto records = this->adapter_.run(this->adapter_.store(1).load(ids));
    ASSERT_EQ(records->size(), ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
        ASSERT_NE(records->at(i), nullptr) << ids[i].text.view();
        EXPECT_EQ(records->at(i)->commit, i + 1) << ids[i].text.view();
    }
}

REGISTER_TYPED_TEST_SUITE_P(
    SessionStoreContract, NothingIsStoredAtFirst, LoadsInTheOrderOfTheQuestion,
    ACommitOnAnOldRecordIsAConflictAndChangesNothing, OfManyCommitsEachStandsOrFallsByItself,
    OnlyACommitThatSucceedsIsPublished, ARecordWithoutSessionsGoesWhenItsTimeIsOver,
    TheTimeCountsFromTheLastCommit, ARecordWithASessionStays, AnErasedRecordIsGone,
    UnavailableChangesNothingAndHealsByItself, FO_069_FO_071_IdsAreComparedByteForByte);

}  // namespace presence::testing
