#include "presence/core/room_replica.h"

#include "presence/base/assert.h"

#include <algorithm>
#include <utility>

namespace presence {

// --- What nodes say ----------------------------------------------------------------------------

RoomReplica::Part& RoomReplica::part_of(const NodeId& node) {
    const auto [found, is_new] = parts_.try_emplace(node);
    if (is_new) {
        found->second.index = next_part_++;
    }
    return found->second;
}

bool RoomReplica::exact() const {
    std::size_t nodes = 0;
    bool broken = false;
    for (const auto& [node, part] : parts_) {
        nodes += part.counted > 0 ? 1U : 0U;  // Others leave no trace.
        broken = broken || part.broken;
    }
    return !broken && (nodes <= 1 || !large_);
}

std::size_t RoomReplica::counted() const {
    std::size_t counted = 0;
    for (const auto& [node, part] : parts_) {
        counted += part.counted;
    }
    return counted;
}

bool RoomReplica::weigh() {
    const bool large =
        std::ranges::any_of(parts_, [](const auto& entry) { return !entry.second.listed; });
    if (large == large_) {
        return false;
    }
    large_ = large;
    for (RoomViewer& viewer : viewers_) {
        untell(viewer);
        viewer.wants_room = true;
    }
    if (large) {
        drop_members();
        for (auto& [node, part] : parts_) {
            part.lacking = true;
        }
    }
    return true;
}

bool RoomReplica::lacks_lists() const {
    return !large_ &&
           std::ranges::any_of(parts_, [](const auto& one) { return one.second.lacking; });
}

RoomReplica::Applied RoomReplica::apply(const RoomStatement& statement, bool ahead) {
    Applied applied;
    Part& part = part_of(statement.node);
    if (!statement.full) {
        const std::uint64_t next = part.sequence + (ahead ? 0 : 1);
        if (statement.sequence <= part.sequence && !ahead) {
            return applied;  // Known from a look.
        }
        if ((statement.sequence > next || (part.lacking && !large_)) && !ahead) {
            if (!std::exchange(part.broken, true)) {
                applied.gap = statement.node;
            }
            return applied;
        }
    } else if (statement.sequence < part.sequence) {
        return applied;
    }
    if (!ahead || statement.full) {
        part.sequence = statement.sequence;
    }
    part.broken = part.broken && !statement.full;
    part.counted = statement.counted;
    part.listed = statement.listed;
    const std::uint32_t node = part.index;
    const bool ends = statement.full && statement.members == 0;
    if (ends) {
        parts_.erase(statement.node);
    }
    applied.switched = weigh();
    if (!ends) {
        part.lacking = large_ || (part.lacking && !statement.full);
    }
    if (large_) {
        return applied;
    }
    if (statement.full) {
        remove_absent(node, statement.present);
    }
    for (const RoomMember& member : statement.present) {
        if (put(node, member, ahead)) {
            applied.added.push_back(member.user);
        }
    }
    for (const UserId& user : statement.gone) {
        std::uint32_t slot = 0;
        if (find_slot(user, slot)) {
            take_word(slot, node, ahead);
        }
    }
    return applied;
}

RoomReplica::Applied RoomReplica::forget_node(const NodeId& node,
                                              std::optional<std::uint64_t> up_to) {
    Applied applied;
    const auto found = parts_.find(node);
    if (found == parts_.end() || (up_to && found->second.sequence > *up_to)) {
        return applied;
    }
    const std::uint32_t index = found->second.index;
    parts_.erase(found);
    remove_absent(index, {});
    applied.switched = weigh();
    return applied;
}

void RoomReplica::remove_absent(std::uint32_t node, const std::vector<RoomMember>& present) {
    boost::unordered_flat_map<std::string_view, bool> named;
    for (const RoomMember& member : present) {
        named.emplace(std::string_view(member.user.text), true);
    }
    for (std::uint32_t slot = 0; slot < members_.size(); ++slot) {
        const Member& member = members_[slot];
        if (member.subject != nullptr && !named.contains(member.subject->user.text)) {
            take_word(slot, node, false);
        }
    }
}

bool RoomReplica::put(std::uint32_t node, const RoomMember& said, bool ahead) {
    std::uint32_t slot = 0;
    const bool known = find_slot(said.user, slot);
    if (!known) {
        if (free_.empty()) {
            free_.push_back(static_cast<std::uint32_t>(members_.size()));
            members_.emplace_back();
        }
        slot = free_.back();
        free_.pop_back();
        RoomSubject& subject = subjects_.open(said.user);
        subject.places.push_back({this, slot});
        members_[slot].subject = &subject;
        by_user_.emplace(std::string_view(subject.user.text), slot);
        sorted_.clear();
        members_[slot].addition = ++additions_;
    }
    Member& member = members_[slot];
    const bool was_member = !member.words.empty();
    const auto word =
        std::ranges::find(member.words, node, [](const Member::Word& one) { return one.node; });
    if (word == member.words.end()) {
        member.words.push_back({node, said.meta, said.joined_at, said.counts});
    } else {
        *word = {node, said.meta, said.joined_at, said.counts};
    }
    if (member.subject->unreachable && !member.subject->shown && !counts(slot)) {
        member.subject->unreachable = false;  // Is to be seen by everyone no more.
    }
    refresh_meta(member, ahead);
    const bool is_new = !known || !was_member || member.ahead;
    member.ahead = ahead && is_new;
    log(slot, ahead);
    return is_new && !ahead;
}

void RoomReplica::take_word(std::uint32_t slot, std::uint32_t node, bool ahead) {
    Member& member = members_[slot];
    const std::size_t taken =
        std::erase_if(member.words, [&](const Member::Word& word) { return word.node == node; });
    if (taken > 0 && member.words.empty()) {
        gone_.push_back(slot);
    } else if (!member.words.empty()) {
        refresh_meta(member, ahead);
    }
    if (taken > 0 || member.words.empty()) {
        log(slot, ahead);  // Also where a look was ahead of the statement.
    }
}

void RoomReplica::refresh_meta(Member& member, bool ahead) {
    const auto latest = std::ranges::max_element(
        member.words, {}, [](const Member::Word& word) { return word.joined_at; });
    if (latest != member.words.end() && member.meta != latest->meta) {
        member.meta = latest->meta;
        member.meta_ahead = member.told_count > 0;  // Else nobody holds another.
        member.encoded.clear();
    }
    if (member.meta_ahead && !ahead) {
        member.meta_ahead = false;
        member.meta_at = change_ + 1;  // The change that is logged next.
    }
}

void RoomReplica::log(std::uint32_t slot, bool ahead) {
    if (ahead) {
        return;
    }
    ++change_;
    changes_.push_back(slot);
    if (changes_.size() > kChanges) {
        changes_.clear();
        first_change_ = change_ + 1;
    }
}

void RoomReplica::release(std::uint32_t slot) {
    Member& member = members_[slot];
    by_user_.erase(std::string_view(member.subject->user.text));
    subjects_.remove_place(*member.subject, this);
    member = {};
    for (RoomViewer& viewer : viewers_) {
        viewer.sees.set(slot, Verdict());
    }
    free_.push_back(slot);
    sorted_.clear();
}

void RoomReplica::drop_members() {
    for (const Member& member : members_) {
        if (member.subject != nullptr) {
            subjects_.remove_place(*member.subject, this);
        }
    }
    by_user_.clear();
    members_ = {};
    free_ = {};
    sorted_ = {};
    changes_ = {};
    gone_ = {};
    first_change_ = change_ + 1;
    for (RoomViewer& viewer : viewers_) {
        viewer.sees.clear();
        viewer.told.clear();
        viewer.turned = {};
        viewer.repeated = {};
        viewer.count = 0;
    }
}

void RoomReplica::tidy() {
    for (std::size_t i = 0; i < gone_.size();) {
        const std::uint32_t slot = gone_[i];
        const Member& member = members_[slot];
        const bool gone = member.subject != nullptr && member.words.empty();
        if (gone && member.told_count > 0) {
            ++i;
            continue;
        }
        if (gone) {
            release(slot);
        }
        gone_[i] = gone_.back();
        gone_.pop_back();
    }
    const bool all_told = std::ranges::all_of(viewers_, [&](const RoomViewer& viewer) {
        return viewer.behind || viewer.wants_room || viewer.told_change == change_;
    });
    if (all_told) {
        changes_.clear();
        first_change_ = change_ + 1;
    }
}

// --- Members and viewers -----------------------------------------------------------------------

bool RoomReplica::counts(std::uint32_t slot) const {
    return std::ranges::any_of(members_[slot].words, &Member::Word::counts);
}

bool RoomReplica::find_slot(const UserId& user, std::uint32_t& slot) const {
    const auto found = by_user_.find(std::string_view(user.text));
    if (found == by_user_.end()) {
        return false;
    }
    slot = found->second;
    return true;
}

std::vector<UserId> RoomReplica::users() const {
    std::vector<UserId> users;
    users.reserve(by_user_.size());
    for (const Member& member : members_) {
        if (member.subject != nullptr) {
            users.push_back(member.subject->user);
        }
    }
    return users;
}

void RoomReplica::touch(std::uint32_t slot, bool shown, bool own) {
    Member& member = members_[slot];
    log(slot, false);
    member.shown_at = shown ? change_ : member.shown_at;
    member.own_at = own ? change_ : member.own_at;
    member.encoded.clear();
}

bool RoomReplica::judge(RoomViewer& viewer, std::uint32_t slot, Verdict verdict) {
    if (viewer.sees.sees(slot) == verdict.online()) {
        return false;
    }
    viewer.sees.set(slot, verdict);
    if (!viewer.behind && !viewer.wants_room) {
        viewer.turned.push_back(slot);
    }
    return true;
}

RoomViewer& RoomReplica::add_viewer(RoomViewer viewer, std::uint64_t additions) {
    PRESENCE_ASSERT(!by_connection_.contains(viewer.connection));
    for (std::uint32_t slot = 0; slot < members_.size() && additions != additions_; ++slot) {
        if (members_[slot].addition > additions) {
            viewer.sees.set(slot, Verdict());
        }
    }
    by_connection_.emplace(viewer.connection, viewers_.size());
    viewer.turned_at = subjects_.next_turn();
    viewers_.push_back(std::move(viewer));
    return viewers_.back();
}

void RoomReplica::remove_viewer(std::uint32_t connection) {
    const auto found = by_connection_.find(connection);
    if (found == by_connection_.end()) {
        return;
    }
    const std::size_t place = found->second;
    untell(viewers_[place]);
    by_connection_.erase(found);
    if (place + 1 != viewers_.size()) {
        viewers_[place] = std::move(viewers_.back());
        by_connection_[viewers_[place].connection] = place;
    }
    viewers_.pop_back();
}

RoomViewer* RoomReplica::find_viewer(std::uint32_t connection) {
    const auto found = by_connection_.find(connection);
    return found == by_connection_.end() ? nullptr : &viewers_[found->second];
}

bool RoomReplica::is_self(const RoomViewer& viewer, std::uint32_t slot) const {
    return members_[slot].subject->user == viewer.user;
}

bool RoomReplica::is_listed_for(const RoomViewer& viewer, std::uint32_t slot) const {
    const Member& member = members_[slot];
    if (member.subject == nullptr || member.words.empty()) {
        return false;
    }
    if (is_self(viewer, slot)) {
        return subjects_.lists(member.subject->own_status());
    }
    return viewer.sees.sees(slot) && subjects_.lists(member.subject->shown_status());
}

}  // namespace presence
