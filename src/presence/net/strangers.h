#pragma once

#include "presence/net/address_rows.h"

#include <atomic>
#include <cstdint>

namespace presence::net {

/// Counts over the servers that share it: connections that have not proved yet whose they are, by
/// address and in all; and connections of all kinds. Any thread.
class Strangers {
public:
    enum class Answer : std::uint8_t { taken, too_many_here, too_many };
    /// One more from `address`, where neither bound is reached. Each `taken` is to be given back.
    [[nodiscard]] Answer take(const AddressKey& address, std::uint32_t most_here,
                              std::uint32_t most);
    void give_back(const AddressKey& address);

    [[nodiscard]] std::uint32_t count() const noexcept { return all_.load(); }

    void connection_opened() noexcept { connections_.fetch_add(1, std::memory_order_relaxed); }
    void connection_closed() noexcept { connections_.fetch_sub(1, std::memory_order_relaxed); }
    [[nodiscard]] std::uint32_t connections() const noexcept {
        return connections_.load(std::memory_order_relaxed);
    }

private:
    std::atomic<std::uint32_t> all_{0};
    std::atomic<std::uint32_t> connections_{0};
    AddressRows<std::uint32_t> here_;
};

}  // namespace presence::net
