#include "presence/webhooks/address_filter.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cstdint>
#include <cstring>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>

namespace presence::webhooks {

namespace {

struct Range {
    std::uint32_t first;
    unsigned bits;
};

constexpr std::uint32_t v4(unsigned a, unsigned b, unsigned c, unsigned d) {
    return a << 24U | b << 16U | c << 8U | d;
}

/// The special-purpose registry of IPv4.
constexpr std::array kNotPublic{
    Range{v4(0, 0, 0, 0), 8},      Range{v4(10, 0, 0, 0), 8},     Range{v4(100, 64, 0, 0), 10},
    Range{v4(127, 0, 0, 0), 8},    Range{v4(169, 254, 0, 0), 16}, Range{v4(172, 16, 0, 0), 12},
    Range{v4(192, 0, 0, 0), 24},   Range{v4(192, 0, 2, 0), 24},   Range{v4(192, 88, 99, 0), 24},
    Range{v4(192, 168, 0, 0), 16}, Range{v4(198, 18, 0, 0), 15},  Range{v4(198, 51, 100, 0), 24},
    Range{v4(203, 0, 113, 0), 24}, Range{v4(224, 0, 0, 0), 4},    Range{v4(240, 0, 0, 0), 4}};

bool is_public(std::uint32_t address) {
    return std::ranges::none_of(kNotPublic, [address](const Range& range) {
        return (address ^ range.first) >> (32U - range.bits) == 0;
    });
}

std::uint32_t word(const in6_addr& address, std::size_t at) {
    std::uint32_t value = 0;
    std::memcpy(&value, &address.s6_addr[at], sizeof value);
    return ntohl(value);
}

bool is_public(const in6_addr& address) {
    constexpr std::uint32_t kMapped = 0xFFFF;
    constexpr std::uint32_t kNat64 = 0x0064FF9B;
    const std::uint32_t first = word(address, 0);
    const std::uint32_t last = word(address, 12);
    if (first == 0 && word(address, 4) == 0 && word(address, 8) == kMapped) {
        return is_public(last);
    }
    if (first == kNat64 && word(address, 4) == 0 && word(address, 8) == 0) {
        return is_public(last);
    }
    // What is assigned to the open internet is 2000::/3; tunnels and examples in it are not it.
    const bool global = first >> 29U == 1;
    const bool ietf = first >> 9U == 0x20010000U >> 9U;  // 2001::/23, Teredo included
    const bool documentation = first == 0x20010DB8U || first >> 12U == 0x3FFF0000U >> 12U;
    const bool six_to_four = first >> 16U == 0x2002U;
    return global && !ietf && !documentation && !six_to_four;
}

}  // namespace

bool is_public_address(const sockaddr& address) noexcept {
    // Copied, as a sockaddr may not be aligned for what it holds.
    if (address.sa_family == AF_INET) {
        sockaddr_in in{};
        std::memcpy(&in, &address, sizeof in);
        return is_public(ntohl(in.sin_addr.s_addr));
    }
    if (address.sa_family == AF_INET6) {
        sockaddr_in6 in{};
        std::memcpy(&in, &address, sizeof in);
        return is_public(in.sin6_addr);
    }
    return false;
}

bool is_public_address(std::string_view text) {
    const std::string name(text);
    in_addr four{};
    in6_addr six{};
    if (::inet_pton(AF_INET, name.c_str(), &four) == 1) {
        return is_public(ntohl(four.s_addr));
    }
    return ::inet_pton(AF_INET6, name.c_str(), &six) == 1 && is_public(six);
}

}  // namespace presence::webhooks
