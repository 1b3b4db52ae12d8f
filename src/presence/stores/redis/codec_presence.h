#pragma once

#include "presence/model/presence.h"
#include "presence/stores/redis/bytes.h"

namespace presence::redis {

/// Parts that records and messages share; each is a frame of its own. A reader that finds one
/// broken is marked so itself.
void put(ByteWriter& out, const CustomStatusRef& custom);
[[nodiscard]] CustomStatusRef custom_from(ByteReader& outer);
void put(ByteWriter& out, const Presence& presence);
[[nodiscard]] Presence presence_from(ByteReader& outer);

}  // namespace presence::redis
