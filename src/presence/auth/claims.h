#pragma once

#include "presence/auth/auth_config.h"
#include "presence/auth/key.h"
#include "presence/ports/token_verifier.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace presence::auth {

/// Why a token was refused. For counters and the log only: the client always hears the same.
enum class Refusal : std::uint8_t {
    none,            ///< Not refused.
    malformed,       ///< Not three parts of base64url with JSON objects in the first two.
    algorithm,       ///< `none`, one that is not understood, or a header that demands more.
    unknown_key,     ///< No key of that algorithm and id.
    signature,       ///< Signed with something else.
    claim_type,      ///< A known claim of another type than it has to be, or given twice.
    subject,         ///< `sub` is missing or no user id.
    expiry_missing,  ///< No `exp`.
    expired,         ///< `exp` is over, or lies before `nbf`.
    not_yet,         ///< `nbf` or `iat` lies ahead.
    issuer,          ///< `iss` is another one.
    audience,        ///< `aud` names others.
};

inline constexpr std::size_t kRefusalCount = static_cast<std::size_t>(Refusal::audience) + 1;

/// The word for a counter's label.
[[nodiscard]] std::string_view name_of(Refusal refusal) noexcept;

/// The parts of a token that was read but not yet believed.
struct TokenParts {
    Algorithm algorithm = Algorithm::hs256;
    std::string key_id;            ///< `kid`, or empty.
    std::string_view signed_text;  ///< Header and payload as they stand in the token.
    std::string signature;
    std::string payload;  ///< JSON, decoded.
};

/// Takes a token apart. Nothing in it counts before its signature was checked.
[[nodiscard]] Refusal split_token(std::string_view token, TokenParts& parts);

/// Reads the claims of a token whose signature is good.
/// @param payload  JSON; room is added at its end, hence not const.
[[nodiscard]] Refusal read_claims(std::string& payload, const AuthConfig& config, WallTime now,
                                  TokenClaims& claims);

}  // namespace presence::auth
