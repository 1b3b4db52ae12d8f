#pragma once

#include <cstdint>
#include <string_view>

namespace presence {

/// The merged answer to "can this person be reached now". `invisible` is for the user's own
/// sessions and back ends only; `unknown` is a mark on the way to a viewer, never committed.
enum class Status : std::uint8_t { online, away, busy, dnd, invisible, offline, unknown };

/// What a person or one of their devices says. Whether it is alive is never said: heartbeats show
/// it. `automatic` says nothing.
enum class DeclaredStatus : std::uint8_t { automatic, online, away, busy, dnd, invisible };

[[nodiscard]] constexpr std::string_view wire_name(Status status) noexcept {
    switch (status) {
        case Status::online:
            return "online";
        case Status::away:
            return "away";
        case Status::busy:
            return "busy";
        case Status::dnd:
            return "dnd";
        case Status::invisible:
            return "invisible";
        case Status::offline:
            return "offline";
        case Status::unknown:
            return "unknown";
    }
    return "unknown";
}

[[nodiscard]] constexpr std::string_view wire_name(DeclaredStatus status) noexcept {
    switch (status) {
        case DeclaredStatus::automatic:
            return "auto";
        case DeclaredStatus::online:
            return "online";
        case DeclaredStatus::away:
            return "away";
        case DeclaredStatus::busy:
            return "busy";
        case DeclaredStatus::dnd:
            return "dnd";
        case DeclaredStatus::invisible:
            return "invisible";
    }
    return "auto";
}

}  // namespace presence
