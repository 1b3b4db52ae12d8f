#pragma once

#include "presence/ports/node_registry.h"
#include "presence/ports/session_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace presence::testing {

/// What every NodeRegistry promises, with the SessionStore beside it. An `Adapter` has
///   NodeRegistry& registry(int node)  two, 0 and 1, on the same store
///   SessionStore& store(int node)     likewise
///   T run(Task<T>)                    runs a call to its end
///   void pass(Millis)                 lets time pass, for leases too
///   void lose_all()                   the store loses its data
///   void know_life_of(UserId)         waits until a loss would be seen where the user's record is
template <class Adapter>
class NodeRegistryContract : public ::testing::Test {
protected:
    static constexpr Millis kTtl{8'000};
    static constexpr NodeId kFirst{11};
    static constexpr NodeId kSecond{22};

    Membership renew(int node, NodeId name, const std::string& asserted = "",
                     bool leaving = false) {
        return adapter_.run(adapter_.registry(node).renew({name, kTtl, leaving, asserted})).value();
    }
    static const NodeFacts* find(const Membership& membership, NodeId node) {
        const auto found = std::ranges::find(membership.nodes, node, &NodeFacts::node);
        return found == membership.nodes.end() ? nullptr : &*found;
    }
    static UserRecordRef record(std::uint64_t commit, std::vector<NodeId> nodes) {
        auto record = make_ref<UserRecord>();
        record->commit = commit;
        for (const NodeId node : nodes) {
            Session& session = record->sessions.emplace_back();
            session.id = SessionId("session " + std::to_string(record->sessions.size()));
            session.node = node;
        }
        return record;
    }
    CommitOutcome commit(int node, const UserId& user, std::uint64_t expected,
                         std::vector<NodeId> nodes) {
        return adapter_
            .run(adapter_.store(node).commit(
                {user, expected, record(expected + 1, std::move(nodes)), Millis{60'000}, nullptr}))
            .value();
    }
    std::vector<UserId> users_of(NodeId node, const UserId& neighbour, std::size_t limit = 100) {
        NodeRegistry& registry = adapter_.registry(0);
        auto left =
            adapter_.run(registry.left_of(node, registry.partition_of(neighbour), limit)).value();
        std::ranges::sort(left.users);
        return left.users;
    }
    std::size_t ends_of(NodeId node) {
        NodeRegistry& registry = adapter_.registry(0);
        return adapter_.run(registry.left_of(node, registry.partition_of(ada_), 1)).value().ends;
    }
    static LastSeenRow end_of(const UserId& user, std::int64_t at) {
        return {user, WallTime::from_ms(at), Version{static_cast<std::uint64_t>(at) * 2},
                Version{static_cast<std::uint64_t>(at) * 3}, WallTime::from_ms(at + 7)};
    }
    /// Ends the user's presence by a commit of `node`.
    CommitOutcome end(int node, const UserId& user, std::uint64_t expected, std::int64_t at) {
        Commit commit{user, expected, record(expected + 1, {}), Millis{60'000}, nullptr};
        commit.ended = end_of(user, at);
        return adapter_.run(adapter_.store(node).commit(std::move(commit))).value();
    }
    std::vector<LastSeenRow> take_ends(NodeId from, NodeId to, std::size_t limit = 100) {
        NodeRegistry& registry = adapter_.registry(1);
        return adapter_.run(registry.take_ends(from, to, registry.partition_of(ada_), limit))
            .value();
    }
    static bool same(const LastSeenRow& a, const LastSeenRow& b) {
        return a.user == b.user && a.last_seen == b.last_seen && a.own_version == b.own_version &&
               a.shown_version == b.shown_version && a.written_at == b.written_at;
    }
    bool entomb(NodeId node, const UserId& neighbour) {
        NodeRegistry& registry = adapter_.registry(0);
        const std::uint32_t partition = registry.partition_of(neighbour);
        return adapter_.run(registry.burn(node)).value() &&
               adapter_.run(registry.entomb(node, partition, 100)).has_value();
    }

    Adapter adapter_;
    const UserId ada_{"ada"};
};

TYPED_TEST_SUITE_P(NodeRegistryContract);

TYPED_TEST_P(NodeRegistryContract, ALeaseStandsUntilItsTimeIsOver) {
    this->renew(0, this->kFirst);
    this->adapter_.pass(this->kTtl / 2);
    const Membership both = this->renew(1, this->kSecond);
    ASSERT_NE(this->find(both, this->kFirst), nullptr);
    EXPECT_TRUE(this->find(both, this->kFirst)->alive);
    EXPECT_TRUE(this->find(both, this->kSecond)->alive);
    this->adapter_.pass(this->kTtl * 3 / 4);
    const Membership later = this->renew(1, this->kSecond);
    ASSERT_NE(this->find(later, this->kFirst), nullptr);
    EXPECT_FALSE(this->find(later, this->kFirst)->alive);
    EXPECT_EQ(this->find(later, this->kFirst)->renewed_at,
              this->find(both, this->kFirst)->renewed_at);
    EXPECT_LT(this->find(later, this->kFirst)->renewed_at, both.reference_now);
}

TYPED_TEST_P(NodeRegistryContract, WhatANodeSaysOfItselfReachesTheOthers) {
    this->renew(0, this->kFirst, "life 1", true);
    const Membership seen = this->renew(1, this->kSecond, "life 2");
    EXPECT_EQ(this->find(seen, this->kFirst)->asserted, "life 1");
    EXPECT_TRUE(this->find(seen, this->kFirst)->leaving);
    EXPECT_EQ(this->find(seen, this->kSecond)->asserted, "life 2");
    EXPECT_FALSE(this->find(seen, this->kSecond)->leaving);
}

TYPED_TEST_P(NodeRegistryContract, TheIndexFollowsTheRecords) {
    ASSERT_EQ(this->commit(0, this->ada_, 0, {this->kFirst, this->kSecond}),
              CommitOutcome::committed);
    EXPECT_EQ(this->users_of(this->kFirst, this->ada_), std::vector{this->ada_});
    EXPECT_EQ(this->users_of(this->kSecond, this->ada_), std::vector{this->ada_});
    ASSERT_EQ(this->commit(1, this->ada_, 1, {this->kSecond}), CommitOutcome::committed);
    EXPECT_TRUE(this->users_of(this->kFirst, this->ada_).empty());
    EXPECT_EQ(this->users_of(this->kSecond, this->ada_), std::vector{this->ada_});
    ASSERT_EQ(this->commit(1, this->ada_, 2, {}), CommitOutcome::committed);
    EXPECT_TRUE(this->users_of(this->kSecond, this->ada_).empty());
}

TYPED_TEST_P(NodeRegistryContract, AnIndexIsReadInBoundedParts) {
    NodeRegistry& registry = this->adapter_.registry(0);
    const std::uint32_t partition = registry.partition_of(this->ada_);
    std::size_t made = 0;
    for (int i = 0; made < 5; ++i) {
        const UserId user("user " + std::to_string(i));
        if (registry.partition_of(user) == partition) {
            ASSERT_EQ(this->commit(0, user, 0, {this->kFirst}), CommitOutcome::committed);
            ++made;
        }
    }
    EXPECT_EQ(this->users_of(this->kFirst, this->ada_).size(), 5U);
    EXPECT_EQ(this->users_of(this->kFirst, this->ada_, 3).size(), 3U);
}

TYPED_TEST_P(NodeRegistryContract, OneWhoseDeathIsBeingSettledWritesNoMore) {
    this->renew(0, this->kFirst);
    this->adapter_.store(0).set_node(this->kFirst);
    this->adapter_.store(1).set_node(this->kSecond);
    ASSERT_EQ(this->commit(0, this->ada_, 0, {this->kFirst}), CommitOutcome::committed);
    ASSERT_TRUE(this->entomb(this->kFirst, this->ada_));
    EXPECT_EQ(this->commit(0, this->ada_, 1, {this->kFirst}), CommitOutcome::fenced);
    EXPECT_EQ(this->commit(1, this->ada_, 1, {}), CommitOutcome::committed);
    const auto refused =
        this->adapter_.run(this->adapter_.registry(0).renew({this->kFirst, this->kTtl, false, ""}));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::conflict);
    // Under another name it may.
    this->adapter_.store(0).set_node(NodeId{33});
    EXPECT_EQ(this->commit(0, this->ada_, 2, {NodeId{33}}), CommitOutcome::committed);
}

TYPED_TEST_P(NodeRegistryContract, OneStepBuriesADeadNodeAndTellsWhatItLeft) {
    this->renew(0, this->kFirst);
    this->adapter_.store(0).set_node(this->kFirst);
    ASSERT_EQ(this->commit(0, this->ada_, 0, {this->kFirst}), CommitOutcome::committed);
    NodeRegistry& registry = this->adapter_.registry(1);
    ASSERT_TRUE(this->adapter_.run(registry.burn(this->kFirst)));
    EXPECT_EQ(this->commit(0, this->ada_, 1, {this->kFirst}), CommitOutcome::committed);
    const auto left =
        this->adapter_.run(registry.entomb(this->kFirst, registry.partition_of(this->ada_), 100));
    ASSERT_TRUE(left);
    EXPECT_EQ(left->users, std::vector{this->ada_});
    EXPECT_EQ(this->commit(0, this->ada_, 2, {this->kFirst}), CommitOutcome::fenced);
}

TYPED_TEST_P(NodeRegistryContract, OneThatIsForgottenIsKnownNoMoreButStaysFenced) {
    this->renew(0, this->kFirst);
    this->adapter_.store(0).set_node(this->kFirst);
    ASSERT_TRUE(this->entomb(this->kFirst, this->ada_));
    ASSERT_TRUE(this->adapter_.run(this->adapter_.registry(1).forget(this->kFirst)).value());
    EXPECT_EQ(this->find(this->renew(1, this->kSecond), this->kFirst), nullptr);
    EXPECT_EQ(this->commit(0, this->ada_, 0, {this->kFirst}), CommitOutcome::fenced);
    EXPECT_FALSE(this->adapter_.run(
        this->adapter_.registry(0).renew({this->kFirst, this->kTtl, false, ""})));
}

TYPED_TEST_P(NodeRegistryContract, OneThatTakesItsLeaveIsKnownNoMore) {
    this->renew(0, this->kFirst);
    ASSERT_TRUE(this->adapter_.run(this->adapter_.registry(0).forget(this->kFirst)).value());
    EXPECT_EQ(this->find(this->renew(1, this->kSecond), this->kFirst), nullptr);
}

TYPED_TEST_P(NodeRegistryContract, CommitCountersAreReadInOrder) {
    const UserId bob("bob");
    ASSERT_EQ(this->commit(0, this->ada_, 0, {}), CommitOutcome::committed);
    ASSERT_EQ(this->commit(0, bob, 0, {}), CommitOutcome::committed);
    ASSERT_EQ(this->commit(0, bob, 1, {}), CommitOutcome::committed);
    const auto commits = this->adapter_.run(this->adapter_.registry(1).commits_of(
        {bob, UserId("nobody"), this->ada_, bob}, std::nullopt));
    ASSERT_TRUE(commits);
    EXPECT_EQ(*commits, (std::vector<std::uint64_t>{2, 0, 1, 2}));
}

TYPED_TEST_P(NodeRegistryContract, AnotherIncarnationTellsThatAllIsLost) {
    const Membership before = this->renew(0, this->kFirst);
    EXPECT_EQ(this->renew(1, this->kSecond).incarnation, before.incarnation);
    ASSERT_EQ(this->commit(0, this->ada_, 0, {this->kFirst}), CommitOutcome::committed);
    this->adapter_.lose_all();
    const Membership after = this->renew(0, this->kFirst);
    EXPECT_NE(after.incarnation, before.incarnation);
    EXPECT_GE(after.begun_at, before.reference_now);
    EXPECT_LE(after.begun_at, after.reference_now);
    EXPECT_EQ(this->find(after, this->kSecond), nullptr);
    EXPECT_TRUE(this->users_of(this->kFirst, this->ada_).empty());
    const Membership seen_by_another = this->renew(1, this->kSecond);
    EXPECT_EQ(seen_by_another.incarnation, after.incarnation);
    EXPECT_EQ(seen_by_another.begun_at, after.begun_at);
}

TYPED_TEST_P(NodeRegistryContract, AReadTellsOfALossOfWhichItsReaderDoesNotKnow) {
    LossWatch watch;
    int found = 0;
    watch.found = [&found] { ++found; };
    this->adapter_.store(0).watch_losses(watch);
    const auto look = [&] {
        return this->adapter_.run(this->adapter_.store(0).load({this->ada_})).has_value();
    };
    this->adapter_.know_life_of(this->ada_);
    watch.known = this->renew(0, this->kFirst).losses;
    ASSERT_TRUE(look());
    EXPECT_EQ(found, 0);
    this->adapter_.lose_all();
    ASSERT_TRUE(look());
    EXPECT_EQ(found, 1);
    EXPECT_TRUE(watch.is_behind());
    // Once renewals tell of it, it is known.
    for (int i = 0; i < 100 && found > 0; ++i) {
        this->adapter_.pass(Millis{100});
        watch.known = this->renew(0, this->kFirst).losses;
        found = 0;
        ASSERT_TRUE(look());
    }
    EXPECT_EQ(found, 0);
    EXPECT_FALSE(watch.is_behind());
}

TYPED_TEST_P(NodeRegistryContract, EndsAreOwedUntilTheDatabaseHasThem) {
    this->adapter_.store(0).set_node(this->kFirst);
    ASSERT_EQ(this->end(0, this->ada_, 0, 5'000), CommitOutcome::committed);
    EXPECT_EQ(this->ends_of(this->kFirst), 1U);
    EXPECT_EQ(this->ends_of(this->kSecond), 0U);
    EXPECT_EQ(this->end(0, this->ada_, 0, 9'000), CommitOutcome::conflict);
    ASSERT_TRUE(
        this->adapter_.run(this->adapter_.store(0).drop_ends({this->end_of(this->ada_, 4'000)})));
    EXPECT_EQ(this->ends_of(this->kFirst), 1U) << "what is newer than what was written stays";
    const auto read = this->take_ends(this->kFirst, this->kFirst);
    ASSERT_EQ(read.size(), 1U);
    EXPECT_TRUE(this->same(read.at(0), this->end_of(this->ada_, 5'000)));
    ASSERT_TRUE(
        this->adapter_.run(this->adapter_.store(0).drop_ends({this->end_of(this->ada_, 5'000)})));
    EXPECT_EQ(this->ends_of(this->kFirst), 0U);
}

TYPED_TEST_P(NodeRegistryContract, OneThatIsAloneOwesNoEnds) {
    ASSERT_EQ(this->end(0, this->ada_, 0, 5'000), CommitOutcome::committed);
    EXPECT_EQ(this->ends_of(NodeId{}), 0U);
}

TYPED_TEST_P(NodeRegistryContract, EndsOfTheDeadAreTakenOverInBoundedParts) {
    this->adapter_.store(0).set_node(this->kFirst);
    this->adapter_.store(1).set_node(this->kSecond);
    NodeRegistry& registry = this->adapter_.registry(0);
    std::size_t made = 0;
    for (int i = 0; made < 5; ++i) {
        const UserId user("user " + std::to_string(i));
        if (registry.partition_of(user) == registry.partition_of(this->ada_)) {
            ASSERT_EQ(this->end(0, user, 0, 1'000 + i), CommitOutcome::committed);
            ++made;
        }
    }
    EXPECT_EQ(this->take_ends(this->kFirst, this->kSecond, 3).size(), 3U);
    EXPECT_EQ(this->ends_of(this->kFirst), 2U);
    EXPECT_EQ(this->ends_of(this->kSecond), 3U);
    EXPECT_EQ(this->take_ends(this->kFirst, this->kSecond, 3).size(), 2U);
    EXPECT_TRUE(this->take_ends(this->kFirst, this->kSecond, 3).empty());
    EXPECT_EQ(this->ends_of(this->kSecond), 5U);
}

TYPED_TEST_P(NodeRegistryContract, OfTwoEndsOfAUserTheNewerIsOwed) {
    this->adapter_.store(0).set_node(this->kFirst);
    this->adapter_.store(1).set_node(this->kSecond);
    ASSERT_EQ(this->end(0, this->ada_, 0, 5'000), CommitOutcome::committed);
    ASSERT_EQ(this->end(1, this->ada_, 1, 8'000), CommitOutcome::committed);
    EXPECT_EQ(this->take_ends(this->kFirst, this->kSecond).size(), 1U);
    const auto owed = this->take_ends(this->kSecond, this->kSecond);
    ASSERT_EQ(owed.size(), 1U);
    EXPECT_TRUE(this->same(owed.at(0), this->end_of(this->ada_, 8'000)));
    ASSERT_EQ(this->end(0, this->ada_, 2, 9'000), CommitOutcome::committed);
    EXPECT_EQ(this->take_ends(this->kFirst, this->kSecond).size(), 1U);
    EXPECT_TRUE(this->same(this->take_ends(this->kSecond, this->kSecond).at(0),
                           this->end_of(this->ada_, 9'000)));
}

REGISTER_TYPED_TEST_SUITE_P(
    NodeRegistryContract, ALeaseStandsUntilItsTimeIsOver, WhatANodeSaysOfItselfReachesTheOthers,
    TheIndexFollowsTheRecords, AnIndexIsReadInBoundedParts, OneWhoseDeathIsBeingSettledWritesNoMore,
    OneStepBuriesADeadNodeAndTellsWhatItLeft, OneThatIsForgottenIsKnownNoMoreButStaysFenced,
    OneThatTakesItsLeaveIsKnownNoMore, CommitCountersAreReadInOrder,
    AnotherIncarnationTellsThatAllIsLost, AReadTellsOfALossOfWhichItsReaderDoesNotKnow,
    EndsAreOwedUntilTheDatabaseHasThem, OneThatIsAloneOwesNoEnds,
    EndsOfTheDeadAreTakenOverInBoundedParts, OfTwoEndsOfAUserTheNewerIsOwed);

}  // namespace presence::testing
