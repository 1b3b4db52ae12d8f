// What a keeper says of the members that this node has: when, and in which words.

#include "presence/core/room_keeper.h"

#include <utility>

namespace presence {

void RoomKeeper::arm(Kept& kept) {
    if (kept.armed || !owes(kept)) {
        return;
    }
    kept.armed = true;
    const Millis wait = until_next_window(kept.room, parts_.clock.now());
    parts_.scheduler.after(wait, [this, room = kept.room] { publish(room); });
}

bool RoomKeeper::is_due(const Kept& kept) const {
    const MonoTime now = parts_.clock.now();
    return !kept.large || kept.owes_full || count_is_due(kept) ||
           (kept.own.size() != kept.told_members && now - kept.last_at >= kCountWindow);
}

/// When the count goes out depends on nothing but itself: members who are not in it must not put it
/// off, nor bring it forward.
bool RoomKeeper::count_is_due(const Kept& kept) const {
    return kept.counted != kept.told_counted &&
           parts_.clock.now() - kept.counted_at >= kCountWindow;
}

std::shared_ptr<RoomStatement> RoomKeeper::frame_of(const Kept& kept) const {
    auto statement = std::make_shared<RoomStatement>();
    statement->node = parts_.nodes.self;
    statement->room = kept.room;
    statement->sequence = kept.sequence;
    statement->listed = !kept.large;
    statement->members = kept.own.size();
    statement->counted = kept.large ? kept.told_counted : kept.counted;
    return statement;
}

RoomStatementRef RoomKeeper::everything(const Kept& kept) const {
    std::shared_ptr<RoomStatement> statement = frame_of(kept);
    statement->full = true;
    if (statement->listed) {
        statement->present.reserve(kept.own.size());
        for (const auto& [user, member] : kept.own) {
            statement->present.push_back(member);
        }
    }
    return statement;
}

void RoomKeeper::add_current(const Kept& kept, const UserId& user, RoomStatement& statement) {
    const auto found = kept.own.find(user);
    if (found == kept.own.end()) {
        statement.gone.push_back(user);
    } else {
        statement.present.push_back(found->second);
    }
}

/// What changed since the statement before the last, as it stands now.
RoomStatementRef RoomKeeper::recent_changes(const Kept& kept) const {
    std::set<UserId> users = kept.untold;
    for (const RoomMember& member : kept.last->present) {
        users.insert(member.user);
    }
    users.insert(kept.last->gone.begin(), kept.last->gone.end());
    std::shared_ptr<RoomStatement> statement = frame_of(kept);
    for (const UserId& user : users) {
        add_current(kept, user, *statement);
    }
    return statement;
}

/// Nobody holds anything of this node that a difference could build upon.
bool RoomKeeper::begins_anew(const Kept& kept) const {
    return !kept.last || kept.last->node != parts_.nodes.self || kept.last->members == 0;
}

void RoomKeeper::publish(const RoomId& room) {
    Kept* const kept = find(room);
    if (kept == nullptr) {
        return;
    }
    kept->armed = false;
    if (!owes(*kept)) {
        close_if_idle(*kept);
        return;
    }
    if (!is_due(*kept)) {
        arm(*kept);
        return;
    }
    if (!kept->large || count_is_due(*kept)) {
        kept->told_counted = kept->counted;
        kept->counted_at = parts_.clock.now();
    }
    ++kept->sequence;
    const RoomStatementRef before = kept->last;
    if (kept->large || kept->owes_full || begins_anew(*kept) || kept->own.empty()) {
        kept->last = everything(*kept);
    } else {
        std::shared_ptr<RoomStatement> statement = frame_of(*kept);
        for (const UserId& user : kept->untold) {
            add_current(*kept, user, *statement);
        }
        kept->last = std::move(statement);
    }
    if (std::vector<UserId> told = kept->herald.take_told(); !told.empty() && !kept->large) {
        auto telling = std::make_shared<RoomStatement>(*kept->last);
        telling->left_told = std::move(told);
        kept->last = std::move(telling);
    }
    kept->untold.clear();
    kept->owes_full = false;
    kept->told_members = kept->own.size();
    kept->last_at = parts_.clock.now();
    ++parts_.counters.room_statements;
    parts_.bus.publish_room(kept->last);
    if (before && before->node != parts_.nodes.self && before->members > 0) {
        take_back(*kept, before->node);
    }
    if (owes(*kept)) {
        arm(*kept);
    } else {
        close_if_idle(*kept);
    }
}

/// This node said it under another name, and who heard it would wait for its death.
void RoomKeeper::take_back(const Kept& kept, const NodeId& name) {
    auto statement = std::make_shared<RoomStatement>();
    statement->node = name;
    statement->room = kept.room;
    statement->sequence = kept.sequence;
    statement->full = true;
    parts_.bus.publish_room(std::move(statement));
}

RoomPicture RoomKeeper::picture(const Kept& kept, RoomNeed need) const {
    RoomPicture picture{kept.large, counted_everywhere(kept), {}};
    if (need == RoomNeed::counts) {
        return picture;
    }
    // Until its next window the last statement may not have come through.
    const bool fresh = kept.last && parts_.clock.now() - kept.last_at < kWindow;
    const bool whole = need == RoomNeed::all || kept.large || kept.owes_full || begins_anew(kept) ||
                       (fresh && kept.last->full);
    picture.parts.push_back(whole ? everything(kept) : recent_changes(kept));
    if (need == RoomNeed::all) {
        for (const auto& [node, foreign] : kept.others) {
            auto part = std::make_shared<RoomStatement>();
            part->node = node;
            part->room = kept.room;
            part->sequence = foreign.sequence;
            part->full = true;
            part->listed = foreign.listed;
            part->members = foreign.members;
            part->counted = foreign.counted;
            for (const auto& [user, member] : foreign.list) {
                part->present.push_back(member);
            }
            picture.parts.push_back(std::move(part));
        }
    }
    return picture;
}

}  // namespace presence
