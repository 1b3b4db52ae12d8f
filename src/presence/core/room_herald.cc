#include "presence/core/room_herald.h"

#include <algorithm>

namespace presence {

namespace {

/// Versions of a room's events go by the clock, which all nodes share, so that they grow whoever
/// sends: milliseconds, times 1,024 for those within one. Below 2^53 until the year 2248.
constexpr std::uint64_t kWithinOne = 1024;
/// Of one who has left on two nodes at once; more than that are none that still matter.
constexpr std::size_t kMostSilent = 1'000;

}  // namespace

void RoomHerald::say(WebhookEvents& to, const Clock& clock, WebhookType type, const RoomId& room,
                     const UserId& user) {
    WebhookEvent event;
    event.type = type;
    event.room = room;
    event.user = user;
    event.at = clock.wall_now();
    version_ = std::max(version_ + 1, static_cast<std::uint64_t>(event.at.ms()) * kWithinOne);
    event.version = Version{version_};
    to.note(std::move(event));
}

void RoomHerald::say_joined(WebhookEvents& to, const Clock& clock, const RoomId& room,
                            const UserId& user, const Others& others) {
    if (shown_.size() == 1 && !others.occupied) {
        say(to, clock, WebhookType::room_occupied, room, {});
    }
    say(to, clock, WebhookType::room_joined, room, user);
}

void RoomHerald::say_left(WebhookEvents& to, const Clock& clock, const RoomId& room,
                          const UserId& user, const Others& others) {
    say(to, clock, WebhookType::room_left, room, user);
    if (shown_.empty() && !others.occupied) {
        say(to, clock, WebhookType::room_vacated, room, {});
    }
}

void RoomHerald::present(WebhookEvents& to, const Clock& clock, NodeId self, const RoomId& room,
                         const UserId& user, Standing standing, const Others& others) {
    const bool shown = standing != Standing::hidden;
    silent_.erase(user);
    if (shown == shown_.contains(user)) {
        return;
    }
    // Who appears or hides does so at this moment on all nodes that have the user as a member.
    const bool is_ours = !others.lowest || self < others.lowest;
    if (shown) {
        shown_.insert(user);
        if (is_ours && (standing == Standing::appeared || !others.shows)) {
            say_joined(to, clock, room, user, others);
        }
    } else {
        shown_.erase(user);
        if (is_ours) {
            say_left(to, clock, room, user, others);
        }
    }
}

void RoomHerald::gone(WebhookEvents& to, const Clock& clock, const RoomId& room, const UserId& user,
                      const Others& others) {
    if (shown_.erase(user) == 0) {
        return;
    }
    if (!others.shows) {
        told_.insert(user);
        say_left(to, clock, room, user, others);
    } else if (silent_.size() < kMostSilent) {
        silent_.emplace(user, NodeId{});
    }
}

void RoomHerald::gone_elsewhere(WebhookEvents& to, const Clock& clock, NodeId self,
                                const RoomId& room, NodeId node, const UserId& user, bool told,
                                const Others& others) {
    const auto found = silent_.find(user);
    if (found == silent_.end()) {
        return;
    }
    if (told) {
        silent_.erase(found);
        return;
    }
    NodeId& lowest = found->second;
    lowest = lowest ? std::min(lowest, node) : node;
    if (others.shows) {
        return;
    }
    const bool is_ours = self < lowest;
    silent_.erase(found);
    if (is_ours) {
        say_left(to, clock, room, user, others);
    }
}

void RoomHerald::died(WebhookEvents& to, const Clock& clock, const RoomId& room, const UserId& user,
                      const Others& others) {
    silent_.erase(user);
    say_left(to, clock, room, user, others);
}

}  // namespace presence
