#pragma once

#include "presence/api/readers.h"
#include "presence/app/open_census.h"
#include "presence/app/timed_sessions.h"
#include "presence/auth/jwt_verifier.h"
#include "presence/base/counting.h"
#include "presence/base/latency.h"
#include "presence/core/cluster_member.h"
#include "presence/core/counters.h"
#include "presence/gateway/gateway.h"
#include "presence/model/census.h"
#include "presence/net/server.h"
#include "presence/telemetry/metric_page.h"
#include "presence/webhooks/sender.h"

#include <cstddef>
#include <cstdint>

namespace presence::app {

/// What is there at the moment of a scrape.
struct LiveCounts {
    std::size_t sockets = 0;
    std::size_t watches = 0;
    std::size_t watched_users = 0;
    std::size_t rooms_kept = 0;
    std::size_t rooms_heard = 0;
    std::size_t profiles_cached = 0;
    std::size_t last_seen_queue = 0;
    std::size_t webhook_queue = 0;
    std::size_t journal_queue = 0;

    LiveCounts& operator+=(const LiveCounts& other);
};

/// What the threads of a node have counted, one or their sum.
struct ThreadCounts {
    CoreCounters core;
    gateway::GatewayCounters gateway;
    net::NetCounters net;
    api::ReaderCounters readers;
    std::uint64_t reader_places_refused = 0;
    LatencyHistogram look_times;
    StoreTimes store_times;
    LatencyHistogram loop_lag;
    OpenCensus census;
    OpenConnections connections;
    LiveCounts live;

    ThreadCounts& operator+=(const ThreadCounts& other);
};

// Names and help of everything that is counted, as docs/metrics.md lists them.

/// All that threads count, write_gauges included.
void write_threads(telemetry::MetricPage& page, const ThreadCounts& counts);
/// What is there now.
void write_gauges(telemetry::MetricPage& page, const ThreadCounts& counts);
void write_tokens(telemetry::MetricPage& page, const auth::JwtCounters& counts);
void write_webhooks(telemetry::MetricPage& page, const webhooks::SenderCounters& counts);
void write_cluster(telemetry::MetricPage& page, const ClusterCounters& counts);

}  // namespace presence::app
