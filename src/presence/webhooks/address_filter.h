#pragma once

#include <string_view>

struct sockaddr;

namespace presence::webhooks {

/// Whether an address is one of the open internet. Everything else (loopback, private, link-local,
/// multicast, documentation, and all of these wrapped into IPv6) is where a receiver must not make
/// us call: services that trust their neighbours.
[[nodiscard]] bool is_public_address(const sockaddr& address) noexcept;

/// The same for an address in text, for tests; false where it is none.
[[nodiscard]] bool is_public_address(std::string_view text);

}  // namespace presence::webhooks
