#pragma once

#include "presence/base/ids.h"
#include "presence/base/result.h"
#include "presence/base/time.h"
#include "presence/model/privacy.h"
#include "presence/model/store_health.h"
#include "presence/model/view.h"
#include "presence/protocol/client_message.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace presence::protocol {

/// What the server says, PROTOCOL.md section 1. Encoding is canonical: fields in a fixed order, no
/// white space, UTF-8 as it is and escapes only where JSON demands them; so the same view is the
/// same bytes wherever it is encoded. Any thread. An empty RequestId leaves `id` out.

/// Adds the JSON object of one presence. What a viewer may not see is exactly
/// `{"userId":"x","status":"offline","version":0}`. Under 4 KiB each.
void append_presence(std::string& out, const PresenceView& view);
[[nodiscard]] std::string encode_presence(const PresenceView& view);

struct Health {
    StoreHealth store = StoreHealth::ok;
    WallTime since;
};

struct WelcomeFields {
    UserId user;
    SessionId session;
    std::string resume;  ///< Secret.
    bool resumed = false;
    WallTime server_time;
    Millis heartbeat_interval{0};
    Millis heartbeat_ttl{0};
    Millis grace{0};
    std::size_t limit_watch = 0;
    std::size_t limit_message_bytes = 0;
    std::size_t limit_custom_status_text = 0;
    std::size_t limit_sessions = 0;
    std::size_t limit_room_members = 0;
    Health health;
    std::optional<WallTime> token_expires_at;
};

[[nodiscard]] std::string encode_welcome(RequestId id, const WelcomeFields& fields);
[[nodiscard]] std::string encode_health(const Health& health);
[[nodiscard]] std::string encode_heartbeat_ack(RequestId id, WallTime server_time);

/// A snapshot of presences that are encoded already, in parts of at most `most_bytes`, all but the
/// last with `more`. Never empty.
///
/// @param presences   Each made by append_presence.
/// @param unchanged   How many were left out by `known`; 0: not said. Told in the last part.
/// @param most_bytes  limits.message_bytes; at least 8 KiB, so that any presence fits.
[[nodiscard]] std::vector<std::string> encode_snapshot(RequestId id,
                                                       std::span<const std::string_view> presences,
                                                       std::size_t unchanged, WallTime as_of,
                                                       std::size_t most_bytes);

/// One `update` of presences that are encoded already, so that the bytes of one presence are made
/// once and shared by all who watch. The caller sees to the size.
[[nodiscard]] std::string encode_update(std::span<const std::string_view> presences);

/// The same in parts of at most `most_bytes`, to be sent directly after each other (RULINGS 37).
/// Empty where there are no presences.
[[nodiscard]] std::vector<std::string> encode_updates(std::span<const std::string_view> presences,
                                                      std::size_t most_bytes);

/// What each message about a room begins with.
struct RoomHead {
    const RoomId& room;
    std::size_t count = 0;
    bool exact = true;
};

/// Adds the JSON object of one member of a room. Under 2.5 KiB each.
/// @param meta  Raw JSON; empty: none.
void append_member(std::string& out, const PresenceView& view, std::string_view meta);

/// A whole room, in parts of at most `most_bytes`, all but the last with `more`. Never empty.
/// @param members  Each made by append_member; null: the room is large and has no list.
[[nodiscard]] std::vector<std::string> encode_room(RequestId id, const RoomHead& head,
                                                   const std::vector<std::string_view>* members,
                                                   std::size_t most_bytes);

/// What has changed in a room. With nothing in it, it tells the count alone.
struct RoomChanges {
    std::vector<std::string_view> joined;  ///< Each made by append_member.
    std::vector<std::string_view> changed;
    std::vector<std::string_view> left;  ///< User ids.
};

/// In parts of at most `most_bytes`, to be sent directly after each other. Never empty.
[[nodiscard]] std::vector<std::string> encode_room_update(const RoomHead& head,
                                                          const RoomChanges& changes,
                                                          std::size_t most_bytes);

struct SignalFields {
    UserId from;
    std::optional<RoomId> room;
    std::string_view kind;  ///< As checked by parse_client_message.
    std::string_view data;  ///< Raw JSON; empty: none.
    bool active = false;
    Millis expires_in{0};
};

[[nodiscard]] std::string encode_signal(const SignalFields& signal);

/// The rules in force. In parts where the lists are long: each part has both rules with some of the
/// users, and the client puts the users of a rule together.
[[nodiscard]] std::vector<std::string> encode_privacy(RequestId id, const PrivacyRule& online,
                                                      const PrivacyRule& last_seen,
                                                      std::size_t most_bytes);

/// What an `ack` says beside the id.
struct AckFields {
    std::optional<Millis> applied_in;    ///< The status change waits for the bucket (RULINGS 12).
    std::optional<WallTime> expires_at;  ///< Of the token just taken.
};

[[nodiscard]] std::string encode_ack(RequestId id, const AckFields& fields = {});
/// `error.message` goes out as it is: for people, without secrets.
[[nodiscard]] std::string encode_error(RequestId id, const Error& error);
[[nodiscard]] std::string encode_token_expiring(Millis in);
/// @param reason  A stable word, e.g. "restarting".
[[nodiscard]] std::string encode_reconnect(Millis after, std::string_view reason);

}  // namespace presence::protocol
