#include "presence/webhooks/signature.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <vector>

namespace presence::webhooks {

namespace {

constexpr std::string_view kPrefix = "whsec_";
constexpr std::size_t kLeastBytes = 24;
constexpr std::size_t kMostBytes = 64;

const unsigned char* bytes_of(std::string_view text) {
    return reinterpret_cast<const unsigned char*>(text.data());  // NOLINT: as OpenSSL takes them.
}

std::string base64(std::span<const unsigned char> bytes) {
    std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
    const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),  // NOLINT
                                     bytes.data(), static_cast<int>(bytes.size()));
    text.resize(static_cast<std::size_t>(size));
    return text;
}

}  // namespace

Result<Secret> parse_secret(std::string_view text) {
    const Error wrong{ErrorCode::bad_request,
                      "is no secret of the form whsec_ and base64 of 24 to 64 bytes", 0, 0};
    if (!text.starts_with(kPrefix)) {
        return wrong;
    }
    std::string encoded(text.substr(kPrefix.size()));
    while (encoded.size() % 4 != 0) {
        encoded.push_back('=');  // Some tools leave the padding out.
    }
    std::vector<unsigned char> decoded(encoded.size() / 4 * 3 + 1);
    const int size =
        EVP_DecodeBlock(decoded.data(), bytes_of(encoded), static_cast<int>(encoded.size()));
    const auto padding = static_cast<std::size_t>(std::ranges::count(encoded, '='));
    if (size < 0 || padding > 2 || static_cast<std::size_t>(size) < kLeastBytes + padding ||
        static_cast<std::size_t>(size) - padding > kMostBytes) {
        return wrong;
    }
    return Secret{std::string(decoded.begin(),
                              decoded.begin() + (size - static_cast<std::ptrdiff_t>(padding)))};
}

std::string sign(std::span<const Secret> secrets, std::string_view id, WallTime at,
                 std::string_view body) {
    std::string signed_text(id);
    signed_text += "." + std::to_string(at.ms() / 1000) + ".";
    signed_text += body;
    std::string header;
    for (const Secret& secret : secrets) {
        std::array<unsigned char, EVP_MAX_MD_SIZE> mac{};
        unsigned size = 0;
        HMAC(EVP_sha256(), secret.key.data(), static_cast<int>(secret.key.size()),
             bytes_of(signed_text), signed_text.size(), mac.data(), &size);
        header += (header.empty() ? "v1," : " v1,") + base64(std::span(mac).first(size));
    }
    return header;
}

}  // namespace presence::webhooks
