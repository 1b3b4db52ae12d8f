#include "plan/report.h"
#include "plan/simulation.h"
#include "plan/sizing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace presence::plan {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kSeed = 1;

/// Few enough to be played quickly, on two nodes.
Deployment town() {
    Deployment of;
    of.users = 100'000;
    of.node_cores = 1;
    of.node_connections = 10'000;
    of.spare_nodes = 0;
    return of;
}

std::string refusal(const Deployment& of) {
    const Result<bool> checked = of.validate();
    return checked ? "" : checked.error().message;
}

TEST(Sizing, TheFiguresOfTheFirstTextComeOut) {
    const Load load = size(Deployment{}, Costs{}).load;

    EXPECT_NEAR(load.connected, 10e6, 1);
    EXPECT_NEAR(load.connected_average, 6.25e6, 1);
    EXPECT_NEAR(load.heartbeats, 333'333, 1);
    EXPECT_NEAR(load.rows_average, 11'574, 1);
    EXPECT_NEAR(load.rows, 18'519, 1);
    EXPECT_DOUBLE_EQ(load.watchers, 5);
    EXPECT_NEAR(load.told, 3 * 18'518.5, 1);
    EXPECT_NEAR(load.deliveries, 5 * load.told, 1);
    EXPECT_NEAR(load.deliveries_to_contacts, 150 * load.told, 1);
}

TEST(Sizing, CpuOfNodesIsTheSumOfWhatHappensTimesItsCost) {
    Costs costs{};
    costs.heartbeat_us = costs.sign_in_us = costs.change_us = costs.delivery_us = 0;
    const auto cores = [&] { return size(Deployment{}, costs).nodes.needs[0].need; };
    EXPECT_EQ(cores(), 0);

    costs.heartbeat_us = 3;
    EXPECT_NEAR(cores(), 1.0, 1e-9);  // 333,333 a second.
    costs.sign_in_us = 36;
    EXPECT_NEAR(cores(), 2.0, 1e-9);  // 18,518 begin, half as many come back.
    costs.change_us = 10.8;
    EXPECT_NEAR(cores(), 2.5, 1e-9);  // 18,518 end and change, half as many are lost.
    costs.delivery_us = 7.2;
    EXPECT_NEAR(cores(), 4.5, 1e-9);  // 277,777 a second.
}

TEST(Sizing, MemoryCountsSessionsSocketsAndWatches) {
    Deployment of;
    of.watches = 10;
    Costs costs;
    costs.session_bytes = 1'000;
    costs.socket_bytes = 2'000;
    costs.watch_bytes = 100;

    EXPECT_NEAR(size(of, costs).nodes.needs[1].need, 40, 1e-9);
}

TEST(Sizing, TheTightestResourceDecidesHowManyNodesThereAre) {
    Deployment of;
    of.spare_nodes = 2;
    of.node_connections = 100'000;
    const Plan by_connections = size(of, Costs{});
    EXPECT_EQ(by_connections.nodes.tightest().resource, "connections");
    EXPECT_EQ(by_connections.nodes.working, 100);
    EXPECT_EQ(by_connections.nodes.spare, 2);

    of.node_memory_gb = 1;
    const Plan by_memory = size(of, Costs{});
    EXPECT_EQ(by_memory.nodes.tightest().resource, "memory");
    EXPECT_EQ(by_memory.nodes.working, std::ceil(by_memory.nodes.needs[1].need / 0.5));
}

TEST(Sizing, RedisIsSizedByCpuAndByMemory) {
    Costs costs;
    costs.redis_commit_us = costs.redis_read_us = costs.redis_check_us = 0;
    costs.redis_message_us = 0;
    const Plan by_memory = size(Deployment{}, costs);
    EXPECT_EQ(by_memory.redis.tightest().resource, "memory");
    EXPECT_NEAR(by_memory.redis.needs[1].need, 2.72, 1e-9);
    EXPECT_EQ(by_memory.redis.working, 1);

    costs.redis_check_us = 3;
    const Plan by_cpu = size(Deployment{}, costs);
    EXPECT_EQ(by_cpu.redis.tightest().resource, "CPU");
    EXPECT_NEAR(by_cpu.redis.needs[0].need, 1.0, 1e-9);
    EXPECT_EQ(by_cpu.redis.working, 2);  // At half its core each.
}

TEST(Sizing, ADatabaseThatDoesNotKeepUpIsTheBottleneck) {
    Deployment of;
    of.database_rows = 10'000;
    const Plan plan = size(of, Costs{});

    EXPECT_FALSE(plan.database_suffices());
    EXPECT_EQ(plan.bottleneck().need->resource, "rows of last seen");
    of.database_rows = 1e6;
    EXPECT_TRUE(size(of, Costs{}).database_suffices());
    EXPECT_NE(size(of, Costs{}).bottleneck().need->resource, "rows of last seen");
}

TEST(Sizing, AChangeGoesOnceToEachNodeWithAWatcher) {
    EXPECT_DOUBLE_EQ(nodes_told(1, 5), 1);
    EXPECT_DOUBLE_EQ(nodes_told(2, 2), 1.5);
    EXPECT_NEAR(nodes_told(1'000'000, 5), 5, 0.001);
    EXPECT_NEAR(nodes_told(3, 1'000), 3, 1e-9);
}

TEST(Deployment, RefusalsNameTheFieldAndItsBounds) {
    EXPECT_EQ(refusal({}), "");
    Deployment of;
    of.users = 0;
    EXPECT_THAT(refusal(of), HasSubstr("users is 0, bounds are 1 to 10000000000"));
    of = {};
    of.region_share = 1.5;
    EXPECT_THAT(refusal(of), HasSubstr("region-share is 1.5, bounds are 0 to 1"));
    of = {};
    of.watches = std::numeric_limits<double>::quiet_NaN();
    EXPECT_THAT(refusal(of), HasSubstr("watches is nan"));
    of = {};
    of.ttl_s = 80;
    EXPECT_THAT(refusal(of), HasSubstr("ttl is 80 s, least is three intervals, 90 s"));
    of = {};
    of.session_minutes = 100;
    EXPECT_THAT(refusal(of), HasSubstr("session-minutes is 2000 minutes, most is a day"));
    of = {};
    of.peak_factor = 20;
    EXPECT_THAT(refusal(of), HasSubstr("peak-factor is 20"));
}

TEST(Costs, RefusalsNameTheFieldAndItsBounds) {
    Costs costs;
    EXPECT_TRUE(costs.validate().has_value());
    costs.delivery_us = -1;
    const Result<bool> checked = costs.validate();
    ASSERT_FALSE(checked.has_value());
    EXPECT_THAT(checked.error().message, HasSubstr("cost-delivery is -1, bounds are 0 to"));
}

TEST(PeakMinute, IsOnAverageWhatWasComputed) {
    const Deployment of = town();
    const Plan plan = size(of, Costs{});
    const Course peak = simulate_peak(of, Costs{}, plan, kSeed);

    const double cpu = plan.nodes.needs[0].need / (plan.nodes.working * of.node_cores);
    EXPECT_NEAR(peak.node_cpu_mean / cpu, 1, 0.05);
    const double redis = plan.redis.needs[0].need / plan.redis.working;
    EXPECT_NEAR(peak.redis_cpu_mean / redis, 1, 0.05);
    EXPECT_NEAR(peak.seconds, 60, 0.1);
    EXPECT_GT(peak.node_cpu_worst, peak.node_cpu_mean);
}

TEST(PeakMinute, IsTheSameAgainFromTheSameSeed) {
    const Deployment of = town();
    const Plan plan = size(of, Costs{});
    const auto played = [&](std::uint64_t seed) {
        return as_json({of, Costs{}, plan, simulate_peak(of, Costs{}, plan, seed), {}});
    };
    EXPECT_EQ(played(1), played(1));
    EXPECT_NE(played(1), played(2));
}

TEST(Outage, AllWhoFellSilentAreShownOfflineWithinTheWindowAndComeBack) {
    const Deployment of = town();
    const Plan plan = size(of, Costs{});
    const Course outage = simulate_outage(of, Costs{}, plan, kSeed);

    EXPECT_NEAR(outage.silenced / plan.load.connected, of.region_share, 0.02);
    EXPECT_EQ(outage.told_offline, outage.silenced);
    // Intervals are jittered by a tenth.
    EXPECT_GE(outage.first_offline_s, of.ttl_s - 1.1 * of.interval_s);
    EXPECT_LE(outage.first_offline_s, of.ttl_s - 0.9 * of.interval_s);
    EXPECT_LE(outage.last_offline_s, of.ttl_s + 0.1);
    EXPECT_GE(outage.last_back_s, of.outage_s);
    EXPECT_LE(outage.last_back_s, of.outage_s + of.return_s + 0.1);
    EXPECT_EQ(outage.turned_away, 0);
}

TEST(Outage, NobodyIsShownOfflineInOneThatIsOverBeforeTheFirstTtl) {
    Deployment of = town();
    of.outage_s = 30;
    of.return_s = 20;
    const Course outage = simulate_outage(of, Costs{}, size(of, Costs{}), kSeed);

    EXPECT_GT(outage.silenced, 0);
    EXPECT_EQ(outage.told_offline, 0);
    EXPECT_GE(outage.last_back_s, 30);
}

TEST(Outage, WhoComesFasterThanNodesAcceptComesAgain) {
    Deployment of = town();
    of.return_s = 1;
    of.accepts_per_s = 50;
    const Course outage = simulate_outage(of, Costs{}, size(of, Costs{}), kSeed);

    EXPECT_GT(outage.turned_away, 0);
    EXPECT_GT(outage.last_back_s, of.outage_s + 5);
    EXPECT_LE(outage.sign_ins_worst, 300);
}

TEST(Outage, RowsWaitForADatabaseThatTakesFewerThanEnd) {
    Deployment of = town();
    of.database_rows = 1e6;
    const Course quick = simulate_outage(of, Costs{}, size(of, Costs{}), kSeed);
    of.database_rows = 50;
    const Course slow = simulate_outage(of, Costs{}, size(of, Costs{}), kSeed);

    EXPECT_LT(quick.rows_wait_s, 1);
    EXPECT_GT(slow.rows_wait_s, 10);
    EXPECT_GT(slow.rows_waiting, 1'000);
}

TEST(Report, NamesTheMachinesTheBottleneckAndEachCostWithItsSource) {
    Found found;
    found.plan = size(found.deployment, found.costs);
    const std::string text = as_text(found);

    EXPECT_THAT(text, HasSubstr("Bottleneck: "));
    EXPECT_THAT(text, HasSubstr("devices connected"));
    EXPECT_THAT(text, HasSubstr("10,000,000"));
    for (const Field<Costs>& field : cost_fields()) {
        EXPECT_THAT(text, HasSubstr(std::string(field.what)));
    }
}

}  // namespace
}  // namespace presence::plan
