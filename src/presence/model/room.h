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
    /// The public face is not offline: receivers of webhooks are told of the user.
    bool shown = false;
    friend bool operator==(const RoomMember&, const RoomMember&) = default;
};

/// What one node says about the members of one room that it vouches for. It is a message between
/// nodes: fields are only ever added (DESIGN rule 37).
///
/// A receiver applies a difference only on top of the statement before it; where one is missing it
/// asks for a full one (PresenceBus::ask_room) and meanwhile stays with what it has. A full
/// statement replaces whatever was held of that node and room, also out of sequence; one without
/// members ends it, and the last of a node is such a one. Statements of counts alone are always
/// full.
struct RoomStatement {
    NodeId node;
    RoomId room;
    /// One more than that of the node's statement before about the room. Where the node begins
    /// anew it is larger than all before.
    std::uint64_t sequence = 0;
    bool full = false;  ///< False: the difference to the statement before.
    /// False: the room is large, and the node gives counts alone.
    bool listed = true;
    std::size_t members = 0;          ///< Distinct users of this node.
    std::size_t counted = 0;          ///< Of them, those that the count of a large room holds.
    std::vector<RoomMember> present;  ///< Joined or changed; all of them where it is full.
    std::vector<UserId> gone;         ///< No longer members by this node.
    /// Users of whose leaving this node has told the receivers of webhooks since the statement
    /// before.
    std::vector<UserId> left_told;
};

using RoomStatementRef = std::shared_ptr<const RoomStatement>;

/// A session's place in a room.
struct RoomStay {
    RoomId room;
    std::string meta;
    WallTime joined_at;
};

/// The rooms of a session that another node has taken over, told to that node by the one that had
/// it. A message between nodes.
struct SessionStays {
    NodeId to;
    UserId user;
    SessionId session;
    std::vector<RoomStay> stays;
};

/// A room as a back end looks at it: on one node what that node answers for, in all what the nodes
/// say together.
struct RoomFacts {
    RoomId room;
    std::size_t members = 0;  ///< All of them, whoever may see them.
    std::size_t counted = 0;  ///< Those in the count that everyone sees once the room is large.
    bool large = false;
    bool exact = true;  ///< Of `members`.
    /// Of `counted`. Members whom not everyone may see have no say in it.
    bool counted_exact = true;
    std::vector<RoomMember> page;  ///< By user id.
    bool more = false;             ///< There are members after those.
};

}  // namespace presence
