// What one who joins is answered, and when, must not depend on whom it may not see (DESIGN rule
// 26).

#include "unit/core/cluster.h"

#include <gmock/gmock.h>

namespace presence::testing {

namespace {

using ::testing::IsEmpty;

constexpr Millis kQuiet{2'000};

/// How the one is hidden who is in the room by the same node as the one who joins.
enum class Hidden : std::uint8_t { is_not_there, by_rule, by_blocks, by_invisibility };

struct Answer {
    Millis took{0};
    std::string line;
    std::vector<std::string> told;  ///< After it.
    friend bool operator==(const Answer&, const Answer&) = default;
    friend std::ostream& operator<<(std::ostream& out, const Answer& answer) {
        return out << answer.took.count() << " ms: " << answer.line;
    }
};

/// Carl joins on node 2, where nobody is whom he may see. On node 0 somebody is in the room, and
/// another one has just come.
Answer join_beside(Hidden how, bool a_node_is_mute) {
    Cluster cluster(3);
    const MonoTime started = cluster.clock.now();
    const auto run_to = [&](Millis at) { cluster.run(started + at - cluster.clock.now()); };
    const auto ann = cluster.connect(cluster.node(0), "ann");
    const auto bob = cluster.connect(cluster.node(0), "bob");
    const auto ivy = cluster.connect(cluster.node(2), "ivy");
    const auto carl = cluster.connect(cluster.node(2), "carl");
    if (how == Hidden::by_rule) {
        cluster.hide("ivy");
    } else if (how == Hidden::by_blocks) {
        cluster.block(cluster.node(2), "ivy", "carl");
    } else if (how == Hidden::by_invisibility) {
        cluster.declare(cluster.node(2), "ivy", DeclaredStatus::invisible);
    }
    cluster.join(ann, "hall");
    run_to(10s);
    if (how != Hidden::is_not_there) {
        cluster.join(ivy, "hall");
    }
    run_to(20s);
    if (a_node_is_mute) {
        cluster.pause(cluster.node(1));
    }
    cluster.join(bob, "hall", {.meta = R"({"n":1})"});
    run_to(20s + 25ms);
    const MonoTime asked = cluster.clock.now();
    Answer answer;
    answer.line = cluster.join(carl, "hall").line();
    answer.took = cluster.clock.now() - asked;
    cluster.go_on(cluster.node(1));
    cluster.run(3 * kQuiet);
    answer.told = cluster.told_rooms(carl);
    return answer;
}

TEST(RoomAsking, WhoJoinsIsAnsweredTheSameAtTheSameTimeWhoeverIsHiddenInTheRoomOnItsNode) {
    for (const bool a_node_is_mute : {false, true}) {
        const Answer alone = join_beside(Hidden::is_not_there, a_node_is_mute);
        EXPECT_EQ(alone.line,
                  R"(room hall 3; members ann online, bob online{"n":1}, carl online,)");
        EXPECT_THAT(alone.told, IsEmpty());
        for (const Hidden how : {Hidden::by_rule, Hidden::by_blocks, Hidden::by_invisibility}) {
            EXPECT_EQ(join_beside(how, a_node_is_mute), alone) << static_cast<int>(how);
        }
    }
}

TEST(RoomAsking, WhoSeesSomebodyWhoHasBeenThereForLongIsAnsweredAtOnce) {
    Cluster cluster(3);
    const auto ann = cluster.connect(cluster.node(0), "ann");
    const auto bob = cluster.connect(cluster.node(2), "bob");
    const auto carl = cluster.connect(cluster.node(2), "carl");
    const auto dora = cluster.connect(cluster.node(2), "dora");
    cluster.join(ann, "hall");
    cluster.join(bob, "hall");
    cluster.run(kQuiet);
    cluster.pause(cluster.node(1));  // Whoever asks waits for it.
    const MonoTime asked = cluster.clock.now();
    EXPECT_EQ(cluster.join(carl, "hall").line(),
              "room hall 3; members ann online, bob online, carl online,");
    EXPECT_LE(cluster.clock.now() - asked, Millis{10});
    EXPECT_EQ(cluster.join(dora, "hall", {.observe = true}).count, 3U);
    EXPECT_LE(cluster.clock.now() - asked, Millis{20});
}

TEST(RoomAsking, AllWhoWaitShareOneQuestion) {
    Cluster cluster(2);
    const auto ann = cluster.connect(cluster.node(0), "ann");
    cluster.join(ann, "hall");
    cluster.run(kQuiet);
    std::vector<Cluster::DeviceRef> crowd;
    for (int i = 0; i < 50; ++i) {
        crowd.push_back(cluster.connect(cluster.node(1), ("user" + std::to_string(i)).c_str()));
    }
    std::vector<Started<Result<bool>>> joins;
    for (const auto& one : crowd) {
        joins.push_back(start_task(cluster.node(1).shard.rooms.join(
            {one->connection, one->id, one->user, RoomId("hall"), "", false, true, 1})));
    }
    std::size_t most = 0;
    for (int i = 0; i < 100; ++i) {
        cluster.run(Millis{1});
        most = std::max(most, cluster.node(1).survey.under_way());
    }
    EXPECT_EQ(most, 1U);
    for (const Started<Result<bool>>& join : joins) {
        EXPECT_TRUE(join->has_value());
    }
    EXPECT_EQ(cluster.connection(crowd.front()).rooms.front().count, 51U);
}

}  // namespace

}  // namespace presence::testing
