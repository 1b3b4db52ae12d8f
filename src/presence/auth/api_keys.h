#pragma once

#include "presence/base/result.h"

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace presence::auth {

/// The keys by which back ends call. Kept as hashes only. Immutable; any thread.
class ApiKeys {
public:
    /// Nobody has a key.
    ApiKeys() = default;

    /// @param keys  Each in the clear, or as `sha256:` and 64 hexadecimal digits of its hash.
    /// @retval bad_request  An empty key, or a hash that is none.
    [[nodiscard]] static Result<ApiKeys> make(const std::vector<std::string>& keys);

    /// Whether `presented` is one of the keys. Takes the same time whichever it is, or none.
    [[nodiscard]] bool matches(std::string_view presented) const;
    [[nodiscard]] std::size_t size() const noexcept { return hashes_.size(); }

private:
    std::vector<std::string> hashes_;  ///< SHA-256, 32 bytes each.
};

}  // namespace presence::auth
