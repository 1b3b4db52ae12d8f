#pragma once

#include "presence/base/result.h"
#include "presence/base/time.h"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace presence::redis {

/// Where a server listens.
struct Endpoint {
    std::string host;
    std::uint16_t port = 6379;
    friend auto operator<=>(const Endpoint&, const Endpoint&) = default;
};

/// "127.0.0.1:6379"; an IPv6 address in brackets.
[[nodiscard]] std::string to_string(const Endpoint& endpoint);

/// How a node talks to Redis or Valkey. The limits stand here with their reasons, as those of the
/// core stand in core/limits.h.
struct RedisConfig {
    /// A single server has one; of a cluster any that are up, the rest is learned from them.
    std::vector<Endpoint> endpoints;
    bool cluster = false;
    bool tls = false;
    std::string tls_ca;    ///< File with the authorities to trust; empty: those of the system.
    std::string user;      ///< Empty: `default`.
    std::string password;  ///< Empty: none is sent.
    unsigned database = 0;
    /// Begins every key and channel, so that others can use the same server.
    std::string prefix = "pd";
    /// Shares of the users, each in one slot. All nodes of a deployment have the same number.
    std::size_t partitions = 64;

    /// From the first packet to the end of the greeting.
    Millis connect_timeout{1'000};
    /// A call that has no answer by then is `unavailable`. Below the 2 s that an attach may wait.
    Millis request_timeout{1'000};
    /// Between attempts to connect; doubles from the least to the most, less up to a half at
    /// random.
    Millis reconnect_least{50};
    Millis reconnect_most{1'000};
    /// The map of the cluster is asked for at most that often, whatever happens.
    Millis topology_pause{250};
    /// And that often if nothing happens.
    Millis topology_every{15'000};
    /// A connection that has said nothing for that long is asked whether it lives.
    Millis ping_after{2'000};

    /// Calls handed in and not yet answered; over it they are refused with `unavailable`. Each
    /// holds its arguments, about a kilobyte: 20 MB when Redis stands still under full load.
    std::size_t queue = 20'000;
    /// Keys in one MGET: bounds how long others wait behind it.
    std::size_t keys_at_once = 256;
    /// Commits in one script, about 20 us each.
    std::size_t commits_at_once = 100;
    /// Channels in one SSUBSCRIBE, and such commands under way on one connection: a reconnect with
    /// many channels must not keep the server from its other clients.
    std::size_t channels_at_once = 128;
    std::size_t subscribes_at_once = 8;
    /// Channels a node subscribes to. At 500 watches a connection this is reached only where
    /// hardly any two people watch the same person; a channel is about 300 bytes on each side.
    std::size_t channels = 2'000'000;
    /// A channel that nobody watches any more is kept so long, as people come back to a screen.
    Millis linger{5'000};
    /// One node sends a probe over each partition's channel that often; a node that has heard none
    /// for `probe_missing` takes its subscriptions there for lost (RULINGS 16).
    Millis probe_every{2'500};
    Millis probe_missing{5'000};
};

/// Whether `url` names a Redis, whatever is wrong with the rest of it.
[[nodiscard]] bool is_redis_url(std::string_view url);

/// Reads `redis://[user[:password]@]host[:port][/database]`,
/// `redis-cluster://…host:port,host:port`, and the same with `rediss` for TLS. `?ca=FILE` names the
/// authorities to trust, `?prefix=TEXT` what keys begin with, `?partitions=N` the number of
/// partitions. User and password may hold percent-encoded bytes.
/// @retval ErrorCode::bad_request  Says what is wrong, and never repeats the password.
[[nodiscard]] Result<RedisConfig> parse_redis_url(std::string_view url);

}  // namespace presence::redis
