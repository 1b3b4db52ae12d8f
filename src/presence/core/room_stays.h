#pragma once

#include "presence/base/ids.h"
#include "presence/base/time.h"
#include "presence/model/room.h"

#include <boost/unordered/unordered_flat_map.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace presence {

/// Which sessions are in which rooms, for the users whose home this thread is. A stay lasts as long
/// as its session, through graces and resumes; the user is in the room as long as one of the
/// sessions is. One thread.
class RoomStays {
public:
    struct Stay {
        SessionId session;
        std::string meta;
        WallTime joined_at;
    };
    struct Room {
        RoomId room;
        std::vector<Stay> stays;  ///< Never empty.
    };

    /// The session is in the room from now on, or is there with another meta; the stay that it had.
    std::optional<Stay> add(const UserId& user, const RoomId& room, Stay stay);
    /// False: it was not in it.
    bool remove(const UserId& user, const RoomId& room, const SessionId& session);
    /// The rooms that the session leaves.
    [[nodiscard]] std::vector<RoomId> remove_session(const UserId& user, const SessionId& session);

    [[nodiscard]] std::optional<Stay> find_stay(const UserId& user, const RoomId& room,
                                                const SessionId& session) const;
    [[nodiscard]] bool contains(const UserId& user, const RoomId& room,
                                const SessionId& session) const;
    /// The rooms that the session is in, and as what.
    [[nodiscard]] std::vector<RoomStay> stays_of(const UserId& user,
                                                 const SessionId& session) const;
    /// The rooms that the session is in.
    [[nodiscard]] std::vector<RoomId> rooms_of(const UserId& user, const SessionId& session) const;
    [[nodiscard]] std::vector<RoomId> rooms_of(const UserId& user) const;
    /// All who are in rooms.
    [[nodiscard]] std::vector<UserId> users() const;
    /// The user as a member, but for `counts`; empty: not in it.
    [[nodiscard]] std::optional<RoomMember> member(const UserId& user, const RoomId& room) const;
    [[nodiscard]] std::size_t user_count() const noexcept { return users_.size(); }

private:
    [[nodiscard]] const std::vector<Room>* find(const UserId& user) const;

    boost::unordered_flat_map<UserId, std::vector<Room>, IdHash, IdEqual> users_;
};

}  // namespace presence
