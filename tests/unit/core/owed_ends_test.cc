// Last seens outlive their node and an outage of the database together (RULINGS 30).

#include "unit/core/cluster.h"

namespace presence::testing {

namespace {

std::size_t owed(Cluster& cluster, NodeId node) {
    std::size_t sum = 0;
    for (std::uint32_t partition = 0; partition < MemorySessions::kPartitions; ++partition) {
        sum += cluster.sessions.ends_of(node, partition);
    }
    return sum;
}

TEST(OwedEnds, WhatADeadNodeOwesIsTakenOverAndWritten) {
    Cluster cluster(2);
    const NodeId dead = cluster.node(0).member.self();
    std::vector<std::string> users;
    std::vector<WallTime> ended;
    cluster.profiles.set_unavailable(false);
    std::vector<Cluster::DeviceRef> devices;
    for (int i = 0; i < 20; ++i) {
        users.push_back("user " + std::to_string(i));
        devices.push_back(cluster.connect(cluster.node(0), users.back().c_str()));
    }
    cluster.run(2s);
    cluster.profiles.set_unavailable(true);
    for (const auto& device : devices) {
        cluster.bye(device);
        ended.push_back(cluster.clock.wall_now());
        cluster.run(100ms);
    }
    EXPECT_EQ(owed(cluster, dead), users.size());
    cluster.kill(cluster.node(0));
    cluster.run(30s);  // The survivor has settled the death by now; the database is still away.
    const NodeId heir = cluster.node(1).member.self();
    EXPECT_EQ(owed(cluster, dead), 0U);
    EXPECT_EQ(owed(cluster, heir), users.size());
    EXPECT_EQ(cluster.node(1).member.counters().ends_taken_over, users.size());
    cluster.profiles.set_unavailable(false);
    cluster.run(5s);
    for (std::size_t i = 0; i < users.size(); ++i) {
        EXPECT_EQ(cluster.stored_last_seen(users[i].c_str()), ended[i]) << users[i];
    }
    cluster.run(31s);
    EXPECT_EQ(owed(cluster, heir), 0U);
}

TEST(OwedEnds, WhatTheDatabaseHasIsOwedNoMore) {
    Cluster cluster(2);
    const NodeId self = cluster.node(0).member.self();
    const auto ann = cluster.connect(cluster.node(0), "ann");
    cluster.bye(ann);
    EXPECT_EQ(owed(cluster, self), 1U);
    cluster.run(2s);
    EXPECT_EQ(cluster.node(0).shard.owed_ends.gathered(), 1U);
    cluster.run(31s);
    EXPECT_EQ(owed(cluster, self), 0U);
    EXPECT_EQ(cluster.node(0).shard.owed_ends.gathered(), 0U);
}

TEST(OwedEnds, ANewerEndStaysOwed) {
    Cluster cluster(2);
    const NodeId self = cluster.node(0).member.self();
    cluster.bye(cluster.connect(cluster.node(0), "ann"));
    cluster.run(2s);
    const auto again = cluster.connect(cluster.node(0), "ann");
    cluster.run(2s);
    cluster.profiles.set_unavailable(true);
    cluster.bye(again);
    EXPECT_TRUE(cluster.wait(cluster.node(0).shard.owed_ends.drop()));
    EXPECT_EQ(owed(cluster, self), 1U);
}

TEST(OwedEnds, ANodeThatOwesDoesNotTakeItsLeave) {
    Cluster cluster(2);
    const auto ann = cluster.connect(cluster.node(0), "ann");
    cluster.profiles.set_unavailable(true);
    cluster.bye(ann);
    const WallTime ended = cluster.clock.wall_now();
    cluster.run(2s);
    EXPECT_GT(cluster.node(0).shard.last_seen.queued(), 0U);
    EXPECT_FALSE(cluster.wait(cluster.node(0).member.leave(true)));
    cluster.kill(cluster.node(0));
    cluster.profiles.set_unavailable(false);
    cluster.run(30s);
    EXPECT_EQ(cluster.stored_last_seen("ann"), ended);
}

TEST(OwedEnds, OneThatOwesNothingTakesItsLeave) {
    Cluster cluster(2);
    EXPECT_TRUE(cluster.wait(cluster.node(0).member.leave(false)));
}

TEST(OwedEnds, OverTheLimitTheyAreLeftToTheirTimeAndCounted) {
    VirtualClock clock;
    VirtualScheduler scheduler{clock};
    MemorySessions sessions{clock};
    MemorySessionStore store(sessions, nullptr);
    NodeView nodes;
    nodes.self = NodeId{1};
    Limits limits;
    limits.last_seen_queue = 1;
    CoreCounters counters;
    OwedEnds owed_ends(scheduler, store, nodes, limits, counters);
    owed_ends.written({{UserId("ann"), {}, {}, {}, {}}, {UserId("bob"), {}, {}, {}, {}}});
    EXPECT_EQ(owed_ends.gathered(), 1U);
    EXPECT_EQ(counters.ends_left_owed, 1U);
}

}  // namespace

}  // namespace presence::testing
