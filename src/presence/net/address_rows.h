#pragma once

#include "presence/net/http.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <string_view>

namespace presence::net {

/// A number for each address, in a fixed number of rows. Any thread.
///
/// Addresses share rows by a hash that no stranger can know, so that no memory has to be had for
/// each: two that meet in a row share its limit, which at a few thousand strangers is rare.
template <class Number>
class AddressRows {
public:
    AddressRows() {
        std::random_device device;
        seed_ = (std::uint64_t{device()} << 32U) | device();
    }

    [[nodiscard]] std::atomic<Number>& of(const AddressKey& address) {
        std::array<char, sizeof(seed_) + sizeof(address.bytes)> bytes{};
        std::memcpy(bytes.data(), &seed_, sizeof seed_);
        std::memcpy(bytes.data() + sizeof seed_, address.bytes.data(), sizeof address.bytes);
        return rows_[std::hash<std::string_view>{}({bytes.data(), bytes.size()}) % kRows];
    }

private:
    static constexpr std::size_t kRows = 65'536;

    std::uint64_t seed_ = 0;
    std::array<std::atomic<Number>, kRows> rows_{};
};

}  // namespace presence::net
