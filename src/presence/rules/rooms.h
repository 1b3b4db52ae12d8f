#pragma once

#include "presence/base/ids.h"
#include "presence/rules/visibility.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace presence::rules {

/// Whether `room` matches `pattern`, in which `*` stands for any text, none included, and all else
/// for itself.
[[nodiscard]] bool matches_room(std::string_view pattern, std::string_view room) noexcept;

/// Whether a token with these patterns may have to do with `room`. Without any it may with all.
[[nodiscard]] bool may_enter(const std::optional<std::vector<std::string>>& patterns,
                             const RoomId& room);

/// Whether the room is large, that is: counts take the place of lists. It becomes so beyond `most`
/// and returns at nine tenths of it, so that one who comes and goes does not switch it over and
/// over (DESIGN rule 28).
///
/// @param size  On all nodes: members in the count that everyone sees, or all members, each by a
///              bound of its own.
[[nodiscard]] constexpr bool is_large(bool was_large, std::size_t size, std::size_t most) noexcept {
    const std::size_t nine_tenths = most - (most + 9) / 10;
    return size > most || (was_large && size > nine_tenths);
}

/// Whether the user's own rule for `online` admits everyone, whatever blocks say (RULINGS 10).
/// @param profile  Null: nothing is stored.
[[nodiscard]] bool is_open_to_all(const Profile* profile, const PrivacyDefaults& defaults);

}  // namespace presence::rules
