#pragma once

#include "presence/ports/profile_store.h"

#include <string>
#include <string_view>

namespace presence::redis {

// Ends of presences that a node owes to the database, as the hash of a partition holds them: a line
// of numbers a user, which scripts compare.

[[nodiscard]] std::string encode_end(const LastSeenRow& row);
/// What cannot be read of a line counts as 0, which changes nothing in a database.
[[nodiscard]] LastSeenRow decode_end(std::string_view user, std::string_view line);

}  // namespace presence::redis
