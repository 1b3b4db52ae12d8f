#include "wire.h"

#include "presence/base/assert.h"

#include "failure.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>

namespace presence::bench {

namespace {

constexpr std::array<unsigned char, 4> kMask{0x5a, 0xc3, 0x17, 0x8e};
constexpr std::uint64_t kLargestFrame = 16 * 1024 * 1024;

void append_head(std::string& frame, Opcode opcode, std::size_t size, unsigned mask_bit) {
    PRESENCE_ASSERT(size <= 0xffff);
    frame += static_cast<char>(0x80U | static_cast<unsigned>(opcode));
    if (size < 126) {
        frame += static_cast<char>(mask_bit | size);
        return;
    }
    frame += static_cast<char>(mask_bit | 126U);
    frame += static_cast<char>(size >> 8U);
    frame += static_cast<char>(size & 0xffU);
}

std::string base64url(std::string_view bytes) {
    std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');
    const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                     reinterpret_cast<const unsigned char*>(bytes.data()),
                                     static_cast<int>(bytes.size()));
    text.resize(static_cast<std::size_t>(size));
    text.erase(text.find_last_not_of('=') + 1);
    std::ranges::replace(text, '+', '-');
    std::ranges::replace(text, '/', '_');
    return text;
}

}  // namespace

std::string client_frame(Opcode opcode, std::string_view payload) {
    std::string frame;
    frame.reserve(payload.size() + 8);
    append_head(frame, opcode, payload.size(), 0x80U);
    frame.append(reinterpret_cast<const char*>(kMask.data()), kMask.size());
    for (std::size_t at = 0; at < payload.size(); ++at) {
        frame += static_cast<char>(static_cast<unsigned char>(payload[at]) ^ kMask[at % 4]);
    }
    return frame;
}

std::string server_text_frame(std::string_view payload) {
    std::string frame;
    append_head(frame, Opcode::text, payload.size(), 0);
    return frame.append(payload);
}

ServerFrame first_frame(std::string_view bytes) {
    if (bytes.size() < 2) {
        return {};
    }
    const auto byte = [bytes](std::size_t at) { return static_cast<unsigned char>(bytes[at]); };
    if ((byte(0) & 0x80U) == 0 || (byte(1) & 0x80U) != 0) {
        fail("the server sent a fragmented or masked frame");
    }
    std::uint64_t size = byte(1);
    std::size_t head = 2;
    const std::size_t size_bytes = size == 126 ? 2 : size == 127 ? 8 : 0;
    if (bytes.size() < head + size_bytes) {
        return {};
    }
    if (size_bytes > 0) {
        size = 0;
        for (std::size_t at = 0; at < size_bytes; ++at) {
            size = size << 8U | byte(head + at);
        }
        head += size_bytes;
    }
    if (size > kLargestFrame) {
        fail("the server sent a frame of {} bytes", size);
    }
    if (bytes.size() < head + size) {
        return {};
    }
    return {static_cast<Opcode>(byte(0) & 0x0fU), bytes.substr(head, size), head + size};
}

std::string upgrade_request() {
    return "GET /v1/connect HTTP/1.1\r\n"
           "Host: 127.0.0.1\r\n"
           "Upgrade: websocket\r\n"
           "Connection: Upgrade\r\n"
           "Sec-WebSocket-Key: cHJlc2VuY2VkLWJlbmNoIQ==\r\n"
           "Sec-WebSocket-Version: 13\r\n"
           "Sec-WebSocket-Protocol: presence.v1\r\n"
           "\r\n";
}

std::string text_of(std::string_view message, std::string_view field) {
    const std::string name = fmt::format(R"("{}":")", field);
    const std::size_t at = message.find(name);
    if (at == std::string_view::npos) {
        fail("no {} in {}", field, message);
    }
    const std::string_view rest = message.substr(at + name.size());
    return std::string(rest.substr(0, rest.find('"')));
}

void for_each_status(
    std::string_view message,
    const std::function<void(std::string_view user, std::string_view status)>& visit) {
    constexpr std::string_view kUser = R"("userId":")";
    constexpr std::string_view kStatus = R"(","status":")";
    for (std::size_t at = message.find(kUser); at != std::string_view::npos;
         at = message.find(kUser, at)) {
        at += kUser.size();
        const std::string_view user = message.substr(at, message.find('"', at) - at);
        std::string_view rest = message.substr(at + user.size());
        if (!rest.starts_with(kStatus)) {
            fail("no status of {} in {}", user, message);
        }
        rest.remove_prefix(kStatus.size());
        visit(user, rest.substr(0, rest.find('"')));
    }
}

std::size_t count_of(std::string_view text, std::string_view part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string_view::npos;
         at = text.find(part, at + part.size())) {
        ++count;
    }
    return count;
}

std::size_t count_in(std::string_view message) {
    constexpr std::string_view kName = R"("count":)";
    const std::size_t at = message.find(kName);
    std::size_t count = 0;
    if (at != std::string_view::npos) {
        const char* const begin = message.data() + at + kName.size();
        std::from_chars(begin, message.data() + message.size(), count);
    }
    return count;
}

std::string mint_token(std::string_view user, std::string_view secret) {
    const std::time_t now = std::time(nullptr);
    const std::string signed_part =
        base64url(R"({"alg":"HS256","typ":"JWT"})") + "." +
        base64url(fmt::format(R"({{"sub":"{}","iat":{},"exp":{}}})", user, now, now + 3'600));
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int size = 0;
    if (HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
             reinterpret_cast<const unsigned char*>(signed_part.data()), signed_part.size(),
             digest.data(), &size) == nullptr) {
        fail("HMAC failed");
    }
    return signed_part + "." + base64url({reinterpret_cast<const char*>(digest.data()), size});
}

}  // namespace presence::bench
