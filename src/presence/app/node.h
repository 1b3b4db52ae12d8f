#pragma once

#include "presence/api/api.h"
#include "presence/auth/auth_config.h"
#include "presence/core/configs.h"
#include "presence/core/limits.h"
#include "presence/net/networks.h"
#include "presence/stores/redis/config.h"
#include "presence/webhooks/sender.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace presence::app {

/// Who may read GET /metrics.
enum class MetricsAccess : std::uint8_t {
    open,  ///< Anybody, as nothing in it is about one person.
    key,   ///< Back ends.
    off,   ///< Nobody: 404.
};

/// Everything that a node is told before it starts. Filled from the configuration.
struct NodeConfig {
    std::string listen = "127.0.0.1:8080";
    std::size_t threads = 1;
    /// SQLite file of the profiles and of the session journal; empty: in memory, lost with the
    /// process.
    std::string database_path;
    std::optional<redis::RedisConfig> redis;  ///< Shared store; empty: this process alone.
    /// Each heartbeat is written to the shared store, in plain keys for other systems.
    bool write_every_heartbeat = false;
    std::string postgres_url;  ///< Not empty: the profiles are there, and only the journal here.
    std::size_t postgres_connections = 4;
    /// File in which ends of presences wait while the database is away; empty: in memory.
    std::string spool_path;
    webhooks::WebhookConfig webhooks;
    net::Networks proxies;  ///< Whose X-Forwarded-For is believed.
    std::string tls_certificate;
    std::string tls_key;
    CoreConfig core;
    Limits limits;
    auth::AuthConfig auth;
    std::vector<std::string> api_keys;
    std::vector<std::string> allowed_origins;
    std::string auth_cookie;  ///< auth.cookie; empty: tokens do not come in cookies.
    MetricsAccess metrics = MetricsAccess::open;
    /// truth.canaries: on, as it costs a commit in ten seconds, and whoever needs what it measured
    /// needs what it measured before.
    bool canaries = true;
    bool demo = false;        ///< Simulated people and tokens for the demo page.
    std::string demo_secret;  ///< HS256 secret that demo tokens are signed with.
};

/// One `presenced` process without its signals and its command line: the one place where objects
/// are made and tied together.
class Node {
public:
    /// Opens the stores, brings back what the life before left, starts the threads and listens.
    /// When it returns, the node serves.
    [[nodiscard]] static Result<std::unique_ptr<Node>> start(NodeConfig config);
    ~Node();
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;

    /// "127.0.0.1:8080", with the port that was taken.
    [[nodiscard]] const std::string& address() const noexcept;

    /// Whether each thread has come to its timed work since the last call: what a watchdog wants to
    /// know. Main thread.
    [[nodiscard]] bool all_threads_moved();

    /// Lets everybody go, hands sessions over under grace, writes what is queued, and stops
    /// (DESIGN rule 33). Blocks for CoreConfig::drain_timeout at most.
    void drain_and_stop();

    /// Takes what can change live: keys, origins, limits, certificate. On an error nothing has
    /// changed.
    [[nodiscard]] Result<bool> reload(const NodeConfig& config);

private:
    struct State;
    explicit Node(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace presence::app
