#pragma once

#include "presence/base/ids.h"
#include "presence/model/presence.h"

#include <boost/unordered/unordered_flat_map.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace presence {

class RoomReplica;

/// A user whose presence a thread follows because of rooms: a member of one that is listed here, or
/// somebody who is in a room by a session that lives here.
struct RoomSubject {
    using PresenceRef = std::shared_ptr<const Presence>;

    /// Where a list of this thread holds the user.
    struct Place {
        RoomReplica* room = nullptr;
        std::uint32_t slot = 0;
    };

    UserId user;
    /// As told last: the two faces have anti-flap windows of their own. Null: not known, or nobody.
    PresenceRef own;
    PresenceRef shown;
    std::vector<Place> places;
    bool subscribed = false;   ///< The bus has confirmed it.
    bool looks_again = false;  ///< A look at what was held back is filed.
    bool at_home = false;      ///< In a room by a session of this thread.
    bool open_to_all = false;  ///< With at_home: the rule for `online` admits everyone.
    bool unreachable = false;  ///< The store is away, and the user is none of this node's.
    /// Since that turn the rules have been as they are: earlier looks say nothing of who may see
    /// the user.
    std::uint64_t turned_at = 0;

    [[nodiscard]] Status shown_status() const {
        return unreachable ? Status::unknown : status_of(shown, &Presence::shown);
    }
    [[nodiscard]] Status own_status() const { return status_of(own, &Presence::own); }

    /// True: the face shows another status than before.
    bool take_shown(PresenceRef news) {
        const Status before = shown_status();
        unreachable = false;
        if (!shown || news->shown_version > shown->shown_version) {
            shown = std::move(news);
        }
        return shown_status() != before;
    }
    /// Nobody can tell any more how the user is. Who was offline, or never was known to be anything
    /// else, stays so: one who is in a room and may not be seen there must not turn up in it.
    /// @param counts  The user's own node says that everyone may see the user.
    bool take_unreachable(bool counts) {
        const Status before = shown_status();
        unreachable = shown ? status_of(shown, &Presence::shown) != Status::offline : counts;
        return shown_status() != before;
    }
    bool take_own(PresenceRef news) {
        const Status before = own_status();
        if (!own || news->own_version > own->own_version) {
            own = std::move(news);
        }
        return own_status() != before;
    }

private:
    static Status status_of(const PresenceRef& presence, Face Presence::*face) {
        if (!presence) {
            return Status::offline;
        }
        const Face& shows = (*presence).*face;
        return presence->doubts(shows) ? Status::unknown : shows.status;
    }
};

/// The subjects of a thread by name. One thread.
class RoomSubjects {
public:
    /// @param unknown_as  What a status that nobody can tell is shown as.
    explicit RoomSubjects(Status unknown_as = Status::unknown) : unknown_as_(unknown_as) {}

    /// Whether one with that status stands in lists: whoever is shown as offline is in none.
    [[nodiscard]] bool lists(Status status) const noexcept {
        return (status == Status::unknown ? unknown_as_ : status) != Status::offline;
    }
    RoomSubject& open(const UserId& user) {
        if (RoomSubject* const found = find(user)) {
            return *found;
        }
        auto made = std::make_unique<RoomSubject>();
        made->user = user;
        made->turned_at = next_turn();
        RoomSubject& subject = *made;
        by_user_.emplace(std::string_view(subject.user.text), std::move(made));
        return subject;
    }
    [[nodiscard]] RoomSubject* find(const UserId& user) const {
        const auto found = by_user_.find(std::string_view(user.text));
        return found == by_user_.end() ? nullptr : found->second.get();
    }
    void remove_place(RoomSubject& subject, const RoomReplica* room) {
        std::erase_if(subject.places,
                      [&](const RoomSubject::Place& place) { return place.room == room; });
        if (subject.places.empty() && !subject.at_home) {
            unused_.push_back(subject.user);
        }
    }
    /// The subjects that lost their last use and have none again; they are gone then.
    [[nodiscard]] std::vector<UserId> take_unused() {
        std::vector<UserId> gone;
        for (UserId& user : std::exchange(unused_, {})) {
            const auto found = by_user_.find(std::string_view(user.text));
            if (found == by_user_.end() || !found->second->places.empty() ||
                found->second->at_home) {
                continue;
            }
            const std::unique_ptr<RoomSubject> dying = std::move(found->second);  // Holds the key.
            by_user_.erase(found);
            gone.push_back(std::move(user));
        }
        return gone;
    }
    void note_unused(const RoomSubject& subject) { unused_.push_back(subject.user); }
    /// Orders looks, and what they may be too old for: whose rules changed after a look had begun,
    /// or who came after that, is looked at apart.
    [[nodiscard]] std::uint64_t turn() const noexcept { return turn_; }
    [[nodiscard]] std::uint64_t next_turn() noexcept { return ++turn_; }
    [[nodiscard]] std::size_t size() const noexcept { return by_user_.size(); }

private:
    /// Keys are the ids inside the entries, which never move.
    boost::unordered_flat_map<std::string_view, std::unique_ptr<RoomSubject>> by_user_;
    std::vector<UserId> unused_;
    std::uint64_t turn_ = 0;
    Status unknown_as_;
};

}  // namespace presence
