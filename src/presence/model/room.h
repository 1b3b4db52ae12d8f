#pragma once

#include "presence/base/ids.h"
#include "presence/base/time.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace presence {

/// One user in a room, as the node says that holds the user's sessions. However many devices are in
/// the room, the user is one member.
struct RoomMember {
    UserId user;
    std::string meta;    ///< Raw JSON of the latest join; empty: none.
    WallTime joined_at;  ///< Of that join. A user may be in by several nodes: the latest has it.
    /// In the count of a large room: the public face is not offline, and the user's own rule for
    /// `online` admits everyone (RULINGS 10).
    bool counts = false;
    friend bool operator==(const RoomMember&, const RoomMember&) = default;
};

/// What one node says about the members of one room that it vouches for. It is a message between
/// nodes: fields are only ever added (DESIGN rule 37).
///
/// A receiver applies a difference only on top of the statement before it; where one is missing it
/// asks for a full one (PresenceBus::ask_room) and meanwhile stays with what it has. A full
/// statement replaces whatever was held of that node and room, also out of sequence; one without
/// members ends it. Statements of counts alone are always full.
struct RoomStatement {
    NodeId node;
    RoomId room;
    /// One more than that of the node's statement before about the room.
    std::uint64_t sequence = 0;
    bool full = false;  ///< False: the difference to the statement before.
    /// False: the room is large, and the node gives counts alone.
    bool listed = true;
    std::size_t members = 0;          ///< Distinct users of this node.
    std::size_t counted = 0;          ///< Of them, those that the count of a large room holds.
    std::vector<RoomMember> present;  ///< Joined or changed; all of them where it is full.
    std::vector<UserId> gone;         ///< No longer members by this node.
};

using RoomStatementRef = std::shared_ptr<const RoomStatement>;

}  // namespace presence
