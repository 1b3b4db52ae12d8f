#pragma once

#include "presence/net/http.h"

#include <sys/socket.h>

namespace presence::net {

/// A socket address as people write it.
[[nodiscard]] RemoteAddress to_remote_address(const sockaddr_storage& address);
/// The peer of a connected socket; empty if it is gone.
[[nodiscard]] RemoteAddress peer_address(int fd);
[[nodiscard]] AddressKey to_address_key(const sockaddr_storage& address);

}  // namespace presence::net
