#pragma once

#include "presence/base/ids.h"
#include "presence/base/time.h"
#include "presence/model/status.h"

#include <string>
#include <vector>

namespace presence {

/// Something that happened to a user's presence, as the node that settled it remembers. For back
/// ends alone: nothing in it is filtered. What a custom status said is not kept.
struct PastTransition {
    /// Both faces: the own one, and the one that everyone might see.
    struct Faces {
        Status own = Status::offline;
        Status shown = Status::offline;
        friend bool operator==(const Faces&, const Faces&) = default;
    };

    WallTime at;
    std::string cause;  ///< The words of Cause, in core/counters.h.
    NodeId node;        ///< That settled it; none: this process alone.
    SessionId session;  ///< Whose doing it was; empty: no single one's.
    Faces before;
    Faces after;
    Version shown_version;  ///< After it.
    bool devices_changed = false;
    bool custom_changed = false;
    /// Rules, contacts or blocks were changed, and nothing else: the faces say nothing.
    bool rules_changed = false;

    friend bool operator==(const PastTransition&, const PastTransition&) = default;
};

/// What one node, or all of them together, remember of a user.
struct Past {
    std::vector<PastTransition> transitions;  ///< Oldest first.
    WallTime since;                           ///< From then on nothing is missing.

    /// The newest so many are told of each user by each node.
    static constexpr std::size_t kMost = 32;
};

}  // namespace presence
