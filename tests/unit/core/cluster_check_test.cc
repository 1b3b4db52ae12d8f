// How often and in what pieces a node looks for lost records (DESIGN rule 31).

#include "unit/core/cluster.h"

#include <gmock/gmock.h>

#include <set>
#include <string>

namespace presence::testing {

namespace {

using ::testing::ElementsAre;

constexpr std::uint64_t kPartitions = MemorySessions::kPartitions;

TEST(ClusterChecks, EachPartitionIsCheckedOnceAnInterval) {
    Cluster cluster(1);
    const ClusterCounters& counters = cluster.node(0).member.counters();
    for (int i = 0; i < 3; ++i) {
        const std::uint64_t before = counters.checks;
        cluster.run(cluster.config.heartbeat.interval);
        EXPECT_EQ(counters.checks - before, kPartitions);
    }
}

TEST(ClusterChecks, NoneIsBegunBeforeTheOneBeforeIsOver) {
    Cluster cluster(1);
    const ClusterCounters& counters = cluster.node(0).member.counters();
    for (int i = 0; i < 1000; ++i) {  // Some in each partition, so that a question goes out.
        cluster.connect(cluster.node(0), ("user" + std::to_string(i)).c_str());
    }
    cluster.sessions.faults().set_delay(2s);
    const std::uint64_t asked = counters.checks;
    cluster.run(cluster.config.heartbeat.interval);
    EXPECT_LE(counters.checks - asked, cluster.config.heartbeat.interval / 2s + 1);
    EXPECT_GE(counters.checks - asked, cluster.config.heartbeat.interval / 2s - 2);
}

TEST(ClusterChecks, AnIntervalThatIsShorterThanThePartitionsAreManyIsNoLoopWithoutRest) {
    CoreConfig config;
    config.heartbeat.interval = 50ms;
    Cluster cluster(1, config);
    const ClusterCounters& counters = cluster.node(0).member.counters();
    const std::uint64_t before = counters.checks;
    for (int i = 0; i < 10'000 && counters.checks - before < 10 * kPartitions; ++i) {
        cluster.scheduler.run_next();
    }
    EXPECT_GE(cluster.clock.now() - MonoTime{}, 1s);
}

TEST(ClusterChecks, AThreadsUsersAreGoneThroughInPiecesAndEachOnce) {
    Cluster cluster(1);
    Cluster::Node& node = cluster.node(0);
    constexpr std::size_t kUsers = PresenceService::kHeldPlaces + 100;
    for (std::size_t i = 0; i < kUsers; ++i) {
        cluster.connect(node, ("user" + std::to_string(i)).c_str());
    }
    const auto even = [](const UserId& user) { return (user.text.view().back() - '0') % 2 == 0; };
    std::set<std::string> found;
    std::vector<std::size_t> pieces;
    std::uint32_t place = 0;
    do {
        const HeldPart part = node.shard.service.users_from(place, even);
        pieces.push_back(part.users.size());
        for (const HeldUser& one : part.users) {
            EXPECT_TRUE(even(one.user));
            EXPECT_GT(one.commit, 0U);
            EXPECT_TRUE(found.emplace(one.user.text).second);
        }
        place = part.next;
    } while (place != 0);
    EXPECT_THAT(pieces, ElementsAre(PresenceService::kHeldPlaces / 2, 50U));
}

}  // namespace

}  // namespace presence::testing
