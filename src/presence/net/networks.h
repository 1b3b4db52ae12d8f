#pragma once

#include "presence/base/result.h"
#include "presence/net/http.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace presence::net {

/// An address as people and proxies write it: "192.0.2.7", "2001:db8::7", "[2001:db8::7]", each
/// with a port if they like ("192.0.2.7:443", "[2001:db8::7]:443"). Nothing for all else, names
/// included.
[[nodiscard]] std::optional<RemoteAddress> parse_address(std::string_view text);

/// Addresses and networks: "10.0.0.0/8", "2001:db8::/32", "192.0.2.7". An IPv4 address that is
/// mapped into IPv6 is the IPv4 one. Plain value; any thread may read it.
class Networks {
public:
    /// @retval bad_request  Names the first entry that is none.
    [[nodiscard]] static Result<Networks> parse(std::span<const std::string> entries);

    [[nodiscard]] bool contains(const RemoteAddress& address) const;
    [[nodiscard]] bool empty() const noexcept { return networks_.empty(); }

private:
    using Bytes = std::array<std::uint8_t, 16>;
    struct Network {
        Bytes first{};
        unsigned bits = 128;  ///< Of all 128; those of an IPv4 network are 96 more than written.
    };
    std::vector<Network> networks_;
};

/// Whom a request of a proxy is for, by its X-Forwarded-For: read from the right, over all headers
/// of that name, the first address that is no proxy itself. What stands left of it anybody can
/// write. Where an entry is no address, the one to its right counts. Nothing where there is none.
///
/// @param request  Came from an address among `proxies`; else the header must not be looked at.
[[nodiscard]] std::optional<RemoteAddress> forwarded_for(const HttpRequest& request,
                                                         const Networks& proxies);

}  // namespace presence::net
