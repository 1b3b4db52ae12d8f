// What must hold of rooms: who is listed, who is counted, and who hears of whom (rules 24 to 29).

#include "world.h"

#include <fmt/format.h>

#include <algorithm>

namespace presence::sim {

namespace {
/// A change in a room, told across nodes, with the second for which news of a room are gathered.
constexpr Millis kRoomTold{5'000};
/// A session that was lost without a word is over by then, and all have heard of it.
constexpr Millis kSlack{5'000};
}  // namespace

void World::on_nonsense(const Client& client, const std::string& what) {
    fail(fmt::format("{} was told of {} (rule 28)", client.user(), what));
}

void World::on_signal(const Client& client, const std::string& from) {
    if (!may_be_told(client, from)) {
        fail(fmt::format("{} got a signal of {}, and may not see it (rule 29)", client.user(),
                         from));
    }
}

void World::on_room(const Client& client, const std::string& room, const HeldRoom& held) {
    ++figures_.presences;
    if (log_ != nullptr) {
        std::string members;
        for (const std::string& member : held.members) {
            members += " " + member;
        }
        note(fmt::format("{} at server {} is told that {} has {}:{}", client.user(),
                         client.connection() >> 32U, room, held.count,
                         held.listed ? members : std::string(" not listed")));
    }
    if (!held.listed || held.in_parts) {
        return;
    }
    if (held.count != held.members.size()) {
        fail(fmt::format("{} holds {} members of {}, and was told of {} (rule 28)", client.user(),
                         held.members.size(), room, held.count));
    }
    for (const std::string& member : held.members) {
        if (!may_be_told(client, member)) {
            fail(fmt::format("{} was told that {} is in {}, and may not see it (rules 26, 28)",
                             client.user(), member, room));
        }
    }
}

/// Whether the user is in the room for others to see; empty: in doubt.
std::optional<bool> World::is_in_room(const std::string& user, const std::string& room) {
    const Millis gone = config_.heartbeat.ttl + config_.heartbeat.grace + kSlack;
    bool out = true;
    for (const auto& client : clients_) {
        if (client->user() != user) {
            continue;
        }
        const auto held = client->rooms().find(room);
        if (held != client->rooms().end() && is_served(*client) && client->is_awake() &&
            held->second.since + kRoomTold < now()) {
            return true;
        }
        out = out && !client->may_be_in(room) &&
              (!client->left_at(room) || *client->left_at(room) + gone < now());
    }
    return out ? std::optional(false) : std::nullopt;
}

/// What the client holds of its rooms must be true by now, unless something failed lately.
void World::audit_rooms(const Client& client) {
    for (const auto& [room, held] : client.rooms()) {
        if (!client.hears_since() ||
            std::max({held.since, quiet_from_, *client.hears_since()}) + kRoomTold >= now()) {
            continue;
        }
        std::size_t least = 0;
        std::size_t most = 0;
        for (std::uint32_t i = 0; i < story_.users; ++i) {
            const std::optional<bool> seen = audit_member(client, user_name(i), room, held);
            least += seen.value_or(false) ? 1U : 0U;
            most += seen.value_or(true) ? story_.machines : 0U;
        }
        ++figures_.checks;
        if (!held.listed && (held.count < least || held.count > most)) {
            fail(fmt::format("{} still holds {} as the count of {}, which is {} to {} (rule 28)",
                             client.user(), held.count, room, least, most));
        }
    }
}

/// Whether the user is to be counted; empty: in doubt.
std::optional<bool> World::audit_member(const Client& client, const std::string& user,
                                        const std::string& room, const HeldRoom& held) {
    const std::optional<MonoTime> hidden = truth_.invisible_since(user);
    const std::optional<MonoTime> visible = truth_.visible_since(user);
    const std::optional<Truth::Sight> sight =
        held.listed ? truth_.sight(client.user(), user) : truth_.public_sight(user);
    std::optional<bool> seen = is_in_room(user, room);
    if (!sight || (!hidden && !visible) ||
        std::max({sight->since, hidden.value_or(MonoTime{}), visible.value_or(MonoTime{})}) +
                kRoomTold >=
            now()) {
        return std::nullopt;
    }
    if (hidden || !sight->sees) {
        seen = false;
    }
    if (!held.listed || user == client.user()) {
        return seen;
    }
    if (seen && *seen != held.members.contains(user)) {
        fail(fmt::format("{} still holds {} as {} {} (rule 28)", client.user(), user,
                         *seen ? "not in" : "in", room));
    }
    return seen;
}

}  // namespace presence::sim
