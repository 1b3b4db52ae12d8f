#include "presence/net/handshake.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>

namespace presence::net {
namespace {

/// RFC 6455, section 1.3.
constexpr std::string_view kAcceptSuffix = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
constexpr std::string_view kVersion = "13";
constexpr std::size_t kKeySize = 24;  ///< Base64 of 16 bytes.

/// All items of a comma-separated header, over all its lines.
std::vector<std::string> list_of(const HttpRequest& request, std::string_view name) {
    std::vector<std::string> items;
    for (const auto& [key, value] : request.headers) {
        if (!same_header_name(key, name)) {
            continue;
        }
        std::string_view rest = value;
        while (!rest.empty()) {
            const std::size_t comma = std::min(rest.find(','), rest.size());
            const std::string_view item = trimmed(rest.substr(0, comma));
            if (!item.empty()) {
                items.emplace_back(item);
            }
            rest.remove_prefix(std::min(comma + 1, rest.size()));
        }
    }
    return items;
}

bool lists(const HttpRequest& request, std::string_view header, std::string_view word) {
    return std::ranges::any_of(list_of(request, header), [&](const std::string& item) {
        return same_header_name(item, word);
    });
}

bool is_key(std::string_view key) {
    if (key.size() != kKeySize || !key.ends_with("==")) {
        return false;
    }
    return std::ranges::all_of(key.substr(0, kKeySize - 2), [](char c) {
        return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
               c == '+' || c == '/';
    });
}

}  // namespace

std::optional<HandshakeFault> inspect_handshake(HttpRequest& request) {
    if (!lists(request, "Upgrade", "websocket") || !lists(request, "Connection", "upgrade")) {
        return std::nullopt;
    }
    if (request.method != "GET" || !request.body.empty()) {
        return HandshakeFault{400, "a WebSocket handshake is a GET without a body"};
    }
    if (request.header_count("Sec-WebSocket-Version") != 1 ||
        *request.header("Sec-WebSocket-Version") != kVersion) {
        return HandshakeFault{426, "only WebSocket version 13 is spoken here"};
    }
    if (request.header_count("Sec-WebSocket-Key") != 1 ||
        !is_key(*request.header("Sec-WebSocket-Key"))) {
        return HandshakeFault{400, "Sec-WebSocket-Key must be one base64 text of 16 bytes"};
    }
    request.is_upgrade = true;
    request.subprotocols = list_of(request, "Sec-WebSocket-Protocol");
    return std::nullopt;
}

std::string encode_accept(std::string_view key, std::string_view subprotocol) {
    const std::string salted = fmt::format("{}{}", key, kAcceptSuffix);
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int digest_size = 0;
    EVP_Digest(salted.data(), salted.size(), digest.data(), &digest_size, EVP_sha1(), nullptr);
    std::array<unsigned char, 64> text{};
    const int text_size =
        EVP_EncodeBlock(text.data(), digest.data(), static_cast<int>(digest_size));
    std::string answer = fmt::format(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Accept: {}\r\n",
        std::string_view(reinterpret_cast<const char*>(text.data()),
                         static_cast<std::size_t>(text_size)));
    if (!subprotocol.empty()) {
        answer += fmt::format("Sec-WebSocket-Protocol: {}\r\n", subprotocol);
    }
    answer += "\r\n";
    return answer;
}

}  // namespace presence::net
