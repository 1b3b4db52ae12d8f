#include "presence/auth/base64url.h"
#include "presence/auth/claims.h"
#include "presence/auth/key_set.h"
#include "presence/auth/resume_hash.h"
#include "presence/base/assert.h"
#include "presence/base/log.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace {

using namespace presence;
using namespace presence::auth;

constexpr WallTime kNow = WallTime::from_ms(1'750'000'000'000);

/// What claims promise once they were accepted.
void check_claims(std::string payload) {
    const AuthConfig config;
    TokenClaims claims;
    if (read_claims(payload, config, kNow, claims) != Refusal::none) {
        return;
    }
    PRESENCE_ASSERT(check_id(claims.user.text) == nullptr);
    PRESENCE_ASSERT(claims.expires_at && *claims.expires_at + config.leeway + 1s > kNow);
    PRESENCE_ASSERT(!claims.issued_at || *claims.issued_at <= kNow + config.leeway);
}

}  // namespace

/// The first byte chooses what the rest is: a token, a payload that was signed well, a key set, or
/// the secret of a resume, of which only a hash is looked at.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    log::configure(log::Level::off, log::Format::text);
    if (size == 0) {
        return 0;
    }
    const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
    switch (data[0]) {
        case 't': {
            TokenParts parts;
            if (split_token(text, parts) == Refusal::none) {
                PRESENCE_ASSERT(text.starts_with(parts.signed_text));
                check_claims(parts.payload);
            }
            break;
        }
        case 'p':
            check_claims(std::string(text));
            break;
        case 'k':
            if (const auto keys = parse_key_set(text, true)) {
                static_cast<void>(keys->check(Algorithm::es256, {}, "text", std::string(64, 'a')));
            }
            break;
        case 'r': {
            std::string bytes;
            if (decode_base64url(text, bytes)) {
                PRESENCE_ASSERT(encode_base64url(bytes) == text);
            }
            PRESENCE_ASSERT(hash_resume_secret(text) == hash_resume_secret(std::string(text)));
            PRESENCE_ASSERT(hash_resume_secret(text) !=
                            hash_resume_secret(std::string(text) + '='));
            break;
        }
        default:
            break;
    }
    return 0;
}
