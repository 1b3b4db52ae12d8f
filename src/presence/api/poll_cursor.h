#pragma once

#include "presence/base/ids.h"
#include "presence/model/view.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace presence::api {

/// What a poller holds of one user, as a number of 48 bits: a hash of what this viewer was told,
/// but for the age of last seen, which is no change (DESIGN rule 17). It tells nothing else, moves
/// only with what the viewer can see, and is the same on every node and after a restart.
using HeldMark = std::uint64_t;

[[nodiscard]] HeldMark mark_of(const UserId& viewer, const PresenceView& view);

/// A set of marks as clients carry it about. Opaque to them; one that was not made here, or for
/// another viewer, holds nothing that matters, so its bearer is told everything.
class PollCursor {
public:
    PollCursor() = default;
    /// @param text  Whatever a client sent. One of more than `most` marks holds nothing.
    [[nodiscard]] static PollCursor parse(std::string_view text, std::size_t most);
    [[nodiscard]] static std::string encode(std::vector<HeldMark> marks);

    [[nodiscard]] bool holds(HeldMark mark) const;

private:
    std::vector<HeldMark> marks_;  ///< Sorted.
};

}  // namespace presence::api
