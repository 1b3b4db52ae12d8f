#pragma once

#include "presence/net/http.h"

#include <array>
#include <compare>
#include <cstdint>
#include <sys/socket.h>

namespace presence::net {

/// What limits per address count by: an IPv4 address, or the /64 of an IPv6 one, as one host
/// usually owns all of that.
struct AddressKey {
    std::array<std::uint8_t, 16> bytes{};
    friend bool operator==(const AddressKey&, const AddressKey&) = default;
};
struct AddressHash {
    [[nodiscard]] std::size_t operator()(const AddressKey& key) const noexcept;
};

/// A socket address as people write it.
[[nodiscard]] RemoteAddress to_remote_address(const sockaddr_storage& address);
/// The peer of a connected socket; empty if it is gone.
[[nodiscard]] RemoteAddress peer_address(int fd);
[[nodiscard]] AddressKey to_address_key(const sockaddr_storage& address);

}  // namespace presence::net
