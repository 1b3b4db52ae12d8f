#pragma once

#include "presence/base/clock.h"
#include "presence/base/ids.h"
#include "presence/ports/webhook_events.h"

#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace presence {

/// Tells receivers of webhooks who comes into one room and who leaves it, by the public view: who
/// is invisible, or only observes, is in no room (DESIGN rule 18).
///
/// Several nodes have members in a room, and each event is to be sent by one of them. Who comes is
/// told by the node on which it happened, unless the user is in the room by another node; who goes
/// likewise. Where that would be told by none, as two nodes lost the user at once, or by two, as
/// the user became visible on all at once, the node with the lowest name does.
///
/// Belongs to a keeper's room. One thread.
class RoomHerald {
public:
    /// How the other nodes stand to a user and to the room.
    struct Others {
        bool shows = false;     ///< Another one has the user as a member whom all may see.
        NodeId lowest;          ///< Of those that have the user as a member; none: no node has.
        bool occupied = false;  ///< Another one has members whom all may see, this one or not.
    };

    enum class Standing : std::uint8_t {
        hidden,    ///< Nobody may see the user, who is invisible.
        came,      ///< Has just become a member by this node.
        appeared,  ///< Was one, hidden or not.
    };
    /// The user is a member by this node.
    void present(WebhookEvents& to, const Clock& clock, NodeId self, const RoomId& room,
                 const UserId& user, Standing standing, const Others& others);
    /// The user is no member by this node any more.
    void gone(WebhookEvents& to, const Clock& clock, const RoomId& room, const UserId& user,
              const Others& others);
    /// The user is no member by `node` any more; `told`: it has said so, or need not.
    void gone_elsewhere(WebhookEvents& to, const Clock& clock, NodeId self, const RoomId& room,
                        NodeId node, const UserId& user, bool told, const Others& others);
    /// The user was a member by a node that is dead, and is by no other.
    void died(WebhookEvents& to, const Clock& clock, const RoomId& room, const UserId& user,
              const Others& others);

    /// Whose leaving this node has told since it was asked last.
    [[nodiscard]] std::vector<UserId> take_told() {
        std::vector<UserId> told(told_.begin(), told_.end());
        told_.clear();
        return told;
    }

    [[nodiscard]] bool is_silent(const UserId& user) const { return silent_.contains(user); }
    /// Who has left here while another node had them, and of whose leaving nothing was told yet.
    [[nodiscard]] std::vector<UserId> silent() const {
        std::vector<UserId> users;
        for (const auto& [user, lowest] : silent_) {
            users.push_back(user);
        }
        return users;
    }

private:
    void say(WebhookEvents& to, const Clock& clock, WebhookType type, const RoomId& room,
             const UserId& user);
    void say_joined(WebhookEvents& to, const Clock& clock, const RoomId& room, const UserId& user,
                    const Others& others);
    void say_left(WebhookEvents& to, const Clock& clock, const RoomId& room, const UserId& user,
                  const Others& others);

    std::set<UserId> shown_;  ///< Members by this node whom everyone may see.
    /// Who has left here while another node had them; the lowest name of those that lost them
    /// without a word since.
    std::map<UserId, NodeId> silent_;
    std::set<UserId> told_;
    std::uint64_t version_ = 0;
};

}  // namespace presence
