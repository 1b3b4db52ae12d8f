#pragma once

#include "presence/base/result.h"
#include "presence/base/task.h"
#include "presence/model/end_reason.h"
#include "presence/model/presence.h"
#include "presence/model/room.h"
#include "presence/model/survey.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace presence {

/// A short-lived message from one user's session to a user or a room: typing and the like. Never
/// stored.
struct SignalMessage {
    UserId from;
    SessionId from_session;      ///< Its connection does not get it back.
    UserId to;                   ///< Empty: to all who hear `room`.
    std::optional<RoomId> room;  ///< With `to`: only to those devices of the user that hear it.
    bool from_counted = false;   ///< With `room`: the sender is in the count that everyone sees.
    std::string kind;
    bool active = true;
    std::string data;  ///< JSON text as the sender gave it; empty: none.
};

using SignalRef = std::shared_ptr<const SignalMessage>;

/// A session that was taken over or ended by a node that does not hold it. The record has it
/// already; the holder has a connection to close. One that is lost is found out by the holder's
/// next commit or check.
struct SessionTaken {
    NodeId holder;
    UserId user;
    SessionId session;
    Epoch epoch;  ///< Of the session that the holder has: a later one is not meant.
    EndReason reason = EndReason::replaced;
    NodeId taker{};  ///< With `replaced`: who goes on with it.
};

/// What stands of a user was given an end by a node that holds none of the user's sessions, or not
/// all: `holder`, which holds some, is to see to it, too (RULINGS 31). One that is lost is found
/// out by the holder's check.
struct EndSet {
    NodeId holder;
    UserId user;
};

/// In the place of a revision: all about the user was erased.
inline constexpr std::uint64_t kErased = ~std::uint64_t{0};

/// Carries changes to the gateways that asked for them. Delivery is at most once and in order per
/// user, and per node and room; who needs certainty reads the store after subscribing.
///
/// One endpoint a gateway thread; calls and call-backs are on that thread. Adapters:
/// stores/memory (between the threads of one process), stores/redis (also between nodes). Each
/// passes tests/contract/presence_bus_contract.h.
class PresenceBus {
public:
    class Receiver {
    public:
        virtual ~Receiver() = default;
        /// A user subscribed to has changed.
        virtual void on_presence(const PresenceEventRef& event) = 0;
        /// Rules, contacts, blocks or revocation of `user` have changed in the database; copies
        /// older than `revision` are void; kErased: the user was erased. Reaches every endpoint
        /// without a subscription.
        virtual void on_profile_changed(const UserId& user, std::uint64_t revision) = 0;
        /// A signal for a user whose sessions this thread may hold, or for a room subscribed to.
        virtual void on_signal(const SignalRef& signal) = 0;
        /// A session of a user whose home this is has gone elsewhere.
        virtual void on_session_taken(const SessionTaken& taken) = 0;
        /// Another node has set an end to something of a user whose home this is.
        virtual void on_end_set(const EndSet& set) = 0;
        /// A session that a user whose home this is has resumed here was in these rooms elsewhere.
        virtual void on_session_stays(const SessionStays& stays) = 0;
        /// A node has said who is in a room subscribed to. In the order in which the node said it.
        virtual void on_room(const RoomStatementRef& statement) = 0;
        /// Somebody wants a full statement from each node that has members in the room.
        virtual void on_room_asked(const RoomId& room) = 0;
        /// Another node asks this one. Reaches the first endpoint of a node alone, as does the
        /// answer to a question of this node.
        virtual void on_survey(const SurveyQuestionRef& question) = 0;
        virtual void on_survey_answer(const SurveyAnswerRef& answer) = 0;
    };

    virtual ~PresenceBus() = default;

    /// Whom to call; null to stop being called.
    virtual void set_receiver(Receiver* receiver) = 0;

    /// Asks for the changes of `users`. When it completes, the subscription is in force: a commit
    /// that a later read does not show will be delivered.
    [[nodiscard]] virtual Task<Result<bool>> subscribe(std::vector<UserId> users) = 0;
    virtual void unsubscribe(const UserId& user) = 0;

    /// Tells the subscribers of `event->user`, this endpoint included if it subscribed.
    virtual void publish(PresenceEventRef event) = 0;
    /// Tells only those on this node: while it may not speak for its sessions, or nobody hears it.
    virtual void publish_here(PresenceEventRef event) = 0;
    virtual void publish_profile_changed(const UserId& user, std::uint64_t revision) = 0;
    virtual void publish_signal(SignalRef signal) = 0;
    /// Tells the home thread of the user on the node that held the session.
    virtual void publish_session_taken(SessionTaken taken) = 0;
    /// Tells the home thread of the user on the node `set.holder`.
    virtual void publish_end_set(EndSet set) = 0;
    /// Tells the home thread of the user on the node `stays.to`.
    virtual void publish_session_stays(SessionStays stays) = 0;

    /// Asks for statements about `room`, questions and signals to it. When it completes, the
    /// subscription is in force: what any endpoint publishes afterwards is delivered. What stands
    /// already is not: ask_room.
    [[nodiscard]] virtual Task<Result<bool>> subscribe_room(RoomId room) = 0;
    virtual void unsubscribe_room(const RoomId& room) = 0;

    /// Tells all endpoints of all nodes that subscribed to the room, this one included. Once a node
    /// crosses the wire, however many of its endpoints subscribed.
    virtual void publish_room(RoomStatementRef statement) = 0;
    /// Likewise: on_room_asked.
    virtual void ask_room(const RoomId& room) = 0;

    /// Puts a question to all other nodes: on_survey. How many hear it; an answer may come before
    /// this completes.
    /// @retval ErrorCode::unavailable  The bus is down, and nobody was asked.
    [[nodiscard]] virtual Task<Result<std::size_t>> ask_nodes(SurveyQuestionRef question) = 0;
    /// To the node `answer->to`: on_survey_answer.
    virtual void answer_node(SurveyAnswerRef answer) = 0;
};

}  // namespace presence
