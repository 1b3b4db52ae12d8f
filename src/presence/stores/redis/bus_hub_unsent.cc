// Changes that could not be published: tried again until they are. Who hears one twice, or late,
// weighs it by its version or revision; a node that heard nothing meanwhile reads anew when its
// subscriptions are healed.

#include "presence/stores/redis/bus_hub.h"

#include <algorithm>
#include <utility>

namespace presence {

using redis::ProfileChanged;

namespace {
/// Everybody is to know of a change of rules within 2 s.
constexpr Millis kSendAgain{500};
/// Users of each kind that wait; over it only their partitions are remembered, all of which the
/// others then read anew. Some hundred bytes each.
constexpr std::size_t kMostUnsent = 10'000;
}  // namespace

void RedisBus::Hub::keep_unsent(PresenceEventRef event) {
    const auto found = unsent_events_.find(event->user);
    if (found == unsent_events_.end() && unsent_events_.size() >= kMostUnsent) {
        lose_unsent(event->user);
        return;
    }
    if (found == unsent_events_.end()) {
        const UserId user = event->user;
        unsent_events_.emplace(user, std::move(event));
    } else {
        const PresenceEvent& old = *found->second;
        const bool newer = event->presence.own_version >= old.presence.own_version;
        auto merged = std::make_shared<PresenceEvent>(newer ? *event : old);
        merged->tells_shown = event->tells_shown || old.tells_shown;
        merged->tells_own = event->tells_own || old.tells_own;
        found->second = std::move(merged);
    }
    send_unsent_soon();
}

void RedisBus::Hub::keep_unsent(const ProfileChanged& change) {
    const auto found = unsent_profiles_.find(change.user);
    if (found != unsent_profiles_.end()) {
        found->second = std::max(found->second, change.revision);
    } else if (unsent_profiles_.size() < kMostUnsent ||
               (change.revision == kErased && drop_unsent_rules())) {
        unsent_profiles_.emplace(change.user, change.revision);
    } else {
        lose_unsent(change.user);
        return;
    }
    send_unsent_soon();
}

/// What others miss of rules they read anew; that somebody was erased they hear in no other way.
bool RedisBus::Hub::drop_unsent_rules() {
    const auto rules = std::ranges::find_if(
        unsent_profiles_, [](const auto& waiting) { return waiting.second != kErased; });
    if (rules == unsent_profiles_.end()) {
        return false;
    }
    lose_unsent(rules->first);
    unsent_profiles_.erase(rules);
    return true;
}

void RedisBus::Hub::lose_unsent(const UserId& user) {
    ++counters.unsent_dropped;
    unsent_lost_.insert(keys.partition_of(user));
    send_unsent_soon();
}

void RedisBus::Hub::send_unsent_soon() {
    if (subscriber_ && !std::exchange(unsent_asked_, true)) {
        unsent_timer_ = store().after(kSendAgain, [this] {
            unsent_asked_ = false;
            send_unsent();
        });
    }
}

void RedisBus::Hub::send_unsent() {
    for (auto& [user, revision] : std::exchange(unsent_profiles_, {})) {
        const ProfileChanged change{user, revision};
        try_send(keys.partition_channel(keys.partition_of(user)), redis::encode(change),
                 [self = shared_from_this(), change] { self->keep_unsent(change); });
    }
    const PartitionSet lost = std::exchange(unsent_lost_, PartitionSet(keys.partitions()));
    for (std::uint32_t partition = 0; partition < keys.partitions(); ++partition) {
        if (lost.contains(partition)) {
            try_send(keys.partition_channel(partition), redis::encode(redis::rules_lost(partition)),
                     [self = shared_from_this(), partition] {
                         self->unsent_lost_.insert(partition);
                         self->send_unsent_soon();
                     });
        }
    }
    for (auto& [user, event] : std::exchange(unsent_events_, {})) {
        try_send(keys.channel(user), redis::encode(*event),
                 [self = shared_from_this(), event] { self->keep_unsent(event); });
    }
}

}  // namespace presence
