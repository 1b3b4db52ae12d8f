// What the viewers of a replica are to be told.

#include "presence/core/room_replica.h"

#include <algorithm>

namespace presence {

void RoomReplica::sort_by_user(std::vector<std::uint32_t>& slots) const {
    std::ranges::sort(slots, [this](std::uint32_t a, std::uint32_t b) {
        return members_[a].subject->user.text < members_[b].subject->user.text;
    });
}

std::vector<std::uint32_t> RoomReplica::list_for(const RoomViewer& viewer) {
    if (sorted_.empty()) {
        for (std::uint32_t slot = 0; slot < members_.size(); ++slot) {
            if (members_[slot].subject != nullptr) {
                sorted_.push_back(slot);
            }
        }
        sort_by_user(sorted_);
    }
    std::vector<std::uint32_t> listed;
    for (const std::uint32_t slot : sorted_) {
        if (is_listed_for(viewer, slot)) {
            listed.push_back(slot);
        }
    }
    return listed;
}

std::optional<UserId> RoomReplica::first_of_node(const NodeId& node,
                                                 const RoomViewer& viewer) const {
    const auto part = parts_.find(node);
    if (part == parts_.end()) {
        return std::nullopt;
    }
    const Member* first = nullptr;
    WallTime first_at;
    for (std::uint32_t slot = 0; slot < members_.size(); ++slot) {
        const auto word = std::ranges::find(members_[slot].words, part->second.index,
                                            [](const Member::Word& one) { return one.node; });
        if (word == members_[slot].words.end() || !is_listed_for(viewer, slot)) {
            continue;
        }
        const bool is_earlier =
            first == nullptr || word->joined_at < first_at ||
            (word->joined_at == first_at && members_[slot].subject->user < first->subject->user);
        if (is_earlier) {
            first = &members_[slot];
            first_at = word->joined_at;
        }
    }
    return first == nullptr ? std::nullopt : std::optional(first->subject->user);
}

bool RoomReplica::may_have_news(const RoomViewer& viewer) const {
    return viewer.wants_room || viewer.told_change < change_ || !viewer.turned.empty() ||
           !viewer.repeated.empty();
}

std::vector<std::uint32_t> RoomReplica::candidates(const RoomViewer& viewer) const {
    std::vector<std::uint32_t> slots = viewer.turned;
    slots.insert(slots.end(), viewer.repeated.begin(), viewer.repeated.end());
    if (viewer.told_change + 1 >= first_change_) {
        const std::size_t from = viewer.told_change + 1 - first_change_;
        if (from < changes_.size()) {
            slots.insert(slots.end(), changes_.begin() + static_cast<std::ptrdiff_t>(from),
                         changes_.end());
        }
    } else {
        for (std::uint32_t slot = 0; slot < members_.size(); ++slot) {
            slots.push_back(slot);
        }
    }
    std::ranges::sort(slots);
    const auto doubles = std::ranges::unique(slots);
    slots.erase(doubles.begin(), doubles.end());
    return slots;
}

RoomDelta RoomReplica::delta_for(const RoomViewer& viewer) const {
    RoomDelta delta;
    for (const std::uint32_t slot : candidates(viewer)) {
        const Member& member = members_[slot];
        if (member.subject == nullptr) {
            continue;
        }
        const bool listed = is_listed_for(viewer, slot);
        const bool told = viewer.told.test(slot);
        if (listed && !told) {
            delta.joined.push_back(slot);
        } else if (!listed && told) {
            delta.left.push_back(slot);
        } else if (listed) {
            const std::uint64_t status_at = is_self(viewer, slot) ? member.own_at : member.shown_at;
            if (status_at > viewer.told_change || member.meta_at > viewer.told_change ||
                std::ranges::find(viewer.repeated, slot) != viewer.repeated.end()) {
                delta.changed.push_back(slot);
            }
        }
    }
    sort_by_user(delta.joined);
    sort_by_user(delta.changed);
    sort_by_user(delta.left);
    return delta;
}

void RoomReplica::tell(RoomViewer& viewer, const RoomDelta& delta) {
    for (const std::uint32_t slot : delta.joined) {
        viewer.told.set(slot, true);
        ++members_[slot].told_count;
    }
    for (const std::uint32_t slot : delta.left) {
        viewer.told.set(slot, false);
        --members_[slot].told_count;
    }
    viewer.count += delta.joined.size();
    viewer.count -= delta.left.size();
    viewer.told_change = change_;
    viewer.turned.clear();
    viewer.repeated.clear();
}

void RoomReplica::tell_list(RoomViewer& viewer, const std::vector<std::uint32_t>& slots) {
    untell(viewer);
    RoomDelta all;
    all.joined = slots;
    tell(viewer, all);
    viewer.wants_room = false;
    viewer.behind = false;
}

void RoomReplica::untell(RoomViewer& viewer) {
    for (std::uint32_t slot = 0; slot < members_.size(); ++slot) {
        if (viewer.told.test(slot)) {
            --members_[slot].told_count;
        }
    }
    viewer.told.clear();
    viewer.count = 0;
}

void RoomReplica::fall_behind(RoomViewer& viewer) {
    untell(viewer);
    viewer.behind = true;
    viewer.turned = {};
    viewer.repeated = {};
}

}  // namespace presence
