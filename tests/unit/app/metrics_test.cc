#include "presence/app/metric_tables.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace presence::app {
namespace {

using telemetry::MetricPage;

/// The values on a page, histograms left out.
std::multiset<std::uint64_t> values_on(const MetricPage& page) {
    std::multiset<std::uint64_t> values;
    std::istringstream lines(page.text());
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with('#') && line.find("_seconds") == std::string::npos) {
            values.insert(std::stoull(line.substr(line.rfind(' ') + 1)));
        }
    }
    return values;
}

/// Sets the first `count` numbers of `counters` to `from` and those after it.
template <class Counters>
void number_from(Counters& counters, std::uint64_t from, std::size_t count) {
    auto numbers = std::bit_cast<RawCounters<Counters>>(counters);
    for (std::size_t i = 0; i < count; ++i) {
        numbers[i] = from + i;
    }
    counters = std::bit_cast<Counters>(numbers);
}

/// Each of the numbers is there, once.
void expect_each_once(const std::multiset<std::uint64_t>& values, std::uint64_t from,
                      std::size_t count) {
    for (std::uint64_t value = from; value < from + count; ++value) {
        EXPECT_EQ(values.count(value), 1U)
            << "number " << value - from << " of those from " << from;
    }
}

constexpr std::size_t kCoreNumbers =
    (sizeof(CoreCounters) - 3 * sizeof(LatencyHistogram)) / sizeof(std::uint64_t);
constexpr std::size_t kGatewayNumbers = sizeof(gateway::GatewayCounters) / sizeof(std::uint64_t);
constexpr std::size_t kNetNumbers = sizeof(net::NetCounters) / sizeof(std::uint64_t);
constexpr std::size_t kReaderNumbers = sizeof(api::ReaderCounters) / sizeof(std::uint64_t);

ThreadCounts numbered() {
    ThreadCounts counts;
    number_from(counts.core, 1'000, kCoreNumbers);
    number_from(counts.gateway, 2'000, kGatewayNumbers);
    number_from(counts.net, 3'000, kNetNumbers);
    number_from(counts.readers, 4'000, kReaderNumbers);
    return counts;
}

TEST(Metrics, EveryCounterOfAThreadIsOnThePageOnce) {
    MetricPage page;
    write_threads(page, numbered());

    const auto values = values_on(page);
    expect_each_once(values, 1'000, kCoreNumbers);
    expect_each_once(values, 2'000, kGatewayNumbers);
    expect_each_once(values, 3'000, kNetNumbers);
    expect_each_once(values, 4'000, kReaderNumbers);
}

TEST(Metrics, EveryCounterOfTheClusterIsOnThePageOnce) {
    ClusterCounters counters;
    constexpr std::size_t kNumbers = sizeof counters / sizeof(std::uint64_t);
    number_from(counters, 1'000, kNumbers);
    MetricPage page;
    write_cluster(page, counters);

    expect_each_once(values_on(page), 1'000, kNumbers);
}

TEST(Metrics, EveryReasonToRefuseATokenIsOnThePage) {
    auth::JwtCounters counters;
    number_from(counters, 1'000, sizeof counters / sizeof(std::uint64_t));
    MetricPage page;
    write_tokens(page, counters);

    const auto values = values_on(page);
    EXPECT_EQ(values.count(1'000), 1U);
    // The first place of `refused` stands for `none`, which is no refusal.
    expect_each_once(values, 1'002, sizeof counters / sizeof(std::uint64_t) - 2);
}

TEST(Metrics, ThreadsAreSummed) {
    ThreadCounts sum = numbered();
    sum.live.watches = 3;
    sum.census.live = 5;
    sum += sum;

    EXPECT_EQ(sum.core.settles[0], 2'000U);
    EXPECT_EQ(sum.gateway.requests, 2 * (2'000 + kGatewayNumbers - 1));
    EXPECT_EQ(sum.net.tls_failures, 2 * (3'000 + kNetNumbers - 1));
    EXPECT_EQ(sum.live.watches, 6U);
    EXPECT_EQ(sum.census.live, 10U);
}

UserRecord record_of(Status own, Status shown) {
    UserRecord record;
    record.presence.own.status = own;
    record.presence.shown.status = shown;
    record.sessions.emplace_back();
    record.sessions.back().counts = true;
    return record;
}

TEST(OpenCensus, WhoeverIsInvisibleIsNotThereNorAreTheirSessions) {
    OpenCensus census;
    census.count(record_of(Status::invisible, Status::offline), NodeId{});

    EXPECT_EQ(census.live, 0U);
    EXPECT_EQ(std::ranges::count(census.by_status, 0U), 7);
}

TEST(OpenCensus, OthersAreCountedByTheirPublicFace) {
    OpenCensus census;
    census.count(record_of(Status::dnd, Status::dnd), NodeId{});
    UserRecord doubted = record_of(Status::online, Status::online);
    doubted.presence.doubtful = true;
    census.count(doubted, NodeId{});

    EXPECT_EQ(census.live, 2U);
    EXPECT_EQ(census.by_status.at(static_cast<std::size_t>(Status::dnd)), 1U);
    EXPECT_EQ(census.by_status.at(static_cast<std::size_t>(Status::unknown)), 1U);
    EXPECT_EQ(census.by_status.at(static_cast<std::size_t>(Status::online)), 0U);
}

TEST(OpenCensus, SessionsOfOtherNodesAreTheirsToCount) {
    UserRecord record = record_of(Status::online, Status::online);
    record.sessions.push_back(record.sessions.front());
    record.sessions.back().node = NodeId{7};
    OpenCensus census;
    census.count(record, NodeId{7});

    EXPECT_EQ(census.live, 1U);
}

}  // namespace
}  // namespace presence::app
