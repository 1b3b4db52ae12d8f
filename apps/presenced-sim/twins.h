#pragma once

#include "script.h"
#include "world.h"

#include <string>

namespace presence::sim {

/// Plays a story once, as it is; a story with a hidden user twice (DESIGN rule 26): in one world
/// that user does nothing, in the other all that the story says. All other clients must be told
/// the same, byte for byte and at the same moments.
/// @return What did not hold; empty: all held.
[[nodiscard]] std::string play_story(const Story& story, World::Figures& figures);

}  // namespace presence::sim
