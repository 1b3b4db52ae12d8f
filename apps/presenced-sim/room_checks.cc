// What must hold of rooms: who is listed, who is counted, and who hears of whom (rules 24 to 29).

#include "world.h"

#include <fmt/format.h>

#include <algorithm>

namespace presence::sim {

namespace {
/// A change in a room, told across nodes, with the second for which news of a room are gathered.
constexpr Millis kRoomTold{5'000};
/// A session that was lost without a word is over that much later than its ttl and grace, be its
/// server stopped meanwhile, and all have heard of it.
constexpr Millis kSlack{50'000};
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
}

void World::on_member(const Client& client, const std::string& room, const std::string& user) {
    if (!may_be_told(client, user)) {
        fail(fmt::format("{} was told that {} is in {}, and may not see it (rules 26, 28)",
                         client.user(), user, room));
    }
}

/// Whether the user is in the room, by what devices of theirs were told; empty: in doubt.
std::optional<bool> World::is_in_room(std::uint32_t user, const std::string& room) {
    const Millis gone = config_.heartbeat.ttl + config_.heartbeat.grace + kSlack;
    bool out = !truth_.may_linger(now(), user_name(user));
    for (std::size_t i = user; i < clients_.size(); i += story_.users) {
        const Client& client = *clients_[i];
        const auto held = client.rooms().find(room);
        const std::optional<MonoTime> counts = truth_.counts_since(client.connection());
        if (held != client.rooms().end() && client.is_awake() && is_served(client) && counts &&
            std::max(held->second.since, *counts) + kRoomTold < now()) {
            return true;
        }
        out = out && !client.may_be_in(room) && held == client.rooms().end() &&
              (!client.left_at(room) || *client.left_at(room) + gone < now());
    }
    return out ? std::optional(false) : std::nullopt;
}

/// What the client holds of its rooms must be true by now, unless something failed lately.
void World::audit_rooms(const Client& client, const UserFacts& viewer) {
    for (const auto& [room, held] : client.rooms()) {
        if (std::max({held.since, quiet_from_, *client.hears_since()}) + kRoomTold >= now()) {
            continue;
        }
        std::size_t least = 0;
        std::size_t most = 0;
        for (const UserFacts& user : facts_) {
            const std::optional<bool> seen = audit_member(viewer, user, room, held);
            least += seen.value_or(false) ? 1U : 0U;
            most += seen.value_or(true) ? story_.machines : 0U;
        }
        ++figures_.checks;
        if (!held.listed && (held.count < least || held.count > most)) {
            fail(fmt::format("{} still holds {} as the count of {}, which is {} to {} (rule 28)",
                             viewer.name, held.count, room, least, most));
        }
    }
}

/// Whether the user is to be counted; empty: in doubt.
std::optional<bool> World::audit_member(const UserFacts& viewer, const UserFacts& user,
                                        const std::string& room, const HeldRoom& held) {
    const std::optional<Truth::Sight> sight =
        held.listed ? Truth::sight(*viewer.rules, *user.rules) : Truth::public_sight(*user.rules);
    if (!sight || (!user.hidden && !user.visible)) {
        return std::nullopt;
    }
    const MonoTime since = std::max(
        {sight->since, user.hidden.value_or(MonoTime{}), user.visible.value_or(MonoTime{})});
    std::optional<bool> seen = user.in_rooms.at(room);
    if (user.hidden || !sight->sees) {
        seen = false;
    }
    if (since + kRoomTold >= now() || !seen) {
        return std::nullopt;
    }
    if (held.listed && &user != &viewer && *seen != held.members.contains(user.name)) {
        fail(fmt::format("{} still holds {} as {} {} (rule 28)", viewer.name, user.name,
                         *seen ? "not in" : "in", room));
    }
    return seen;
}

}  // namespace presence::sim
