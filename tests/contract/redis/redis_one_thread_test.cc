// A node whose only thread keeps the store's connections, too: what it does on its own thread, it
// does in the same order, and loses nothing.

#include "contract/redis/redis_node.h"
#include "contract/redis/redis_server.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace presence::testing {

namespace {

const UserId kAda("ada");

class RedisOneThread : public ::testing::Test {
protected:
    void SetUp() override {
        ASSERT_TRUE(node_.client->wait_for_first_contact(Millis{5'000}).value());
    }
    RedisServer server_;
    OneThreadRedisNode node_{server_.config()};
};

TEST_F(RedisOneThread, FirstContactIsMadeBeforeAnybodyRunsTheLoop) {
    EXPECT_TRUE(node_.client->usable());
}

TEST_F(RedisOneThread, UpdatesOfAUserAreHeardInTheirOrderAndOnce) {
    constexpr std::uint64_t kCommits = 300;
    ASSERT_TRUE(node_.subscribe({kAda}));
    for (std::uint64_t commit = 1; commit <= kCommits; ++commit) {
        ASSERT_EQ(node_.commit(kAda, commit).value(), CommitOutcome::committed);
        ASSERT_TRUE(node_.until([&] { return node_.receiver.newest["ada"] == commit; }));
    }
    EXPECT_EQ(node_.receiver.told["ada"], static_cast<int>(kCommits));
}

TEST_F(RedisOneThread, WhatIsPublishedBeforeACommitIsHeardBefore) {
    ASSERT_TRUE(node_.subscribe({kAda}));
    // So that the server knows the script, and it need not be sent twice.
    ASSERT_EQ(node_.commit(UserId("bob"), 1).value(), CommitOutcome::committed);
    auto first = std::make_shared<PresenceEvent>();
    first->user = kAda;
    first->presence.own_version = Version{1};
    auto second = std::make_shared<PresenceEvent>(*first);
    second->presence.own_version = Version{2};
    Started<Result<CommitOutcome>> committed;
    node_.loop.scheduler().post([&] {
        node_.bus->endpoint(0).publish(first);
        committed = start_task(
            node_.store.commit({kAda, 0, OneThreadRedisNode::record(2), Millis{60'000}, second}));
    });
    ASSERT_TRUE(node_.until([&] { return node_.receiver.told["ada"] == 2; }));
    EXPECT_EQ(node_.receiver.newest["ada"], 2U);
}

TEST_F(RedisOneThread, WhatOneTurnHandsInGoesOutTogether) {
    const std::uint64_t commands = node_.client->wire_counters().commands;
    const std::uint64_t writes = node_.client->wire_counters().writes;
    std::vector<Started<Result<std::vector<UserRecordRef>>>> calls;
    node_.loop.scheduler().post([&] {
        for (int i = 0; i < 500; ++i) {
            calls.push_back(start_task(node_.store.load({UserId("user " + std::to_string(i))})));
        }
    });
    ASSERT_TRUE(node_.until([&] {
        return !calls.empty() && std::ranges::all_of(calls, [](const auto& call) {
            return call->has_value() && (*call)->has_value();
        });
    }));
    const double per_write =
        static_cast<double>(node_.client->wire_counters().commands - commands) /
        static_cast<double>(node_.client->wire_counters().writes - writes);
    EXPECT_GT(per_write, 50.0);
}

TEST_F(RedisOneThread, WhatTheKernelDoesNotTakeGoesOutWhenItDoes) {
    // More than both sockets hold, while the server stands still.
    const std::string text(100'000, 'x');
    constexpr int kCalls = 200;
    server_.signal(SIGSTOP);
    int answered = 0;
    node_.loop.scheduler().post([&] {
        for (int i = 0; i < kCalls; ++i) {
            redis::Command command{{"ECHO", text}, 0, nullptr, false};
            node_.client->thread().dispatch([&, command = std::move(command)]() mutable {
                node_.client->execute(std::move(command), [&](const Result<redis::Reply>& reply) {
                    answered += reply && reply->view().text() == text ? 1 : 0;
                });
            });
        }
    });
    node_.pass(Millis{100});
    EXPECT_EQ(answered, 0);
    server_.signal(SIGCONT);
    EXPECT_TRUE(node_.until([&] { return answered == kCalls; }));
}

TEST_F(RedisOneThread, OverTheQueueCallsAreRefusedAndTheOthersAnswered) {
    redis::RedisConfig config = server_.config();
    config.queue = 100;
    OneThreadRedisNode node(config, 2);
    ASSERT_TRUE(node.client->wait_for_first_contact(Millis{5'000}).value());
    std::vector<Started<Result<std::vector<UserRecordRef>>>> calls;
    node.loop.scheduler().post([&] {
        for (int i = 0; i < 300; ++i) {
            calls.push_back(start_task(node.store.load({kAda})));
        }
    });
    ASSERT_TRUE(node.until([&] {
        return !calls.empty() &&
               std::ranges::all_of(calls, [](const auto& call) { return call->has_value(); });
    }));
    const auto good =
        std::ranges::count_if(calls, [](const auto& call) { return (*call)->has_value(); });
    EXPECT_EQ(good, 100);
    EXPECT_EQ(node.client->waiting(), 0U);
}

TEST_F(RedisOneThread, AServerThatComesBackIsFoundAgain) {
    ASSERT_TRUE(node_.subscribe({kAda}));
    ASSERT_EQ(node_.commit(kAda, 1).value(), CommitOutcome::committed);
    ASSERT_TRUE(node_.until([&] { return node_.receiver.told["ada"] == 1; }));
    server_.stop();
    ASSERT_TRUE(node_.until([&] { return !node_.client->usable(); }));
    EXPECT_EQ(node_.stored(kAda), -1);
    server_.start();
    ASSERT_TRUE(node_.until([&] { return node_.client->usable(); }));
    ASSERT_TRUE(node_.until([&] {
        return std::ranges::any_of(node_.receiver.gaps,
                                   [](const PartitionSet& lost) { return lost.holds(kAda); });
    }));
    ASSERT_EQ(node_.commit(kAda, 1).value(), CommitOutcome::committed);
    EXPECT_TRUE(node_.until([&] { return node_.receiver.told["ada"] == 2; }));
}

}  // namespace

}  // namespace presence::testing
