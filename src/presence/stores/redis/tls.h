#pragma once

#include "presence/base/result.h"
#include "presence/stores/redis/config.h"

#include <memory>

struct ssl_ctx_st;
struct ssl_st;

namespace presence::redis {

using TlsContext = std::shared_ptr<ssl_ctx_st>;
using TlsSession = std::unique_ptr<ssl_st, void (*)(ssl_st*)>;

/// What all connections of a node start from; null where the configuration wants plain TCP.
/// @retval ErrorCode::bad_request  The file of authorities cannot be read.
[[nodiscard]] Result<TlsContext> load_tls(const RedisConfig& config);

/// The client's side on a connected socket: the server has to prove that it is `host`.
[[nodiscard]] TlsSession open_tls(ssl_ctx_st& context, int fd, const std::string& host);

/// Why the last call on a session has failed, for people.
[[nodiscard]] std::string tls_trouble(const ssl_st& session);

}  // namespace presence::redis
