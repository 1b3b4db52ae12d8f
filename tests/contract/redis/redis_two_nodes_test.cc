// What two nodes tell each other over a Redis, and what becomes of what cannot be told at once.

#include "contract/redis/redis_node.h"
#include "contract/redis/redis_server.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace presence::testing {

namespace {

const UserId kAda("ada");

TEST(RedisBusOfTwoNodes, SignalsAndTakenSessionsGoToTheNodesThatHoldThem) {
    RedisServer server;
    RedisNode first(server.config(), 1);
    RedisNode second(server.config(), 2);
    RedisNode third(server.config(), 3);
    ASSERT_TRUE(first.until([&] {
        return first.client->usable() && second.client->usable() && third.client->usable();
    }));
    first.pass(Millis{300});  // Until all listen to their own channels.
    auto record = make_ref<UserRecord>();
    record->commit = 1;
    for (const std::uint64_t node : {1U, 2U}) {
        Session& session = record->sessions.emplace_back();
        session.id = SessionId("session " + std::to_string(node));
        session.node = NodeId{node};
    }
    ASSERT_TRUE(first.run(first.store.commit({kAda, 0, record, Millis{60'000}, nullptr})));
    auto signal = std::make_shared<SignalMessage>();
    signal->from = UserId("bob");
    signal->to = kAda;
    first.bus->endpoint(0).publish_signal(signal);
    first.bus->endpoint(0).publish_session_taken(
        {NodeId{2}, kAda, SessionId("session 2"), Epoch{7}, EndReason::kicked});
    ASSERT_TRUE(second.until(
        [&] { return second.receiver.signals == 1 && second.receiver.taken.size() == 1; }));
    EXPECT_EQ(second.receiver.taken[0].session.text, "session 2");
    EXPECT_EQ(second.receiver.taken[0].epoch, Epoch{7});
    EXPECT_EQ(second.receiver.taken[0].reason, EndReason::kicked);
    first.pass(Millis{100});
    third.pass(Millis{100});
    EXPECT_EQ(first.receiver.signals, 1);
    EXPECT_EQ(third.receiver.signals, 0);
    EXPECT_TRUE(first.receiver.taken.empty());
    EXPECT_TRUE(third.receiver.taken.empty());
}

struct MutedPublisher {
    RedisServer server;
    RedisNode mute{restricted(), 1};
    RedisNode other{server.config(), 2};

    redis::RedisConfig restricted() {
        server.command({"ACL", "SETUSER", "mute", "on", ">word", "~*", "&*", "+@all", "-spublish"});
        redis::RedisConfig config = server.config();
        config.user = "mute";
        config.password = "word";
        return config;
    }
    void unmute() { server.command({"ACL", "SETUSER", "mute", "+spublish"}); }
};

TEST(RedisBusOfTwoNodes, WhatCouldNotBePublishedIsPublishedWhenItCan) {
    MutedPublisher nodes;
    RedisNode& mute = nodes.mute;
    RedisNode& other = nodes.other;
    const UserId ann("ann");
    ASSERT_TRUE(other.until([&] { return mute.client->usable() && other.client->usable(); }));
    ASSERT_TRUE(other.subscribe({ann}));
    const auto event = [&](std::uint64_t version, bool shown) {
        auto made = std::make_shared<PresenceEvent>();
        made->user = ann;
        made->presence.own_version = Version{version};
        made->tells_shown = shown;
        return made;
    };
    mute.bus->endpoint(0).publish(event(7, true));
    mute.bus->endpoint(0).publish(event(8, false));
    mute.bus->endpoint(0).publish_profile_changed(ann, 3);
    ASSERT_TRUE(mute.until([&] { return mute.bus->counters().not_sent >= 3; }));
    EXPECT_EQ(mute.receiver.profiles, std::vector<std::string>{"ann"});
    EXPECT_TRUE(other.receiver.profiles.empty());
    nodes.unmute();
    ASSERT_TRUE(other.until(
        [&] { return !other.receiver.profiles.empty() && !other.receiver.told.empty(); },
        Millis{2'000}));
    EXPECT_EQ(other.receiver.newest["ann"], 8U);
    EXPECT_EQ(other.receiver.told["ann"], 1);
    EXPECT_EQ(other.receiver.profiles, std::vector<std::string>{"ann"});
    EXPECT_EQ(mute.bus->counters().unsent_dropped, 0U);
}

TEST(RedisBusOfTwoNodes, OfMoreThanCanBeKeptUntilItIsPublishedTheOthersReadAllAnew) {
    MutedPublisher nodes;
    RedisNode& mute = nodes.mute;
    RedisNode& other = nodes.other;
    ASSERT_TRUE(other.until([&] { return mute.client->usable() && other.client->usable(); }));
    other.pass(Millis{300});
    other.receiver.gaps.clear();
    for (int i = 0; i <= 10'000; ++i) {
        mute.bus->endpoint(0).publish_profile_changed(UserId("user" + std::to_string(i)), 3);
    }
    const UserId last("user10000");
    ASSERT_TRUE(mute.until([&] { return mute.bus->counters().unsent_dropped == 1; }));
    EXPECT_TRUE(other.receiver.gaps.empty());
    nodes.unmute();
    ASSERT_TRUE(other.until(
        [&] {
            return std::ranges::any_of(other.receiver.gaps, [&](const PartitionSet& lost) {
                return lost.holds(last) && lost.size() == 1;
            });
        },
        Millis{5'000}));
    ASSERT_TRUE(other.until([&] { return other.receiver.profiles.size() == 10'000; }));
}

TEST(RedisBusOfTwoNodes, FO_005_WordOfAnErasureGoesBeforeThatOfRulesWhereNotAllCanBeKept) {
    MutedPublisher nodes;
    RedisNode& mute = nodes.mute;
    RedisNode& other = nodes.other;
    ASSERT_TRUE(other.until([&] { return mute.client->usable() && other.client->usable(); }));
    for (int i = 0; i < 10'000; ++i) {
        mute.bus->endpoint(0).publish_profile_changed(UserId("user" + std::to_string(i)), 3);
    }
    mute.bus->endpoint(0).publish_profile_changed(UserId("gone"), kErased);
    ASSERT_TRUE(mute.until([&] { return mute.bus->counters().unsent_dropped == 1; }));
    nodes.unmute();
    ASSERT_TRUE(other.until([&] { return other.receiver.profiles.size() == 10'000; }));
    EXPECT_EQ(std::ranges::count(other.receiver.profiles, "gone"), 1);
}

TEST(RedisBusOfTwoNodes, AHolderThatDoesNotHearYetIsToldAgain) {
    RedisServer server;
    RedisNode first(server.config(), 1);
    RedisNode second(server.config(), 2);
    ASSERT_TRUE(first.until([&] { return first.client->usable() && second.client->usable(); }));
    const NodeId holder{99};
    first.bus->endpoint(0).publish_session_taken(
        {holder, kAda, SessionId("session"), Epoch{7}, EndReason::replaced});
    ASSERT_TRUE(first.until([&] { return first.bus->counters().taken_again >= 1; }));
    EXPECT_TRUE(second.receiver.taken.empty());
    second.bus->set_node(holder);
    ASSERT_TRUE(second.until([&] { return second.receiver.taken.size() == 1; }));
    EXPECT_EQ(second.receiver.taken[0].session.text, "session");
    second.pass(Millis{1'000});
    EXPECT_EQ(second.receiver.taken.size(), 1U);
    EXPECT_EQ(first.bus->counters().taken_lost, 0U);
}

TEST(RedisBusOfTwoNodes, AHolderThatNeverHearsIsGivenUp) {
    RedisServer server;
    RedisNode first(server.config(), 1);
    ASSERT_TRUE(first.until([&] { return first.client->usable(); }));
    first.bus->endpoint(0).publish_session_taken(
        {NodeId{99}, kAda, SessionId("session"), Epoch{7}, EndReason::replaced});
    ASSERT_TRUE(first.until([&] { return first.bus->counters().taken_lost == 1; }));
    EXPECT_EQ(first.bus->counters().taken_again, 5U);
    first.pass(Millis{300});
    EXPECT_EQ(first.bus->counters().taken_again, 5U);
}

}  // namespace

}  // namespace presence::testing
