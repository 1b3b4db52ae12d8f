#pragma once

#include "presence/base/clock.h"
#include "presence/base/home_thread.h"
#include "presence/base/scheduler.h"
#include "presence/base/task.h"
#include "presence/base/unique_function.h"
#include "presence/core/counters.h"
#include "presence/core/homes.h"
#include "presence/core/limits.h"
#include "presence/core/node_view.h"
#include "presence/core/presence_service.h"
#include "presence/core/room_keeper.h"
#include "presence/core/room_replica.h"
#include "presence/core/room_stays.h"
#include "presence/core/room_subjects.h"
#include "presence/core/room_subscriptions.h"
#include "presence/core/slot_pool.h"
#include "presence/core/snapshot.h"
#include "presence/core/watch_desk.h"
#include "presence/ports/presence_bus.h"

#include <boost/unordered/unordered_flat_map.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace presence {

/// One member as one viewer may see it.
struct RoomLine {
    const RoomSubject* subject = nullptr;
    Verdict verdict;
    const std::string* meta = nullptr;
    /// Where its bytes are kept once they are made; null: they are this viewer's alone.
    std::string* encoded = nullptr;
};

/// What a connection is to be told about a room.
struct RoomNews {
    const RoomId& room;
    bool whole = false;   ///< A `room`; else a `roomUpdate`.
    bool listed = false;  ///< With `whole`: there is a list, which may be empty.
    bool exact = true;
    std::size_t count = 0;
    std::vector<RoomLine> joined;  ///< With `whole`: all.
    std::vector<RoomLine> changed;
    std::vector<const UserId*> left;
    std::optional<std::uint64_t> answers;  ///< The request that it answers.
};

/// Bytes once made, for all who are told the same. Filled by the sink.
using RoomFrames = std::vector<std::shared_ptr<const std::string>>;

/// Where news of rooms goes: the gateway of the thread. A call may end in drop_connection, but in
/// no other call to the desk.
class RoomSink {
public:
    virtual ~RoomSink() = default;
    /// Whether it is still that connection, and no later one in its place.
    [[nodiscard]] virtual bool is_open(SlotId connection) = 0;
    /// False: it does not read, or asked for nothing now.
    [[nodiscard]] virtual bool can_take(std::uint32_t connection) = 0;
    virtual void deliver_room(std::uint32_t connection, const RoomNews& news,
                              RoomFrames& frames) = 0;
    virtual void deliver_room_signal(std::uint32_t connection, const SignalMessage& signal,
                                     RoomFrames& frames) = 0;
};

/// A request to join, PROTOCOL.md section 1.
struct RoomJoin {
    SlotId connection;
    SessionId session;
    UserId user;
    RoomId room;
    std::string meta;
    bool observe = false;  ///< Is not in the room.
    bool hears = true;     ///< Is told of what happens in it.
    std::optional<std::uint64_t> request;
};

/// Rooms on one thread: the stays of the sessions that live here, what the connections here hear,
/// and, for the rooms whose home this is, the keeper (docs/adr/0004-rooms.md).
///
///     stays (home of the user) --comings and goings--> keeper (home of the room)
///     keeper --one statement a window--> replicas (threads with viewers) --> connections
///
/// One thread; other threads are reached by messages.
class RoomDesk final : public SessionListener, public WatchNeighbour {
public:
    struct Parts {
        Scheduler& scheduler;
        const Clock& clock;
        PresenceBus& bus;
        SnapshotReader& reader;
        WatchDesk& watches;
        const NodeView& nodes;
        const Limits& limits;
        CoreCounters& counters;
        WebhookEvents* webhooks = nullptr;  ///< Null: nobody is told.
    };
    explicit RoomDesk(const Parts& parts);
    ~RoomDesk() override;

    void set_sink(RoomSink* sink) { sink_ = sink; }
    /// All desks of the node by thread, and which of them this one is. Before anything else; a
    /// desk that is told nothing is the only one.
    void connect(std::vector<RoomDesk*> peers, std::vector<Scheduler*> threads);
    /// How the keeper of this thread asks other nodes. Empty: nothing is shared.
    void set_ask_others(RoomKeeper::AskOthers ask) { keeper_.set_ask_others(std::move(ask)); }

    // -- Requests --------------------------------------------------------------------------------
    /// Joins, or joins anew, and delivers the `room` that answers it before it completes.
    /// @retval ErrorCode::limit_exceeded  Nothing was changed.
    /// @retval ErrorCode::unavailable     Likewise.
    [[nodiscard]] Task<Result<bool>> join(RoomJoin join);
    /// To leave a room that one is not in is fine.
    [[nodiscard]] Task<bool> leave(std::uint32_t connection, SessionId session, UserId user,
                                   RoomId room);
    /// Leaves all rooms of the connection and its session that `may_stay` does not allow.
    void leave_unless(std::uint32_t connection, const SessionId& session, const UserId& user,
                      const std::function<bool(const RoomId&)>& may_stay);
    /// A session that was resumed here was in these rooms at the node that had it, and still is
    /// (RULINGS 36). What its client has said here since stands.
    void take_over(const SessionStays& stays);
    [[nodiscard]] bool is_member(const UserId& user, const RoomId& room,
                                 const SessionId& session) const {
        return stays_.contains(user, room, session);
    }
    /// Whether the connection is told of what happens in the room.
    [[nodiscard]] bool hears(std::uint32_t connection, const RoomId& room) const;
    /// Whether the user is in the count that everyone sees of the rooms that it is in.
    [[nodiscard]] bool is_counted(const UserId& user) const;

    // -- What happens to connections -------------------------------------------------------------
    void drop_connection(std::uint32_t connection);
    /// It reads again: whole rooms in the place of what it missed.
    void catch_up(std::uint32_t connection);
    /// Whole rooms, missed anything or not (RULINGS 36).
    void refresh(std::uint32_t connection);

    // -- News ------------------------------------------------------------------------------------
    void on_presence(const PresenceEventRef& event);
    /// `viewing` are the user's connections on this thread.
    void reconsider(const UserId& user, std::span<const std::uint32_t> viewing);
    void on_room(const RoomStatementRef& statement);
    void on_room_asked(const RoomId& room) { keeper_.on_room_asked(room); }
    void on_signal(const SignalRef& signal);
    /// The node is dead: who was in rooms by it alone is gone.
    void forget_node(const NodeId& node);
    /// News may have been lost, or this node has another name: all rooms are asked for and stated
    /// again, and all that is listed is looked at and judged again, in paced rounds.
    void look_at_all_again();

    // -- SessionListener, WatchNeighbour ---------------------------------------------------------
    void on_session_ended(const UserId& user, const SessionId& session) override;
    void on_session_moved(const UserId& user, const SessionId& session, NodeId taker) override;
    [[nodiscard]] bool follows(const UserId& user) const override {
        return subjects_.find(user) != nullptr;
    }
    void on_unwatched(std::uint32_t connection, const UserId& user) override;

    /// What leaves for the viewer of a line.
    [[nodiscard]] PresenceView view(const RoomLine& line) const;

    [[nodiscard]] const RoomKeeper& keeper() const noexcept { return keeper_; }
    [[nodiscard]] std::size_t replica_count() const noexcept { return replicas_.size(); }
    [[nodiscard]] std::size_t subject_count() const noexcept { return subjects_.size(); }
    [[nodiscard]] std::size_t stay_count() const noexcept { return stays_.user_count(); }
    [[nodiscard]] std::size_t subscription_count() const noexcept { return subscriptions_.size(); }

    /// What happens to one viewer within that time is told at once.
    static constexpr Millis kQuiet{1000};
    /// A session that has moved stays in its rooms by this node for that long, so that nobody sees
    /// it leave before the other node has said that it is there.
    static constexpr Millis kHandover{1000};

private:
    using Replica = std::shared_ptr<RoomReplica>;

    /// One who joins, and what was found for it.
    struct Arrival {
        RoomViewer viewer;
        std::size_t counted = 0;      ///< Of a large room.
        std::uint64_t epoch = 0;      ///< rules_epoch_ when the look was begun, and
        std::uint64_t additions = 0;  ///< RoomReplica::additions.
    };

    /// Keeps a replica while a flow works on it.
    class Pin {
    public:
        Pin(RoomDesk& desk, Replica replica) : desk_(desk), replica_(std::move(replica)) {
            ++replica_->pins;
        }
        Pin(const Pin&) = delete;
        Pin& operator=(const Pin&) = delete;
        ~Pin() {
            --replica_->pins;
            desk_.close_if_unheard(replica_);
        }
        [[nodiscard]] RoomReplica& operator*() const noexcept { return *replica_; }
        [[nodiscard]] RoomReplica* operator->() const noexcept { return replica_.get(); }
        [[nodiscard]] const Replica& replica() const noexcept { return replica_; }

    private:
        RoomDesk& desk_;
        Replica replica_;
    };

    [[nodiscard]] static Error session_over() {
        return {ErrorCode::unavailable, "the session is over", 0, 0};
    }

    // Membership, in room_desk.cc
    [[nodiscard]] std::size_t room_of_thread(const RoomId& room) const {
        return home_thread(room, threads_.size());
    }
    /// Runs `work(keeper)` on the room's home, after all that was sent there before.
    void at_keeper(const RoomId& room, UniqueFunction<void(RoomKeeper&)> work);
    /// Tells the room's keeper how the user stands to it now.
    void report(const UserId& user, const RoomId& room);
    void report_all(const UserId& user);
    void note_left(const SessionId& session, const RoomId& room);
    [[nodiscard]] bool has_left(const SessionId& session, const RoomStay& stay) const;
    void leave_now(const UserId& user, const RoomId& room, const SessionId& session);
    void stay_ended(const UserId& user);
    Detached settle_in(UserId user);
    [[nodiscard]] std::optional<RoomMember> member_of(const UserId& user, const RoomId& room) const;
    [[nodiscard]] Result<bool> fits(const RoomJoin& join) const;
    /// The connection that asked has not ended, as it does with its session.
    [[nodiscard]] bool still_there(const RoomJoin& join) const {
        return sink_ != nullptr && sink_->is_open(join.connection);
    }
    void undo(const RoomJoin& join, const std::optional<RoomStays::Stay>& before);
    [[nodiscard]] Task<Result<RoomPicture>> ask_keeper(RoomId room,
                                                       std::optional<RoomMember> member,
                                                       RoomNeed need, bool hold);
    /// Follows one who is in rooms by sessions of here. While that is under way, and once it is
    /// done, it is true at once.
    [[nodiscard]] Task<Result<bool>> follow_self(UserId user);
    [[nodiscard]] Task<Result<bool>> look_at_self(UserId user);
    void refresh_self(const UserId& user) { refresh_selves({user}); }

    // Replicas, in room_replicas.cc
    [[nodiscard]] Replica open_replica(const RoomId& room);
    [[nodiscard]] Replica find_replica(const RoomId& room) const;
    void close_if_unheard(const Replica& replica);
    [[nodiscard]] Task<Result<bool>> bring_up(const Replica& replica, const RoomJoin& join,
                                              std::size_t& counted);
    void load(RoomReplica& replica, const RoomPicture& picture);
    void handle(const Replica& replica, const RoomReplica::Applied& applied);
    Detached bring_lists_back(Replica replica);
    void stop_hearing(std::uint32_t connection, const RoomId& room);
    void sweep_subjects();

    // Looks, in room_looks.cc
    [[nodiscard]] Task<Result<bool>> follow(std::vector<UserId> users);
    [[nodiscard]] Task<Result<bool>> look_as(const Replica& replica, RoomViewer& viewer);
    /// Looks at the room as one who joins it, and asks other nodes what they have of it, unless it
    /// is known here by somebody whom the joiner sees.
    [[nodiscard]] Task<Result<bool>> look_around(const Replica& replica, Arrival& arrival);
    [[nodiscard]] Task<Result<bool>> look_anew(const Replica& replica, Arrival& arrival);
    Detached judge(Replica replica, std::vector<UserId> users);
    Detached judge_again(Replica replica, std::uint32_t connection);
    /// A look failed, or could not tell all: it is made again, with others of the room.
    void unsettle(const Replica& replica, const std::vector<UserId>& users);
    void unsettle(const Replica& replica, std::uint32_t viewer);
    void file_unsettled(const Replica& replica);
    /// What a look found of the member.
    void take_found(const RoomReplica& replica, std::uint32_t slot, const Crowd& crowd,
                    std::size_t place);
    void take_record(RoomSubject& subject, const UserRecordRef& record);
    void take_unreachable(RoomSubject& subject, bool counts);
    void changed(RoomSubject& subject, bool shown, bool own);
    void look_again_later(RoomSubject& subject, Millis untold);
    Detached look_again(UserId user);

    // Looks at what may be outdated, in room_healing.cc
    void file_looks();
    void look_at_some();
    static void void_verdicts(RoomReplica& replica, std::uint64_t turn);
    Detached refresh_selves(std::vector<UserId> users);
    /// What a look begun at `turn` found of a user who is in rooms from here.
    void take_self(RoomSubject& subject, const Seen& seen, std::uint64_t turn);
    /// The user's own rules could not be read: by what counts go is not known before they are.
    void look_at_self_later(const UserId& user);
    /// What the node said of the room up to `sequence` is void.
    void forget_word(const RoomId& room, const NodeId& node, std::uint64_t sequence);

    // Deliveries, in room_delivery.cc
    void arm(const Replica& replica);
    void deliver_round(const Replica& replica);
    bool deliver_counts(RoomReplica& replica);
    struct Group;
    bool deliver_delta(RoomReplica& replica, std::uint32_t connection, std::vector<Group>& groups);
    void send_whole(RoomReplica& replica, RoomViewer& viewer, std::optional<std::uint64_t> request,
                    std::optional<std::size_t> counted);
    void drop_watched(const RoomReplica& replica, const RoomViewer& viewer, RoomDelta& delta) const;
    [[nodiscard]] RoomLine line_for(RoomReplica& replica, const RoomViewer& viewer,
                                    std::uint32_t slot) const;
    [[nodiscard]] RoomNews frame_of(const RoomReplica& replica) const;
    Detached judge_signal(Replica replica, SignalRef signal);
    void deliver_signal(RoomReplica& replica, const SignalMessage& signal,
                        std::span<const std::uint32_t> connections);

    Parts parts_;
    RoomSink* sink_ = nullptr;
    std::vector<RoomDesk*> peers_;
    std::vector<Scheduler*> threads_;
    RoomSubscriptions subscriptions_;
    RoomKeeper keeper_;
    RoomStays stays_;
    RoomSubjects subjects_;
    boost::unordered_flat_map<std::string_view, Replica> replicas_;  ///< Keys are within them.
    boost::unordered_flat_map<std::uint32_t, std::vector<Replica>> by_connection_;
    /// Sessions that others took over, until they are no longer in their rooms by this node.
    std::set<SessionId> moved_;
    /// Rooms that a session left lately: its last node may not have said yet that it was in them.
    /// At most kMostLeft: a session whose leaving is forgotten may come back into the room by a
    /// late word, and leaves it with its end.
    struct Left {
        MonoTime noted;
        WallTime at;
    };
    static constexpr std::size_t kMostLeft = 10'000;
    std::map<std::pair<SessionId, RoomId>, Left> left_early_;
    std::deque<std::pair<std::pair<SessionId, RoomId>, MonoTime>> left_order_;
    std::vector<Replica> doubted_;       ///< To be looked at again; each once.
    std::vector<UserId> doubted_users_;  ///< Likewise users who are in rooms by sessions of here.
    std::set<UserId> unread_selves_;     ///< Of look_at_self_later.
    bool looking_ = false;               ///< A round of it is filed.
    /// Grows with each change of the rules of somebody who is followed here or has connections.
    std::uint64_t rules_epoch_ = 0;
};

}  // namespace presence
