#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace presence::net {

/// Whether two header names are the same: ASCII letters without case.
[[nodiscard]] bool same_header_name(std::string_view a, std::string_view b) noexcept;

/// What limits per address count by: an IPv4 address, or the /64 of an IPv6 one, as one host
/// usually owns all of that.
struct AddressKey {
    std::array<std::uint8_t, 16> bytes{};
    friend bool operator==(const AddressKey&, const AddressKey&) = default;
};

/// A peer's address. IPv4 mapped into IPv6 is given as IPv4.
struct RemoteAddress {
    std::string text;  ///< "192.0.2.7" or "2001:db8::7", without port or brackets.
    std::uint16_t port = 0;
    bool is_loopback = false;
    AddressKey key;
};

/// One HTTP/1.1 request, whole. Lives during Handler::on_request; move out what is needed later.
struct HttpRequest {
    std::string method;  ///< As sent: "GET".
    std::string target;  ///< As sent: path and query, nothing decoded or normalised.
    std::vector<std::pair<std::string, std::string>> headers;  ///< In order; values trimmed.
    std::string body;
    RemoteAddress remote;
    bool keep_alive = true;

    /// A well-formed RFC 6455 handshake (net answers others itself, 400 or 426). Answer it with
    /// Server::accept_websocket, or refuse it with Server::respond.
    bool is_upgrade = false;
    std::vector<std::string> subprotocols;  ///< Offered, in order; only for upgrades.

    /// The target up to the first '?', and what follows it. Raw.
    [[nodiscard]] std::string_view path() const noexcept;
    [[nodiscard]] std::string_view query() const noexcept;

    /// The first value of a header, any case of its name; nothing if it was not sent.
    [[nodiscard]] std::optional<std::string_view> header(std::string_view name) const noexcept;
    /// How often it was sent: two Origin headers are for the caller to refuse.
    [[nodiscard]] std::size_t header_count(std::string_view name) const noexcept;
};

/// One answer. Content-Length, Date, Connection are added by net; for HEAD the body is left out.
struct HttpResponse {
    int status = 200;
    std::string content_type;  ///< Empty: no Content-Type header.
    std::vector<std::pair<std::string, std::string>> headers;
    std::variant<std::string, std::shared_ptr<const std::string>> body;
    bool close = false;         ///< Close the connection when the answer is out.
    bool more_follows = false;  ///< For Server::respond_stream: the body is only its beginning.

    [[nodiscard]] std::string_view body_view() const noexcept;
};

/// The head of an answer, up to and with the empty line.
struct HeadFacts {
    bool keep_alive = true;
    bool is_stream = false;  ///< Length not known: the end of the connection ends the body.
    std::string_view date;   ///< As HTTP wants it.
};
[[nodiscard]] std::string encode_head(const HttpResponse& response, const HeadFacts& facts);

/// Without blanks at either end, as lists in headers have them (RFC 9110, 5.6.1).
[[nodiscard]] std::string_view trimmed(std::string_view text) noexcept;

/// The token of the one Authorization header, if it is a Bearer one (RFC 6750). Valid as long as
/// the request.
[[nodiscard]] std::optional<std::string_view> bearer_token(const HttpRequest& request);

/// "Sun, 06 Nov 1994 08:49:37 GMT".
[[nodiscard]] std::string http_date(std::int64_t unix_seconds);

/// The words beside a status: "Not Found".
[[nodiscard]] std::string_view reason_phrase(int status) noexcept;

}  // namespace presence::net
