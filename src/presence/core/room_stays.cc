#include "presence/core/room_stays.h"

#include <algorithm>
#include <utility>

namespace presence {

const std::vector<RoomStays::Room>* RoomStays::find(const UserId& user) const {
    const auto found = users_.find(user);
    return found == users_.end() ? nullptr : &found->second;
}

std::optional<RoomStays::Stay> RoomStays::add(const UserId& user, const RoomId& room, Stay stay) {
    std::vector<Room>& rooms = users_[user];
    auto in = std::ranges::find(rooms, room, &Room::room);
    if (in == rooms.end()) {
        rooms.push_back({room, {}});
        in = rooms.end() - 1;
    }
    const auto old = std::ranges::find(in->stays, stay.session, &Stay::session);
    if (old == in->stays.end()) {
        in->stays.push_back(std::move(stay));
        return std::nullopt;
    }
    return std::exchange(*old, std::move(stay));
}

bool RoomStays::remove(const UserId& user, const RoomId& room, const SessionId& session) {
    const auto found = users_.find(user);
    if (found == users_.end()) {
        return false;
    }
    std::vector<Room>& rooms = found->second;
    const auto in = std::ranges::find(rooms, room, &Room::room);
    if (in == rooms.end()) {
        return false;
    }
    const std::size_t removed =
        std::erase_if(in->stays, [&](const Stay& stay) { return stay.session == session; });
    if (in->stays.empty()) {
        rooms.erase(in);
    }
    if (rooms.empty()) {
        users_.erase(found);
    }
    return removed > 0;
}

std::vector<RoomId> RoomStays::remove_session(const UserId& user, const SessionId& session) {
    std::vector<RoomId> left = rooms_of(user, session);
    for (const RoomId& room : left) {
        remove(user, room, session);
    }
    return left;
}

std::optional<RoomStays::Stay> RoomStays::find_stay(const UserId& user, const RoomId& room,
                                                    const SessionId& session) const {
    const std::vector<Room>* const rooms = find(user);
    if (rooms == nullptr) {
        return std::nullopt;
    }
    const auto in = std::ranges::find(*rooms, room, &Room::room);
    if (in == rooms->end()) {
        return std::nullopt;
    }
    const auto stay = std::ranges::find(in->stays, session, &Stay::session);
    return stay == in->stays.end() ? std::nullopt : std::optional(*stay);
}

bool RoomStays::contains(const UserId& user, const RoomId& room, const SessionId& session) const {
    return find_stay(user, room, session).has_value();
}

std::vector<RoomId> RoomStays::rooms_of(const UserId& user, const SessionId& session) const {
    std::vector<RoomId> names;
    if (const std::vector<Room>* const rooms = find(user)) {
        for (const Room& room : *rooms) {
            if (std::ranges::find(room.stays, session, &Stay::session) != room.stays.end()) {
                names.push_back(room.room);
            }
        }
    }
    return names;
}

std::vector<RoomStay> RoomStays::stays_of(const UserId& user, const SessionId& session) const {
    std::vector<RoomStay> stays;
    for (const RoomId& room : rooms_of(user, session)) {
        if (std::optional<Stay> stay = find_stay(user, room, session)) {
            stays.push_back({room, std::move(stay->meta), stay->joined_at});
        }
    }
    return stays;
}

std::vector<RoomId> RoomStays::rooms_of(const UserId& user) const {
    std::vector<RoomId> names;
    if (const std::vector<Room>* const rooms = find(user)) {
        for (const Room& room : *rooms) {
            names.push_back(room.room);
        }
    }
    return names;
}

std::vector<UserId> RoomStays::users() const {
    std::vector<UserId> names;
    names.reserve(users_.size());
    for (const auto& [user, rooms] : users_) {
        names.push_back(user);
    }
    return names;
}

std::optional<RoomMember> RoomStays::member(const UserId& user, const RoomId& room) const {
    const std::vector<Room>* const rooms = find(user);
    if (rooms == nullptr) {
        return std::nullopt;
    }
    const auto in = std::ranges::find(*rooms, room, &Room::room);
    if (in == rooms->end()) {
        return std::nullopt;
    }
    // Of two joins within one millisecond the one that stands later in the list is the later one,
    // unless a session joined again: then its time is the newest.
    const Stay* latest = &in->stays.front();
    for (const Stay& stay : in->stays) {
        latest = stay.joined_at >= latest->joined_at ? &stay : latest;
    }
    return RoomMember{user, latest->meta, latest->joined_at, false};
}

}  // namespace presence
