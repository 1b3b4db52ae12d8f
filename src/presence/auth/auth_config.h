#pragma once

#include "presence/base/time.h"

#include <string>
#include <vector>

namespace presence::auth {

/// Which tokens count. Keys `auth.*`; secrets are here in the clear, so this is never logged.
struct AuthConfig {
    /// Shared secrets for HS256, in the clear; more than one during a rotation.
    std::vector<std::string> secrets{};
    /// PEM files with public keys or certificates: RSA for RS256, P-256 for ES256, Ed25519 for
    /// EdDSA.
    std::vector<std::string> public_keys{};
    /// A JSON Web Key Set: a file, or an http(s) URL that is fetched in the background.
    std::string jwks{};
    /// How often the set behind a URL is fetched anyway, so that withdrawn keys are dropped.
    Millis jwks_refresh{600'000};
    /// `iss` must be this, if set.
    std::string issuer{};
    /// `aud` must be, or hold, one of these, if any.
    std::vector<std::string> audiences{};
    /// Whether a token without `exp` is refused.
    bool require_expiry = true;
    /// How far the clocks of issuer and server may differ.
    Millis leeway{30'000};
};

}  // namespace presence::auth
