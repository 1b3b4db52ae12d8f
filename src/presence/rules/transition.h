#pragma once

#include "presence/model/presence.h"
#include "presence/rules/merge.h"

#include <cstdint>

namespace presence::rules {

/// What the next versions of a user are not below.
struct VersionFloors {
    std::uint64_t own = 0;
    std::uint64_t shown = 0;
};

struct TransitionFacts {
    WallTime now;
    VersionFloors floors{};
    /// Newest sign of life of the user's counting sessions since the user was last offline.
    WallTime sign_of_life;
};

/// What a change of sessions or declarations makes of a user's presence.
struct Transition {
    Presence after;
    bool shown_changed = false;  ///< Some viewer could see it: the shown version has grown.
    bool own_changed = false;    ///< The own version has grown.
    bool ended = false;          ///< The public presence ended: last seen is to be written.
};

/// Decides whether there is anything to tell (DESIGN rules 12, 14, 17, 18). Each version grows
/// only with what its own face shows; what the user declared is part of the own face alone.
/// `since` begins anew only where the status of that face changed. Last seen moves only where the
/// public presence ended: to the sign of life, never backwards, never beyond now.
[[nodiscard]] Transition advance(const Presence& before, const Merged& merged,
                                 const DeclaredState& declared, const TransitionFacts& facts);

}  // namespace presence::rules
