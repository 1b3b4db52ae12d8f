#include "presence/stores/redis/config.h"

#include "presence/base/log.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace presence::redis {

namespace {

constexpr std::size_t kMostEndpoints = 64;
constexpr std::size_t kMostPartitions = 1024;
constexpr std::size_t kLongestPrefix = 16;
constexpr unsigned kMostDatabase = 10'000;

Error wrong(std::string why) {
    return {ErrorCode::bad_request, std::move(why), 0, 0};
}

template <class Number>
std::optional<Number> number(std::string_view text) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || text.empty()) {
        return std::nullopt;
    }
    return value;
}

std::optional<std::string> percent_decoded(std::string_view text) {
    constexpr std::size_t kEscape = 3;
    constexpr int kHex = 16;
    std::string decoded;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            decoded.push_back(text[i]);
            continue;
        }
        unsigned char byte = 0;
        const std::string_view digits = text.substr(i + 1, kEscape - 1);
        const auto [end, error] =
            std::from_chars(digits.data(), digits.data() + digits.size(), byte, kHex);
        if (digits.size() != kEscape - 1 || error != std::errc{} ||
            end != digits.data() + digits.size()) {
            return std::nullopt;
        }
        decoded.push_back(static_cast<char>(byte));
        i += kEscape - 1;
    }
    return decoded;
}

/// What stands before the first `mark`, which `rest` then begins behind; all where there is none.
std::string_view cut(std::string_view& rest, char mark) {
    const std::size_t at = rest.find(mark);
    const std::string_view head = rest.substr(0, at);
    rest = at == std::string_view::npos ? std::string_view{} : rest.substr(at + 1);
    return head;
}

Result<Endpoint> endpoint_from(std::string_view text) {
    std::string_view host = text;
    std::string_view port;
    if (text.starts_with('[')) {
        const std::size_t end = text.find(']');
        if (end == std::string_view::npos) {
            return wrong(fmt::format("{} has no closing bracket", log::quoted(text, 80)));
        }
        host = text.substr(1, end - 1);
        port = text.substr(end + 1);
        if (!port.empty() && !port.starts_with(':')) {
            return wrong(fmt::format("{} is no address", log::quoted(text, 80)));
        }
        port = port.empty() ? port : port.substr(1);
    } else if (const std::size_t colon = text.rfind(':'); colon != std::string_view::npos) {
        host = text.substr(0, colon);
        port = text.substr(colon + 1);
        if (port.empty()) {
            return wrong(fmt::format("{} names no port", log::quoted(text, 80)));
        }
        if (host.find(':') != std::string_view::npos) {
            return wrong(
                fmt::format("{}: an IPv6 address stands in brackets", log::quoted(text, 80)));
        }
    }
    Endpoint endpoint{std::string(host)};
    if (endpoint.host.empty() || endpoint.host.find_first_of(" \t/?#@") != std::string::npos) {
        return wrong(fmt::format("{} names no host", log::quoted(text, 80)));
    }
    if (!port.empty()) {
        const std::optional<std::uint16_t> value = number<std::uint16_t>(port);
        if (!value || *value == 0) {
            return wrong(fmt::format("port {} is not between 1 and 65535", log::quoted(port, 20)));
        }
        endpoint.port = *value;
    }
    return endpoint;
}

Result<bool> take_endpoints(std::string_view hosts, RedisConfig& config) {
    while (!hosts.empty()) {
        Result<Endpoint> endpoint = endpoint_from(cut(hosts, ','));
        if (!endpoint) {
            return endpoint.error();
        }
        config.endpoints.push_back(std::move(*endpoint));
    }
    if (config.endpoints.empty()) {
        return wrong("no host is named");
    }
    if (!config.cluster && config.endpoints.size() > 1) {
        return wrong("several hosts are named; a cluster is redis-cluster://");
    }
    if (config.endpoints.size() > kMostEndpoints) {
        return wrong(
            fmt::format("{} hosts are named, most is {}", config.endpoints.size(), kMostEndpoints));
    }
    return true;
}

Result<bool> take_credentials(std::string_view text, RedisConfig& config) {
    std::string_view rest = text;
    const bool has_password = text.find(':') != std::string_view::npos;
    std::optional<std::string> user = percent_decoded(cut(rest, ':'));
    std::optional<std::string> password = percent_decoded(rest);
    if (!user || !password) {
        return wrong("user or password has a % that is no encoded byte");
    }
    if (!has_password || password->empty()) {
        return wrong("a user is named without a password; write user:password@ or :password@");
    }
    config.user = std::move(*user);
    config.password = std::move(*password);
    return true;
}

Result<bool> take_option(std::string_view option, RedisConfig& config) {
    std::string_view value = option;
    const std::string_view name = cut(value, '=');
    if (name == "ca" && config.tls) {
        config.tls_ca = std::string(value);
        return true;
    }
    if (name == "prefix") {
        const bool plain = std::ranges::all_of(value, [](char c) {
            return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
        });
        if (value.empty() || value.size() > kLongestPrefix || !plain) {
            return wrong(fmt::format("prefix is 1 to {} of a-z, 0-9, - and .", kLongestPrefix));
        }
        config.prefix = std::string(value);
        return true;
    }
    if (name == "partitions") {
        const std::optional<std::size_t> count = number<std::size_t>(value);
        if (!count || *count < 1 || *count > kMostPartitions) {
            return wrong(fmt::format("partitions is not between 1 and {}", kMostPartitions));
        }
        config.partitions = *count;
        return true;
    }
    return wrong(fmt::format("{} is no option here; known are prefix, partitions, and with TLS ca",
                             log::quoted(name, 40)));
}

}  // namespace

std::string to_string(const Endpoint& endpoint) {
    return endpoint.host.find(':') == std::string::npos
               ? fmt::format("{}:{}", endpoint.host, endpoint.port)
               : fmt::format("[{}]:{}", endpoint.host, endpoint.port);
}

bool is_redis_url(std::string_view url) {
    return url.starts_with("redis:") || url.starts_with("rediss:") ||
           url.starts_with("redis-cluster:") || url.starts_with("rediss-cluster:");
}

Result<RedisConfig> parse_redis_url(std::string_view url) {
    const std::size_t scheme_end = url.find("://");
    if (!is_redis_url(url) || scheme_end == std::string_view::npos) {
        return wrong(
            "begins with none of redis://, rediss://, redis-cluster://, rediss-cluster://");
    }
    const std::string_view scheme = url.substr(0, scheme_end);
    RedisConfig config;
    config.tls = scheme.starts_with("rediss");
    config.cluster = scheme.ends_with("-cluster");
    std::string_view options = url.substr(scheme_end + 3);
    std::string_view database = cut(options, '?');
    std::string_view hosts = cut(database, '/');
    if (const std::size_t at = hosts.rfind('@'); at != std::string_view::npos) {
        Result<bool> known = take_credentials(hosts.substr(0, at), config);
        if (!known) {
            return known.error();
        }
        hosts = hosts.substr(at + 1);
    }
    Result<bool> named = take_endpoints(hosts, config);
    if (!named) {
        return named.error();
    }
    if (!database.empty()) {
        const std::optional<unsigned> chosen = number<unsigned>(database);
        if (!chosen || *chosen > kMostDatabase) {
            return wrong("what follows the host is no number of a database");
        }
        if (config.cluster && *chosen != 0) {
            return wrong("a cluster has only the database 0");
        }
        config.database = *chosen;
    }
    while (!options.empty()) {
        Result<bool> taken = take_option(cut(options, '&'), config);
        if (!taken) {
            return taken.error();
        }
    }
    return config;
}

}  // namespace presence::redis
