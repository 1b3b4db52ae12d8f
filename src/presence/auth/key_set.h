#pragma once

#include "presence/auth/key.h"

#include <string_view>
#include <vector>

namespace presence::auth {

/// Keys in the order in which they were given. Immutable once shared.
class KeySet {
public:
    KeySet() = default;
    explicit KeySet(std::vector<Key> keys) : keys_(std::move(keys)) {}

    void add(Key key) { keys_.push_back(std::move(key)); }
    [[nodiscard]] std::size_t size() const noexcept { return keys_.size(); }
    [[nodiscard]] const std::vector<Key>& keys() const noexcept { return keys_; }
    /// Whether a key has this id, of whatever algorithm.
    [[nodiscard]] bool names(std::string_view id) const noexcept;

    /// How checking a signature against the set went.
    enum class Answer : std::uint8_t { good, bad, no_key };

    /// Tries the keys of `algorithm`: those with the id if one is given, and those without an id;
    /// all of them if none is given.
    [[nodiscard]] Answer check(Algorithm algorithm, std::string_view id,
                               std::string_view signed_text, std::string_view signature) const;

private:
    std::vector<Key> keys_;
};

/// Reads a JSON Web Key Set (RFC 7517). Keys that are not for signatures, or of a kind not
/// understood, are left out with a warning in the log, so that an issuer may add new kinds.
/// @param allow_secrets  Whether shared secrets (`kty: oct`) count: from a file, never from a URL.
/// @retval bad_request   No key set at all.
[[nodiscard]] Result<KeySet> parse_key_set(std::string_view json, bool allow_secrets);

/// Reads a PEM file, or a key set file if `is_key_set`. The error names the file.
[[nodiscard]] Result<KeySet> read_key_file(const std::string& path, bool is_key_set);

}  // namespace presence::auth
