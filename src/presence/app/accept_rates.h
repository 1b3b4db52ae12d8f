#pragma once

#include "presence/base/time.h"
#include "presence/core/limits.h"
#include "presence/core/shared_bucket.h"
#include "presence/net/address_rows.h"

#include <atomic>
#include <cstdint>

namespace presence::app {

/// How often the node takes new connections: in all, and from one address. One object for all
/// threads, as the kernel may give a whole wave to one of them. Any thread.
class AcceptRates {
public:
    /// Whether `remote` may come in, by limits.accepts and limits.address_accepts. Loopback and
    /// proxies are spared the latter.
    [[nodiscard]] bool take(const net::RemoteAddress& remote, bool is_proxy, const Limits& limits,
                            MonoTime now) {
        return all_.take({limits.accepts_per_second, limits.accepts_burst}, now) &&
               (is_proxy || take_of_address(remote, limits, now));
    }

    /// By limits.address_accepts alone: for a client that came through a proxy.
    [[nodiscard]] bool take_of_address(const net::RemoteAddress& remote, const Limits& limits,
                                       MonoTime now) {
        const TokenBucket::Rate rate{limits.address_accepts_per_second,
                                     limits.address_accepts_burst};
        return remote.is_loopback || SharedBucket::take(by_address_.of(remote.key), rate, now);
    }

private:
    SharedBucket all_;
    net::AddressRows<std::int64_t> by_address_;
};

}  // namespace presence::app
