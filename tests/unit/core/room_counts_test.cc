// Counts of large rooms over several nodes: when they are told, whoever is hidden in the room.

#include "unit/core/cluster.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace presence::testing {

namespace {

constexpr Millis kQuiet{2'000};

/// What ann and bob are told of a large room, and when; `shy`, whom nobody may see, is in it at
/// bob's node before he comes, or is not.
std::vector<std::pair<MonoTime, std::string>> told_with(bool shy_comes) {
    Cluster cluster(3);
    cluster.limits.room_members = 4;
    cluster.hide("shy");
    for (int i = 0; i < 6; ++i) {
        const std::string name = "u" + std::to_string(i);
        cluster.join(cluster.connect(cluster.node(0), name.c_str()), "hall", {.hears = false});
    }
    const auto ann = cluster.connect(cluster.node(1), "ann");
    cluster.join(ann, "hall");
    const auto shy = cluster.connect(cluster.node(2), "shy");
    const auto bob = cluster.connect(cluster.node(2), "bob");
    cluster.run(kQuiet);
    MonoTime at = cluster.clock.now();
    const auto after = [&](Millis wait) {
        at = at + wait;
        cluster.run(at - cluster.clock.now());
    };
    const auto come = [&](const char* user) {
        cluster.join(cluster.connect(cluster.node(0), user), "hall", {.hears = false});
    };
    come("u6");
    after(500ms);
    come("u7");  // Told a second after the one before.
    after(100ms);
    if (shy_comes) {
        cluster.join(shy, "hall");
    }
    after(1'300ms);
    cluster.join(bob, "hall");
    after(300ms);
    come("u8");
    after(500ms);
    come("u9");
    after(5s);
    std::vector<std::pair<MonoTime, std::string>> told;
    for (const auto& device : {ann, bob}) {
        for (const ToldRoom& one : cluster.connection(device).rooms) {
            told.emplace_back(one.at, one.line());
        }
    }
    return told;
}

TEST(RoomsOverNodes, WhoIsHiddenMovesNoMomentAtWhichACountIsTold) {
    const auto told = told_with(false);
    EXPECT_EQ(told.back().second, "update hall 12 or so");
    EXPECT_EQ(told, told_with(true));
}

TEST(RoomsOverNodes, ToANodeWithALargeRoomTheListOfOneToWhichItIsSmallChangesNoCount) {
    for (const std::size_t large : {0U, 1U}) {
        Cluster cluster(3);
        cluster.limits.room_members = 20;
        cluster.join(cluster.connect(cluster.node(large), "ann"), "hall", {.hears = false});
        std::vector<Cluster::DeviceRef> others;
        for (int i = 0; i < 20; ++i) {
            const std::string name = "u" + std::to_string(i);
            others.push_back(cluster.connect(cluster.node(large), name.c_str()));
            cluster.join(others.back(), "hall", {.hears = false});
        }
        cluster.run(kQuiet);
        cluster.leave(others[0], "hall");
        cluster.leave(others[1], "hall");
        cluster.run(kQuiet);
        const auto ann = cluster.connect(cluster.node(1 - large), "ann");
        cluster.join(ann, "hall", {.hears = false});
        cluster.run(kQuiet);
        const auto fred = cluster.connect(cluster.node(2), "fred");
        EXPECT_EQ(cluster.join(fred, "hall").line(), "room hall 21 or so");
    }
}

}  // namespace

}  // namespace presence::testing
