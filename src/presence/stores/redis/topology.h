#pragma once

#include "presence/base/result.h"
#include "presence/stores/redis/config.h"
#include "presence/stores/redis/reply.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace presence::redis {

/// Slots, both ends included, and their master.
struct SlotRange {
    std::uint16_t first = 0;
    std::uint16_t last = 0;
    Endpoint master;
    friend bool operator==(const SlotRange&, const SlotRange&) = default;
};

/// Reads the answer to `CLUSTER SLOTS`. A master that does not know its own name is where the
/// answer came from: `asked`. Ranges that make no sense are left out.
/// @retval ErrorCode::unavailable  Not an answer to that question.
[[nodiscard]] Result<std::vector<SlotRange>> parse_cluster_slots(ReplyView reply,
                                                                 const Endpoint& asked);

/// Where `MOVED 3999 127.0.0.1:6381` and `ASK …` point to.
struct Redirection {
    std::uint16_t slot = 0;
    Endpoint to;
};

/// Nothing where it cannot be understood. `asked`: see above.
[[nodiscard]] std::optional<Redirection> parse_redirection(std::string_view text,
                                                           const Endpoint& asked);

}  // namespace presence::redis
