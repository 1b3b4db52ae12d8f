#pragma once

#include <cstddef>
#include <cstdint>

namespace presence::protocol {

/// Largest integer on the wire, 2^53 - 1: what JavaScript can count to.
inline constexpr std::int64_t kMaxInteger = 9'007'199'254'740'991;

// Bounds of single fields, fixed by the protocol. protocol/protocol.json publishes them.
inline constexpr std::size_t kJsonDepth = 32;  ///< Arrays and objects within each other.
inline constexpr std::size_t kDeviceNameCodePoints = 64;
inline constexpr std::size_t kDeviceNameBytes = 256;
inline constexpr std::size_t kCustomTextBytes = 1024;
inline constexpr std::size_t kCustomEmojiCodePoints = 16;
inline constexpr std::size_t kCustomEmojiBytes = 64;
inline constexpr std::size_t kSignalKindBytes = 32;
inline constexpr std::size_t kSignalDataBytes = 1024;  ///< As sent, white space within included.
inline constexpr std::size_t kRoomMetaBytes = 1024;    ///< Likewise.

/// Bounds that the configuration sets. The caller copies them out of core's Limits, which this
/// layer does not know.
struct ParseLimits {
    std::size_t watch = 500;  ///< Users in one `watch`, `unwatch` or `get`, and in `known`.
    std::size_t custom_status_text = 100;  ///< Code points.
    std::size_t list_users = 10'000;       ///< Users in a rule, a block list, a contact list.
    std::size_t query_users = 1000;        ///< Users in one REST query.

    /// From limits of the same names.
    template <class Limits>
    [[nodiscard]] static ParseLimits of(const Limits& limits) {
        return {limits.watch, limits.custom_status_text, limits.list_users, limits.query_users};
    }
};

}  // namespace presence::protocol
