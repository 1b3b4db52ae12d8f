#pragma once

#include "presence/net/socket.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace presence::net {

/// Connections that have not proved yet whose they are, by address and in all, over the servers
/// that share it. Any thread.
///
/// Addresses share rows by a hash that no stranger can know, so that no memory has to be had for
/// each: two that meet in a row share its limit, which at a few thousand strangers is rare.
class Strangers {
public:
    Strangers();

    enum class Answer : std::uint8_t { taken, too_many_here, too_many };
    /// One more from `address`, where neither bound is reached. Each `taken` is to be given back.
    [[nodiscard]] Answer take(const AddressKey& address, std::uint32_t most_here,
                              std::uint32_t most);
    void give_back(const AddressKey& address);

    [[nodiscard]] std::uint32_t count() const noexcept { return all_.load(); }

private:
    static constexpr std::size_t kRows = 65'536;

    [[nodiscard]] std::atomic<std::uint32_t>& row_of(const AddressKey& address);

    std::uint64_t seed_;
    std::atomic<std::uint32_t> all_{0};
    std::array<std::atomic<std::uint32_t>, kRows> rows_{};
};

}  // namespace presence::net
