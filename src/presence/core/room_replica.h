#pragma once

#include "presence/base/bit_row.h"
#include "presence/base/ids.h"
#include "presence/base/time.h"
#include "presence/core/room_subjects.h"
#include "presence/core/token_bucket.h"
#include "presence/model/room.h"
#include "presence/rules/visibility.h"

#include <boost/unordered/unordered_flat_map.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace presence {

/// One connection that hears a room.
struct RoomViewer {
    std::uint32_t connection = 0;
    UserId user;
    rules::VerdictRow sees;               ///< By slot; for the user itself it says nothing.
    BitRow told;                          ///< By slot: stands in the list that the viewer holds.
    std::size_t count = 0;                ///< Of `told`.
    std::uint64_t told_change = 0;        ///< Changes up to that one have been told.
    std::size_t told_counted = 0;         ///< RoomReplica::counted when it was told a count last.
    MonoTime quiet_until;                 ///< Until then what happens is merged.
    std::uint64_t turned_at = 0;          ///< Of its user's rules, as RoomSubject::turned_at.
    std::vector<std::uint32_t> turned;    ///< Slots of which the verdict has changed.
    std::vector<std::uint32_t> repeated;  ///< Slots to be told once more.
    bool wants_room = false;              ///< What it holds is void: a whole `room` is due.
    bool behind = false;                  ///< It did not take what was due: likewise, once it can.
};

/// What has to be said to one viewer. Slots, by user id.
struct RoomDelta {
    std::vector<std::uint32_t> joined;
    std::vector<std::uint32_t> changed;
    std::vector<std::uint32_t> left;
    [[nodiscard]] bool empty() const { return joined.empty() && changed.empty() && left.empty(); }
    friend bool operator==(const RoomDelta&, const RoomDelta&) = default;
};

/// A room as a thread knows it whose connections hear it: the members, what each connection may see
/// of them, and what it was told. A plain state machine; core/room_desk.h moves it.
///
/// Everything that goes to a viewer is the difference between what it may see now and what it was
/// told, so no order of events can leave it with a wrong list, and what it may not see has no
/// influence on what it gets. A pair of viewer and member costs two bits. One thread.
class RoomReplica {
public:
    struct Member {
        RoomSubject* subject = nullptr;  ///< Null: the slot is free.
        /// By each node that says so, its word.
        struct Word {
            std::uint32_t node = 0;
            std::string meta;
            WallTime joined_at;
            bool counts = false;
        };
        std::vector<Word> words;  ///< Empty: no longer a member, kept until nobody was told of it.
        std::string meta;         ///< Of the latest join.
        std::uint32_t told_count = 0;  ///< Viewers that were told of it.
        std::uint64_t shown_at = 0;    ///< The change in which the public status became another.
        std::uint64_t own_at = 0;
        std::uint64_t meta_at = 0;
        std::uint64_t addition = 0;  ///< What additions() was when it was given this slot.
        bool ahead = false;          ///< Known from a look alone: its statement is under way.
        bool meta_ahead = false;     ///< Likewise its newest meta.
        std::string encoded;  ///< What most viewers are told; made on demand, by the gateway.
    };

    /// What applying a statement brought.
    struct Applied {
        std::vector<UserId> added;  ///< To be followed and judged.
        bool switched = false;      ///< Lists gave way to counts, or returned.
        std::optional<NodeId> gap;  ///< A statement before it is missing, of that node.
    };

    RoomReplica(RoomId room, RoomSubjects& subjects)
        : room_(std::move(room)), subjects_(subjects) {}
    RoomReplica(const RoomReplica&) = delete;
    RoomReplica& operator=(const RoomReplica&) = delete;
    ~RoomReplica() { drop_members(); }

    [[nodiscard]] const RoomId& room() const noexcept { return room_; }
    [[nodiscard]] bool large() const noexcept { return large_; }
    /// Lists have returned, and those of some nodes came before that.
    [[nodiscard]] bool lacks_lists() const;
    [[nodiscard]] bool exact() const;
    /// Of a large room.
    [[nodiscard]] std::size_t counted() const;

    /// @param ahead  It is a look at what a statement will say that is under way: viewers are not
    ///               told before that statement is there.
    Applied apply(const RoomStatement& statement, bool ahead = false);
    /// @param up_to  The last of its statements that is meant: later ones stand.
    Applied forget_node(const NodeId& node, std::optional<std::uint64_t> up_to = std::nullopt);

    // -- Viewers -------------------------------------------------------------------------------
    /// @param additions  additions() when the look was begun that found what `viewer` sees: it says
    ///                   nothing of members who came later, if in the place of others.
    RoomViewer& add_viewer(RoomViewer viewer, std::uint64_t additions);
    void remove_viewer(std::uint32_t connection);
    [[nodiscard]] RoomViewer* find_viewer(std::uint32_t connection);
    [[nodiscard]] std::vector<RoomViewer>& viewers() noexcept { return viewers_; }

    // -- Members -------------------------------------------------------------------------------
    [[nodiscard]] const Member& member(std::uint32_t slot) const { return members_[slot]; }
    [[nodiscard]] Member& member(std::uint32_t slot) { return members_[slot]; }
    /// Some node says that everyone may see the member.
    [[nodiscard]] bool counts(std::uint32_t slot) const;
    [[nodiscard]] bool find_slot(const UserId& user, std::uint32_t& slot) const;
    [[nodiscard]] std::vector<UserId> users() const;
    [[nodiscard]] std::size_t member_count() const noexcept { return by_user_.size(); }
    /// Grows with each member that is added.
    [[nodiscard]] std::uint64_t additions() const noexcept { return additions_; }

    /// The statuses of a member have become others.
    void touch(std::uint32_t slot, bool shown, bool own);
    /// Whether a look begun at `turn` says how the two stand to each other now.
    [[nodiscard]] bool may_judge(const RoomViewer& viewer, std::uint32_t slot,
                                 std::uint64_t turn) const {
        return viewer.turned_at <= turn && members_[slot].subject->turned_at <= turn;
    }
    /// A verdict was reached. True: it is another than before.
    bool judge(RoomViewer& viewer, std::uint32_t slot, Verdict verdict);

    [[nodiscard]] bool is_self(const RoomViewer& viewer, std::uint32_t slot) const;
    [[nodiscard]] bool is_listed_for(const RoomViewer& viewer, std::uint32_t slot) const;
    /// All whom the viewer may see, by user id.
    [[nodiscard]] std::vector<std::uint32_t> list_for(const RoomViewer& viewer);
    /// Of those whom the viewer may see the one who has been in the room by the node for longest.
    [[nodiscard]] std::optional<UserId> first_of_node(const NodeId& node,
                                                      const RoomViewer& viewer) const;
    [[nodiscard]] bool may_have_news(const RoomViewer& viewer) const;
    [[nodiscard]] RoomDelta delta_for(const RoomViewer& viewer) const;
    /// The viewer holds that now.
    void tell(RoomViewer& viewer, const RoomDelta& delta);
    void tell_list(RoomViewer& viewer, const std::vector<std::uint32_t>& slots);
    void fall_behind(RoomViewer& viewer);
    /// At the end: it follows nobody any more.
    void let_members_go() { drop_members(); }
    /// Lets go of members who are gone and of changes that all have been told.
    void tidy();

    bool armed = false;    ///< A round of deliveries is filed.
    bool loaded = false;   ///< It began with what the keeper knew.
    bool closed = false;   ///< Nobody hears the room any more.
    bool doubted = false;  ///< Waits to be looked at again.
    /// Who may see whom is not judged yet, as lists have returned, or may be void: nothing goes out
    /// but that members have left.
    bool judging = false;
    std::uint64_t void_before = 0;  ///< With `judging`: looks begun before that turn are no help.
    /// Looks at them failed: they are looked at again, all at once.
    std::set<UserId> unsettled;
    std::set<std::uint32_t> unsettled_viewers;
    std::size_t pins = 0;                 ///< Flows that need it.
    std::vector<RoomStatementRef> early;  ///< Came before it was loaded.
    std::size_t wants = 0;                ///< Times that the subscription was asked for.
    std::size_t holds = 0;                ///< Times that it is held at the keeper.
    TokenBucket signals_of_counted;       ///< Deliveries of signals; what others send apart, so
    TokenBucket signals_of_others;        ///< that those whom not all see hold up nobody.

    /// How many changes are kept to look them up; beyond, whole lists are compared.
    static constexpr std::size_t kChanges = 4096;

private:
    struct Part {
        std::uint32_t index = 0;
        std::uint64_t sequence = 0;
        std::size_t counted = 0;
        bool listed = true;
        bool broken = false;
        bool lacking = false;  ///< Its list came while counts stood for lists.
    };

    [[nodiscard]] Part& part_of(const NodeId& node);
    bool put(std::uint32_t node, const RoomMember& member, bool ahead);
    void take_word(std::uint32_t slot, std::uint32_t node, bool ahead);
    void remove_absent(std::uint32_t node, const std::vector<RoomMember>& present);
    void log(std::uint32_t slot, bool ahead);
    void refresh_meta(Member& member, bool ahead);
    void release(std::uint32_t slot);
    void drop_members();
    /// Whether what the nodes say is lists or counts. True: it is the other than before.
    bool weigh();
    void untell(RoomViewer& viewer);
    [[nodiscard]] std::vector<std::uint32_t> candidates(const RoomViewer& viewer) const;
    void sort_by_user(std::vector<std::uint32_t>& slots) const;

    RoomId room_;
    RoomSubjects& subjects_;
    std::map<NodeId, Part> parts_;
    std::uint32_t next_part_ = 0;
    bool large_ = false;
    std::vector<Member> members_;
    std::vector<std::uint32_t> free_;
    boost::unordered_flat_map<std::string_view, std::uint32_t> by_user_;
    std::vector<std::uint32_t> sorted_;  ///< Slots by user id; empty: to be made.
    std::uint64_t change_ = 0;
    std::uint64_t first_change_ = 1;  ///< Of changes_.
    std::vector<std::uint32_t> changes_;
    std::vector<std::uint32_t> gone_;
    std::uint64_t additions_ = 0;
    std::vector<RoomViewer> viewers_;
    boost::unordered_flat_map<std::uint32_t, std::size_t> by_connection_;
};

}  // namespace presence
