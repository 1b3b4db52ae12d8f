#pragma once

#include "presence/base/ids.h"
#include "presence/base/result.h"
#include "presence/base/scheduler.h"
#include "presence/base/task.h"
#include "presence/base/time.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace presence {

/// What the holder of a token may do; the claim `presence` of PROTOCOL.md section 5 narrows it.
struct TokenRights {
    /// Patterns of rooms that may be joined, `*` standing for any text. Empty optional: all rooms.
    std::optional<std::vector<std::string>> rooms;
    bool watch = true;    ///< May watch and get others.
    bool status = true;   ///< May declare a status.
    bool privacy = true;  ///< May change rules and blocks.
    friend bool operator==(const TokenRights&, const TokenRights&) = default;
};

/// What a token that was accepted says.
struct TokenClaims {
    UserId user;                         ///< `sub`; has passed check_id.
    std::optional<WallTime> expires_at;  ///< `exp`; the session ends at that plus leeway().
    std::optional<WallTime> issued_at;   ///< `iat`, to the millisecond; for revocations.
    TokenRights rights;
};

/// Tells good tokens from bad ones. One object a process, shared by all threads.
/// Adapter: auth/jwt_verifier.h.
class TokenVerifier {
public:
    virtual ~TokenVerifier() = default;

    /// Decides at once, by the keys at hand; some microseconds, never blocks on the network. A
    /// token signed with a key that is not known yet is refused, and the key is asked for. Any
    /// thread.
    /// @retval ErrorCode::unauthorized  Refused. The message is one and the same whatever the
    ///                                  reason; the reason is only counted.
    [[nodiscard]] virtual Result<TokenClaims> verify(std::string_view token) const = 0;

    /// The same, but where the key is not known yet it waits for the fetch that may bring it, a
    /// few seconds at most. Resumes on the thread of `home`, which is the caller's and outlives
    /// this object's stop().
    [[nodiscard]] virtual Task<Result<TokenClaims>> verify_patiently(std::string token,
                                                                     Scheduler& home) const = 0;

    /// How far clocks may differ: a token counts that long beyond its `exp`. Any thread.
    [[nodiscard]] virtual Millis leeway() const = 0;
};

}  // namespace presence
