// The server's measure of its own truth: what canaries find, and that nobody meets them.

#include "presence/core/canaries.h"

#include "unit/core/cluster.h"

#include <gmock/gmock.h>

#include <numeric>

namespace presence::testing {
namespace {

using Node = Cluster::Node;
using ::testing::IsEmpty;

std::uint64_t count(const LatencyHistogram& times) {
    return std::accumulate(times.counts.begin(), times.counts.end(), std::uint64_t{0});
}

/// How many took longer than that, a bound of the buckets.
std::uint64_t longer_than(const LatencyHistogram& times, Millis bound) {
    std::uint64_t longer = 0;
    for (std::size_t i = 0; i < times.counts.size(); ++i) {
        const bool above =
            i == LatencyHistogram::kBoundsUs.size() ||
            LatencyHistogram::kBoundsUs[i] > static_cast<std::uint64_t>(bound.count()) * 1'000;
        longer += above ? times.counts[i] : 0;
    }
    return longer;
}

struct CanariesTest : ::testing::Test {
    Cluster cluster{2};
    std::vector<std::unique_ptr<Canaries>> canaries;

    Node& add(Node& node) {
        canaries.push_back(std::make_unique<Canaries>(node.shard, node.shards.homes, 0));
        canaries.back()->start();
        return node;
    }
    void start() {
        cluster.run(5s);  // All know of each other.
        add(cluster.node(0));
        add(cluster.node(1));
    }
    CoreCounters& counters(std::size_t node) { return cluster.node(node).shard.counters; }
    std::uint64_t errors(std::size_t node, TruthError kind) {
        return counters(node).truth_errors[static_cast<std::size_t>(kind)];
    }
    /// The node's thread comes to no timed work for so long.
    void hold_up(Node& node, Millis time) {
        node.tick_every = time;
        cluster.run(100ms);
        node.tick_every = PresenceService::kTick;
    }
    std::uint64_t all_errors() {
        std::uint64_t sum = 0;
        for (std::size_t node = 0; node < 2; ++node) {
            for (const std::uint64_t errors : counters(node).truth_errors) {
                sum += errors;
            }
        }
        return sum;
    }
};

TEST_F(CanariesTest, ChangesOfEachNodeAreTimedByTheOther) {
    start();
    cluster.run(10min);
    for (std::size_t node = 0; node < 2; ++node) {
        EXPECT_NEAR(static_cast<double>(count(counters(node).truth_propagation)), 60, 3);
        EXPECT_EQ(longer_than(counters(node).truth_propagation, 25ms), 0U);
    }
    EXPECT_EQ(all_errors(), 0U);
}

TEST_F(CanariesTest, OneDiesEveryMinuteAndItsDeathIsTimed) {
    start();
    cluster.run(20min);
    for (std::size_t node = 0; node < 2; ++node) {
        const LatencyHistogram& lateness = counters(node).truth_lateness;
        EXPECT_NEAR(static_cast<double>(count(lateness)), 19, 1);  // The first after a ttl.
        EXPECT_EQ(longer_than(lateness, 250ms), 0U);
    }
    EXPECT_EQ(all_errors(), 0U);
}

TEST_F(CanariesTest, ASubscriptionThatIsLostTurnsTheMeasureOfTheNodeThatIsDeaf) {
    start();
    cluster.run(1min);
    ASSERT_EQ(all_errors(), 0U);
    const std::uint64_t before = count(counters(1).truth_propagation);
    // Node 1 hears nothing of the other; both reach the store.
    Cluster::set_deaf(cluster.node(1), true);
    cluster.run(5s);
    EXPECT_EQ(errors(1, TruthError::change_missed), 0U);  // It could still come.
    cluster.run(30s);
    EXPECT_GE(errors(1, TruthError::change_missed), 2U);
    EXPECT_LE(count(counters(1).truth_propagation), before + 1);
    const std::uint64_t missed = errors(1, TruthError::change_missed);
    Cluster::close_gap(cluster.node(1));
    cluster.run(2min);
    EXPECT_EQ(errors(1, TruthError::change_missed), missed);
    EXPECT_GE(count(counters(1).truth_propagation), before + 11);
}

TEST_F(CanariesTest, ASweeperThatComesLateTurnsTheMeasureOfDeaths) {
    start();
    cluster.run(5min);
    ASSERT_EQ(all_errors(), 0U);
    hold_up(cluster.node(0), 3s);  // Late, but within what is borne.
    cluster.run(3min);
    EXPECT_GE(longer_than(counters(0).truth_lateness, 2500ms), 1U);
    EXPECT_EQ(longer_than(counters(1).truth_lateness, 250ms), 0U);
    EXPECT_EQ(all_errors(), 0U);
    hold_up(cluster.node(0), 20s);
    cluster.run(4min);
    EXPECT_GE(errors(0, TruthError::death_missed), 1U);
    EXPECT_EQ(longer_than(counters(0).truth_lateness, 10s), errors(0, TruthError::death_missed));
    EXPECT_EQ(errors(1, TruthError::death_missed), 0U);
}

TEST_F(CanariesTest, ADeathThatIsToldTooEarlyIsAnError) {
    start();
    cluster.run(70s);
    // Somebody ends the session of one that is dying, long before its ttl.
    Node& node = cluster.node(0);
    for (const HeldUser& held : node.shard.service.users_here()) {
        if (std::string_view(held.user.text).find("mortal") == std::string_view::npos) {
            continue;
        }
        const UserRecordRef record = node.shard.service.record_here(held.user);
        ASSERT_FALSE(record->sessions.empty());
        ASSERT_TRUE(cluster.wait(node.shard.service.kick(held.user, record->sessions.front().id)));
        break;
    }
    cluster.run(1s);
    EXPECT_EQ(errors(0, TruthError::death_early), 1U);
}

TEST_F(CanariesTest, ANodeThatDiesOrIsStoppedIsNoUntruth) {
    start();
    cluster.run(1min);
    cluster.pause(cluster.node(0));
    cluster.run(20s);
    cluster.go_on(cluster.node(0));
    cluster.run(3min);
    EXPECT_EQ(errors(1, TruthError::change_missed), 0U);
    EXPECT_EQ(errors(0, TruthError::change_missed), 0U);
    const std::uint64_t before = count(counters(1).truth_propagation);
    cluster.run(1min);
    EXPECT_GE(count(counters(1).truth_propagation), before + 5);  // By its new name.
    cluster.kill(cluster.node(0));
    cluster.run(5min);
    EXPECT_EQ(all_errors(), 0U);
}

TEST_F(CanariesTest, WhatIsToldAsUnknownIsNoUntruth) {
    start();
    cluster.run(1min);
    cluster.set_store(false);
    cluster.run(3min);
    cluster.set_store(true);
    cluster.run(3min);
    EXPECT_EQ(errors(0, TruthError::change_missed), 0U);
    EXPECT_EQ(errors(1, TruthError::change_missed), 0U);
    EXPECT_EQ(errors(0, TruthError::death_early), 0U);
    const std::uint64_t before = count(counters(1).truth_propagation);
    cluster.run(1min);
    EXPECT_GE(count(counters(1).truth_propagation), before + 5);
}

TEST_F(CanariesTest, NobodyMeetsThem) {
    start();
    const auto ann = cluster.connect(cluster.node(0), "ann");
    cluster.run(10min);
    const Survey::People people = cluster.wait(cluster.node(1).survey.people());
    EXPECT_EQ(people.census.live, 1U);
    EXPECT_EQ(people.census.by_status[static_cast<std::size_t>(Status::online)], 1U);
    EXPECT_EQ(people.census.by_status[static_cast<std::size_t>(Status::busy)], 0U);
    for (std::size_t node = 0; node < 2; ++node) {
        EXPECT_THAT(cluster.node(node).hooks.said.size(), node == 0 ? 2U : 0U);  // Ann's alone.
        EXPECT_EQ(counters(node).last_seen_written, 0U);
        EXPECT_EQ(counters(node).silent_deaths, 0U);
        EXPECT_EQ(counters(node).settles[static_cast<std::size_t>(Cause::silence)], 0U);
        EXPECT_EQ(counters(node).settles[static_cast<std::size_t>(Cause::connect)], 1U - node);
        EXPECT_EQ(counters(node).settles[static_cast<std::size_t>(Cause::status)], 0U);
        EXPECT_GT(canaries[node]->watches(), 0U);
    }
    // No name that a client may say is one of theirs.
    for (const HeldUser& held : cluster.node(0).shard.service.users_here()) {
        EXPECT_EQ(is_canary(held.user), check_id(held.user.text) != nullptr);
    }
}

TEST_F(CanariesTest, WhenStoppedTheyGo) {
    start();
    cluster.run(2min);
    canaries[0]->stop();
    cluster.run(1s);
    EXPECT_EQ(canaries[0]->watches(), 0U);
    EXPECT_EQ(cluster.node(0).shard.service.session_count(), 0U);
}

TEST_F(CanariesTest, TheyAreSeenWhateverTheDefaultRulesAre) {
    CoreConfig config;
    config.privacy.online.audience = Audience::nobody;
    Cluster hidden(2, config);
    hidden.run(5s);
    Canaries first(hidden.node(0).shard, hidden.node(0).shards.homes, 0);
    Canaries second(hidden.node(1).shard, hidden.node(1).shards.homes, 0);
    first.start();
    second.start();
    hidden.run(1min);
    EXPECT_GE(count(hidden.node(1).shard.counters.truth_propagation), 4U);
}

TEST(CanaryNames, BeginWithWhatNoIdMayHold) {
    EXPECT_TRUE(is_canary(canary_named("pulse")));
    EXPECT_NE(check_id(canary_named("pulse").text), nullptr);
    EXPECT_FALSE(is_canary(UserId("pulse")));
    EXPECT_FALSE(is_canary(UserId()));
}

}  // namespace
}  // namespace presence::testing
