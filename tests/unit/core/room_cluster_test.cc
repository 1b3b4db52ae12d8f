// Rooms whose members are on several nodes, and what is lost between these.

#include "unit/core/cluster.h"

#include <gmock/gmock.h>

namespace presence::testing {

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// For news to come, and for viewers to be open to more.
constexpr Millis kQuiet{2'000};

TEST(RoomsOverNodes, WhoComesBackToARoomThatItsNodeHadGivenUpIsSeenAgain) {
    Cluster cluster(2);
    const auto xena = cluster.connect(cluster.node(0), "xena");
    const auto bob = cluster.connect(cluster.node(1), "bob");
    cluster.join(bob, "hall");
    for (int i = 0; i < 3; ++i) {
        cluster.join(xena, "hall", {.hears = false});
        cluster.run(kQuiet);
        EXPECT_THAT(cluster.told_rooms(bob), ElementsAre("update hall 2; joined xena online,"));
        cluster.leave(xena, "hall");
        cluster.run(kQuiet);
        EXPECT_THAT(cluster.told_rooms(bob), ElementsAre("update hall 1; left xena,"));
        EXPECT_EQ(cluster.node(0).shard.rooms.keeper().room_count(), 0U);
    }
    EXPECT_EQ(cluster.node(1).shard.counters.room_gaps, 0U);
}

}  // namespace

}  // namespace presence::testing
