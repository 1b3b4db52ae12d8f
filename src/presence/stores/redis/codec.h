#pragma once

#include "presence/base/result.h"
#include "presence/model/presence.h"
#include "presence/ports/presence_bus.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace presence::redis {

/// The bytes of records and messages. Each begins with a format number; a structure may grow at its
/// end, where older readers do not look and newer ones find nothing, so neighbouring releases
/// understand each other (DESIGN rule 37). docs/redis.md draws them.
inline constexpr std::uint8_t kFormat = 1;
/// First bytes from there on are nothing of ours: a record that begins so counts as absent.
inline constexpr std::uint8_t kFormats = 32;

/// A record: the format, the commit counter in eight bytes (the highest first), the number of nodes
/// that hold its sessions and eight bytes for each, as scripts read them; then the rest.
[[nodiscard]] std::string encode(const UserRecord& record);
/// What scripts read of it.
inline constexpr std::size_t kCommitAt = 1;
inline constexpr std::size_t kNodesAt = 9;
inline constexpr std::size_t kMostNodes = 255;
/// The commit counter and the nodes of a record of which at least the head is given; a counter of 0
/// where it is no record of ours.
struct RecordHead {
    std::uint64_t commit = 0;
    std::vector<NodeId> nodes;
};
[[nodiscard]] RecordHead decode_head(std::string_view bytes);
/// The eight bytes of a commit counter.
[[nodiscard]] std::string commit_bytes(std::uint64_t commit);

/// Null: not a record of ours, as good as absent.
/// @retval ErrorCode::unavailable  Ours, but of a format that this release does not know, or cut.
[[nodiscard]] Result<UserRecordRef> decode_record(std::string_view bytes);

struct ProfileChanged {
    UserId user;
    std::uint64_t revision = 0;
};
/// In the place of changes that a node could not keep until it could publish them: whoever hears it
/// is to read all of the partition anew. To a node of a release before it says nothing.
[[nodiscard]] inline ProfileChanged rules_lost(std::uint32_t partition) {
    return {UserId{}, partition};
}
[[nodiscard]] inline bool names_nobody(const ProfileChanged& change) {
    return change.user.text.empty();
}
/// Says over a partition's channel that the channel works, and which life of the store it is.
struct Probe {
    std::string incarnation;
};
/// Somebody wants a full statement about the room.
struct RoomQuestion {
    RoomId room;
};
struct Unreadable {};
using Message = std::variant<Unreadable, PresenceEventRef, ProfileChanged, SignalRef, Probe,
                             SessionTaken, RoomStatementRef, RoomQuestion, SurveyQuestionRef,
                             SurveyAnswerRef, SessionStays, EndSet>;

[[nodiscard]] std::string encode(const PresenceEvent& event);
[[nodiscard]] std::string encode(const ProfileChanged& change);
[[nodiscard]] std::string encode(const SignalMessage& signal);
[[nodiscard]] std::string encode(const SessionTaken& taken);
[[nodiscard]] std::string encode(const RoomStatement& statement);
[[nodiscard]] std::string encode(const RoomQuestion& question);
[[nodiscard]] std::string encode(const SessionStays& stays);
[[nodiscard]] std::string encode(const EndSet& set);
[[nodiscard]] std::string encode(const SurveyQuestion& question);
[[nodiscard]] std::string encode(const SurveyAnswer& answer);
/// What stands before the incarnation in a probe, which scripts put together.
[[nodiscard]] std::string probe_head();

/// `Unreadable` for what is broken, of a newer format, or of a kind that this release does not
/// know.
[[nodiscard]] Message decode_message(std::string_view bytes);

}  // namespace presence::redis
