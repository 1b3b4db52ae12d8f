#pragma once

#include "presence/base/compact_text.h"
#include "presence/base/ids.h"
#include "presence/base/time.h"
#include "presence/model/custom_status.h"
#include "presence/model/status.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace presence {

enum class DeviceKind : std::uint8_t { bot, desktop, mobile, other, tablet, web };
inline constexpr int kDeviceKinds = 6;

/// In the order of the enumerators, which is that of the alphabet, as views list them sorted.
[[nodiscard]] constexpr std::string_view wire_name(DeviceKind kind) noexcept {
    constexpr std::array<std::string_view, kDeviceKinds> kNames{"bot",   "desktop", "mobile",
                                                                "other", "tablet",  "web"};
    return kNames[static_cast<std::size_t>(kind)];
}

/// One client installation or tab, as it describes itself.
struct Device {
    Device() = default;
    Device(DeviceKind of, CompactText called) : name(std::move(called)), kind(of) {}

    CompactText name;  ///< For people; may be empty.
    DeviceKind kind = DeviceKind::other;
    friend bool operator==(const Device&, const Device&) = default;
};

/// A set of kinds, one bit each.
struct DeviceSet {
    std::uint8_t bits = 0;
    void insert(DeviceKind kind) {
        bits = static_cast<std::uint8_t>(bits | (1U << static_cast<unsigned>(kind)));
    }
    [[nodiscard]] bool contains(DeviceKind kind) const {
        return (bits >> static_cast<unsigned>(kind)) & 1U;
    }
    friend bool operator==(DeviceSet, DeviceSet) = default;
};

/// SHA-256 of a resume secret, cut to 128 bits. Records hold this and never the secret.
using ResumeHash = std::array<std::uint8_t, 16>;

/// A heartbeat over HTTP is written to the store at most so often (RULINGS 19).
inline constexpr Millis kBeatsNoted{5'000};

/// The name of the session of a device that lives by heartbeats over HTTP. No other session can
/// have it: those are named in base64url.
[[nodiscard]] inline SessionId beating_session(std::string_view device) {
    return SessionId("http:" + std::string(device));
}

/// One device attached to the system, as the stores keep it. It outlives its connection by the
/// grace. When it last beat is known only to the gateway that holds it.
struct Session {
    SessionId id;
    Epoch epoch;
    NodeId node;  ///< Vouches for it, and holds its connection if there is one.
    ResumeHash resume_hash{};
    /// What follows stands in the bytes that it has over: there is one of these for each session.
    [[no_unique_address]] Device device;
    DeclaredStatus declared = DeclaredStatus::automatic;  ///< Session scope; never `invisible`.
    bool counts = true;  ///< False: observing, and has not reported `active` yet.
    bool idle = false;
    std::uint32_t active_rank = 0;  ///< Order in which sessions last reported `active`; 0: never.
    WallTime connected_at;
    MaybeTime grace_until;  ///< Set while there is no connection.
    WallTime closed_at;     ///< With grace_until: the last sign of life.
    /// Set where it lives by heartbeats over HTTP: it ends then, unless one comes. Behind the truth
    /// by up to kBeatsNoted.
    MaybeTime beats_until;
    CustomStatusRef custom;  ///< Session scope.
    MaybeTime declared_until;

    friend bool operator==(const Session&, const Session&) = default;
};

}  // namespace presence
