#pragma once

#include "presence/base/result.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace presence::auth {

/// The signatures that are understood. There is no `none`.
enum class Algorithm : std::uint8_t { hs256, rs256, es256, eddsa };

/// A key that checks signatures of one algorithm and no other: what a token says of its algorithm
/// only chooses among keys, so a public key can never be taken for a shared secret.
///
/// Immutable; any thread.
class Key {
public:
    /// @param secret  In the clear, not empty.
    [[nodiscard]] static Key from_secret(std::string_view secret, std::string id = {});

    /// All public keys and certificates of a PEM text.
    /// @retval bad_request  None, or one of a kind that fits no algorithm; the message says which.
    [[nodiscard]] static Result<std::vector<Key>> from_pem(std::string_view pem);

    /// From the numbers of a JSON Web Key, big-endian bytes.
    [[nodiscard]] static Result<Key> from_rsa(std::string_view modulus, std::string_view exponent,
                                              std::string id);
    [[nodiscard]] static Result<Key> from_p256(std::string_view x, std::string_view y,
                                               std::string id);
    [[nodiscard]] static Result<Key> from_ed25519(std::string_view x, std::string id);

    [[nodiscard]] Algorithm algorithm() const noexcept { return algorithm_; }
    /// `kid`, or empty: the key may be tried for any token of its algorithm.
    [[nodiscard]] const std::string& id() const noexcept { return id_; }
    [[nodiscard]] bool verifies(std::string_view signed_text, std::string_view signature) const;

private:
    struct Material;
    Key(Algorithm algorithm, std::string id, std::shared_ptr<const Material> material)
        : algorithm_(algorithm), id_(std::move(id)), material_(std::move(material)) {}
    static Result<Key> from_public(void* public_key, std::string id);

    Algorithm algorithm_;
    std::string id_;
    std::shared_ptr<const Material> material_;
};

/// HMAC-SHA256, 32 bytes.
[[nodiscard]] std::string hmac_sha256(std::string_view secret, std::string_view text);

/// SHA-256, 32 bytes.
[[nodiscard]] std::string sha256(std::string_view text);

/// Whether two texts of equal length are equal, in a time that does not depend on their bytes.
[[nodiscard]] bool equal_in_constant_time(std::string_view a, std::string_view b) noexcept;

}  // namespace presence::auth
