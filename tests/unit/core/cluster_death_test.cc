#include "unit/core/cluster.h"

namespace presence::testing {

namespace {

TEST(ClusterDeath, FO_001_IsSettledAsSoonAsItsTimeIsOverWhateverTheBeatOfTheOthers) {
    CoreConfig config;
    config.heartbeat.grace = 5s;  // Shorter than the lease, which then is what is waited for.
    for (Millis phase{0}; phase < config.cluster.renew_every; phase += 100ms) {
        Cluster cluster(2, config);
        const auto bob = cluster.connect(cluster.node(1), "bob");
        const auto ann = cluster.connect(cluster.node(0), "ann");
        cluster.watch(bob, {"ann"});
        cluster.run(5s + phase);
        const MonoTime killed_at = cluster.clock.now();
        cluster.kill(cluster.node(0));
        cluster.run(12s);
        const std::vector<Told>& told = cluster.connection(bob).told;
        ASSERT_EQ(told.size(), 1U) << phase.count();
        EXPECT_EQ(told.front().status, Status::offline);
        EXPECT_LE(told.front().at - killed_at, config.cluster.lease + 200ms) << phase.count();
        EXPECT_GT(told.front().at - killed_at,
                  config.cluster.lease - config.cluster.renew_every - 200ms);
    }
}

}  // namespace
}  // namespace presence::testing
