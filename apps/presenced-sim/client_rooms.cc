// What a client does about rooms, and what it makes of what it is told of them.

#include "client.h"
#include "json.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace presence::sim {

void Client::join(const std::string& room) {
    if (!wants_ || frozen_) {
        return;  // Nobody works with a device that is frozen.
    }
    rooms_.insert(room);
    leaving_.erase(room);
    if (stage_ == Stage::open && !frozen_) {
        send_join(room);
    }
}

void Client::leave_room(const std::string& room) {
    if (!rooms_.contains(room) || frozen_) {
        return;
    }
    rooms_.erase(room);
    rooms_held_.erase(room);
    rooms_left_at_[room] = parts_.clock.now();
    leaving_.insert(room);
    if (stage_ == Stage::open && !frozen_) {
        send_leave(room);
    }
}

void Client::send_join(const std::string& room) {
    send_asking(fmt::format(R"("type":"join","room":"{}")", room), Asked::What::join, room);
}

void Client::send_leave(const std::string& room) {
    send_asking(fmt::format(R"("type":"leave","room":"{}")", room), Asked::What::leave, room);
}

void Client::forget_rooms() {
    for (const std::set<std::string>& names : {rooms_, leaving_}) {
        for (const std::string& name : names) {
            rooms_left_at_[name] = parts_.clock.now();
        }
    }
    rooms_held_.clear();
}

/// On a new connection. The session may still be in what it was about to leave.
void Client::return_to_rooms() {
    for (const std::string& room : rooms_) {
        send_join(room);
    }
    for (const std::string& room : leaving_) {
        send_leave(room);
    }
}

void Client::signal(const std::string& room) {
    if (stage_ == Stage::open && !frozen_ && rooms_held_.contains(room)) {
        send(fmt::format(R"("type":"signal","to":{{"room":"{}"}},"kind":"typing","active":true)",
                         room));
    }
}

bool Client::is_joining(const std::string& room) const {
    return std::ranges::any_of(asked_, [&](const auto& one) {
        return one.second.what == Asked::What::join && one.second.room == room;
    });
}

/// The answer to a `join` or `leave`.
void Client::take_room_answer(const Asked& asked, bool done) {
    if (done) {
        if (asked.what == Asked::What::leave) {
            leaving_.erase(asked.room);
        }
        return;
    }
    parts_.scheduler.after(Millis{1'000}, [this, asked, connection = connection_] {
        if (connection != connection_ || stage_ != Stage::open || frozen_) {
            return;
        }
        if (asked.what == Asked::What::join && rooms_.contains(asked.room)) {
            send_join(asked.room);
        } else if (asked.what == Asked::What::leave && leaving_.contains(asked.room)) {
            send_leave(asked.room);
        }
    });
}

void Client::take_room(const simdjson::dom::element& message, bool more) {
    const std::string name = text_of(message, "room");
    if (!rooms_.contains(name)) {
        return;  // It has left, and that is on its way.
    }
    HeldRoom& held = rooms_held_[name];
    if (!held.in_parts) {
        held = {};
    }
    held.in_parts = more;
    held.since = parts_.clock.now();
    held.count = number_of(message, "count");
    simdjson::dom::array members;
    held.listed = message["members"].get(members) == simdjson::SUCCESS;
    add_members(name, held, members, held.listed);
    parts_.watcher.on_room(*this, name, held);
}

void Client::take_room_update(const simdjson::dom::element& message) {
    const std::string name = text_of(message, "room");
    const auto found = rooms_held_.find(name);
    if (found == rooms_held_.end()) {
        if (rooms_.contains(name) && !is_joining(name)) {
            parts_.watcher.on_nonsense(*this, "an update of room " + name + " before the room");
        }
        return;
    }
    HeldRoom& held = found->second;
    held.count = number_of(message, "count");
    simdjson::dom::array users;
    add_members(name, held, users, message["joined"].get(users) == simdjson::SUCCESS);
    if (message["changed"].get(users) == simdjson::SUCCESS) {
        for (const auto member : users) {
            const std::string user = text_of(member, "userId");
            parts_.watcher.on_member(*this, name, user);
            if (!held.members.contains(user)) {
                parts_.watcher.on_nonsense(*this, "a change of one who is not in room " + name);
            }
        }
    }
    if (message["left"].get(users) == simdjson::SUCCESS) {
        for (const auto member : users) {
            std::string_view user;
            PRESENCE_ASSERT(member.get(user) == simdjson::SUCCESS);
            if (held.members.erase(std::string(user)) == 0) {
                parts_.watcher.on_nonsense(*this, "one left who is not in room " + name);
            }
        }
    }
    parts_.watcher.on_room(*this, name, held);
}

void Client::add_members(const std::string& name, HeldRoom& held,
                         const simdjson::dom::array& members, bool there_are) {
    if (!there_are) {
        return;
    }
    for (const auto member : members) {
        const std::string user = text_of(member, "userId");
        parts_.watcher.on_member(*this, name, user);
        if (!held.members.insert(user).second) {
            parts_.watcher.on_nonsense(*this, "one and the same user joined twice in room " + name);
        }
    }
}

}  // namespace presence::sim
