#include "presence/net/networks.h"

#include "presence/net/socket.h"

#include <fmt/format.h>

#include <algorithm>
#include <arpa/inet.h>
#include <charconv>
#include <cstring>
#include <sys/socket.h>

namespace presence::net {

namespace {

constexpr std::size_t kMostText = 64;  ///< Longer than any address with its port.

std::optional<unsigned> parse_number(std::string_view text, unsigned most) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value > most) {
        return std::nullopt;
    }
    return value;
}

std::optional<sockaddr_storage> to_storage(std::string_view host) {
    const std::string text(host);
    sockaddr_storage storage{};
    sockaddr_in v4{};
    sockaddr_in6 v6{};
    if (::inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1) {
        v4.sin_family = AF_INET;
        std::memcpy(&storage, &v4, sizeof v4);
    } else if (::inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr) == 1) {
        v6.sin6_family = AF_INET6;
        std::memcpy(&storage, &v6, sizeof v6);
    } else {
        return std::nullopt;
    }
    return storage;
}

/// All of an address, IPv4 as mapped into IPv6. (Its AddressKey has only the half of an IPv6 one.)
std::array<std::uint8_t, 16> bytes_of(const RemoteAddress& address) {
    std::array<std::uint8_t, 16> bytes{};
    if (::inet_pton(AF_INET6, address.text.c_str(), bytes.data()) != 1) {
        bytes[10] = bytes[11] = 0xFF;
        ::inet_pton(AF_INET, address.text.c_str(), bytes.data() + 12);
    }
    return bytes;
}

/// Host and port apart: "[v6]:port", "[v6]", "v4:port", or a bare address. Nothing if malformed.
std::optional<std::string_view> host_of(std::string_view text) {
    std::string_view port;
    if (text.starts_with('[')) {
        const auto end = text.find(']');
        if (end == std::string_view::npos) {
            return std::nullopt;
        }
        port = text.substr(end + 1);
        text = text.substr(1, end - 1);
    } else if (std::ranges::count(text, ':') == 1) {
        const auto colon = text.find(':');
        port = text.substr(colon);
        text = text.substr(0, colon);
    }
    if (!port.empty() && (port.front() != ':' || !parse_number(port.substr(1), 65'535))) {
        return std::nullopt;
    }
    return text;
}

}  // namespace

std::optional<RemoteAddress> parse_address(std::string_view text) {
    if (text.size() > kMostText) {
        return std::nullopt;
    }
    const std::optional<std::string_view> host = host_of(text);
    const std::optional<sockaddr_storage> storage = host ? to_storage(*host) : std::nullopt;
    if (!storage) {
        return std::nullopt;
    }
    return to_remote_address(*storage);
}

Result<Networks> Networks::parse(std::span<const std::string> entries) {
    Networks all;
    for (const std::string& entry : entries) {
        const std::string_view text = entry;
        const auto slash = text.find('/');
        const std::string_view host = text.substr(0, slash);
        const std::optional<sockaddr_storage> storage =
            host.size() > kMostText ? std::nullopt : to_storage(host);
        const bool is_v4 = host.find(':') == std::string_view::npos;
        const unsigned most = is_v4 ? 32 : 128;
        const std::optional<unsigned> bits =
            slash == std::string_view::npos ? most : parse_number(text.substr(slash + 1), most);
        if (!storage || !bits) {
            return Error{ErrorCode::bad_request,
                         fmt::format("{} is no address and no network like 10.0.0.0/8",
                                     text.substr(0, kMostText)),
                         0, 0};
        }
        all.networks_.push_back({bytes_of(to_remote_address(*storage)), *bits + (is_v4 ? 96 : 0)});
    }
    return all;
}

bool Networks::contains(const RemoteAddress& address) const {
    if (networks_.empty()) {
        return false;
    }
    const Bytes bytes = bytes_of(address);
    return std::ranges::any_of(networks_, [&](const Network& network) {
        const unsigned whole = network.bits / 8;
        const unsigned rest = network.bits % 8;
        if (std::memcmp(bytes.data(), network.first.data(), whole) != 0) {
            return false;
        }
        return rest == 0 || (bytes[whole] ^ network.first[whole]) >> (8 - rest) == 0;
    });
}

std::optional<RemoteAddress> forwarded_for(const HttpRequest& request, const Networks& proxies) {
    std::optional<RemoteAddress> client;
    for (auto header = request.headers.rbegin(); header != request.headers.rend(); ++header) {
        if (!same_header_name(header->first, "x-forwarded-for")) {
            continue;
        }
        std::string_view left = header->second;
        while (!left.empty()) {
            const auto comma = left.rfind(',');
            const std::string_view entry =
                trimmed(comma == std::string_view::npos ? left : left.substr(comma + 1));
            std::optional<RemoteAddress> hop = parse_address(entry);
            if (!hop) {
                return client;
            }
            client = std::move(hop);
            if (!proxies.contains(*client)) {
                return client;
            }
            left = comma == std::string_view::npos ? std::string_view() : left.substr(0, comma);
        }
    }
    return client;
}

}  // namespace presence::net
