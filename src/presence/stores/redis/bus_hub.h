#pragma once

#include "presence/base/task.h"
#include "presence/stores/redis/codec.h"
#include "presence/stores/redis/probes.h"
#include "presence/stores/redis/redis_bus.h"
#include "presence/stores/redis/subscriber.h"

#include <boost/unordered/unordered_flat_map.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace presence {

/// The node's part of the bus: who watches whom, on the store's thread. For redis_bus.cc.
class RedisBus::Hub final : public std::enable_shared_from_this<Hub>,
                            private redis::Subscriber::Sink,
                            private redis::Probes::Sink,
                            private redis::Client::Listener {
public:
    using Subscribed = Completion<Result<bool>>::Done;

    Hub(redis::Client& client, const redis::Keys& keys, redis::Lives& lives,
        std::vector<Scheduler*> threads, std::uint64_t seed);

    // Any thread.
    RedisBusCounters counters;
    const redis::Keys& keys;
    const std::vector<Scheduler*> threads;
    [[nodiscard]] redis::StoreThread& store() const { return client_.thread(); }

    /// Where to deliver, one an endpoint thread; called on that thread. Set before `begin`.
    struct Outlet {
        std::function<void(const PresenceEventRef&)> presence;
        std::function<void(const redis::ProfileChanged&)> profile;
        std::function<void(const SignalRef&)> signal;
        std::function<void(const PartitionSet&)> gap;
        std::function<void(const SessionTaken&)> taken;
        std::function<void(const EndSet&)> end_set;
        std::function<void(const SessionStays&)> stays;
        std::function<void(const RoomStatementRef&)> room;
        std::function<void(const RoomId&)> room_asked;
        std::function<void(const SurveyQuestionRef&)> survey;
        std::function<void(const SurveyAnswerRef&)> survey_answer;
    };
    std::vector<Outlet> outlets;

    // The store's thread.
    void begin();
    void end();
    void subscribe(std::size_t thread, const std::vector<UserId>& users, Subscribed done);
    void unsubscribe(std::size_t thread, const UserId& user);
    void publish(PresenceEventRef event, std::string message);
    void publish_profile(redis::ProfileChanged change);
    /// What could not be sent, until it is: in bus_hub_unsent.cc.
    void keep_unsent(PresenceEventRef event);
    void keep_unsent(const redis::ProfileChanged& change);
    void publish_signal(SignalRef signal);
    void publish_here(const PresenceEventRef& event);
    void publish_taken(SessionTaken taken);
    void publish_end_set(const EndSet& set);
    void publish_stays(const SessionStays& stays);
    void subscribe_room(std::size_t thread, RoomId room, Subscribed done);
    void unsubscribe_room(std::size_t thread, const RoomId& room);
    /// What is about a room goes over the channel of its partition, which every node hears.
    void publish_about_room(const RoomId& room, std::string message,
                            std::function<void(Outlet&)> here);
    void set_node(NodeId node);
    /// Asks in which life each partition is.
    void look_at_lives();
    /// Over the channel of a partition, as every node hears all of them.
    void ask_nodes(const SurveyQuestion& question, Completion<Result<std::size_t>>::Done done);
    void answer_node(const SurveyAnswer& answer);

private:
    struct Interest {
        std::uint64_t threads = 0;  ///< One bit each; 0: lingers.
    };
    /// One call of subscribe that waits for channels.
    struct Waiter {
        std::size_t thread = 0;
        std::vector<std::string> channels;
        std::size_t missing = 0;
        std::optional<Subscribed> done;
        Scheduler::TimerId timer{};
    };

    void on_message(std::string_view channel, std::string_view payload) override;
    void on_in_force(std::string_view channel) override;
    void on_healed(std::uint32_t partition) override;
    void send_unsent();
    void send_unsent_soon();
    void lose_unsent(const UserId& user);
    [[nodiscard]] bool drop_unsent_rules();
    void send_probe(std::uint32_t partition) override;
    void on_silence(std::uint32_t partition) override;
    void on_servers_changed() override;

    /// One who waits for a subscription; null: the bus is closed, and they were told so.
    [[nodiscard]] std::shared_ptr<Waiter> wait(std::size_t thread, Subscribed done);
    void answer(Waiter& waiter, Result<bool> result);
    void give_up(const std::shared_ptr<Waiter>& waiter);
    /// Publishes once; `not_sent` is called where the store did not take it.
    void try_send(std::string channel, std::string message, UniqueFunction<void()> not_sent);
    /// The same for what this node then delivers by itself: `not_sent` finds who is here.
    void send(std::string channel, std::string message, UniqueFunction<void()> not_sent);
    /// Tells a node until one hears it, for the `tells`th time now.
    void tell_holder(NodeId holder, std::string message, unsigned tells);
    void signal_nodes(const SignalRef& signal, std::string_view head);
    void deliver_home(const UserId& user, UniqueFunction<void(Outlet&)> what);
    void distribute(const PresenceEventRef& event);
    void distribute_room(const RoomId& room, const std::function<void(Outlet&)>& what);
    [[nodiscard]] std::uint32_t partition_of(const RoomId& room) const {
        return keys.partition_of(UserId(room.text));
    }
    void deliver_soon(std::size_t thread, UniqueFunction<void(Outlet&)> what);
    void flush();
    void drop_lingering();
    /// The partition is in that life; empty: not said.
    void note_life(std::uint32_t partition, const std::string& incarnation);
    /// The partition has a new life or another server.
    void shake(std::uint32_t partition);
    void gather();
    void tell_gathered();

    redis::Client& client_;
    redis::Lives& lives_;
    std::optional<redis::Subscriber> subscriber_;
    std::optional<redis::Probes> probes_;
    std::uint64_t seed_;
    NodeId node_;  ///< None yet, or alone.
    std::size_t to_tell_again_ = 0;
    /// The newest of each user that nobody but this node has heard.
    boost::unordered_flat_map<UserId, PresenceEventRef, IdHash, IdEqual> unsent_events_;
    boost::unordered_flat_map<UserId, std::uint64_t, IdHash, IdEqual> unsent_profiles_;
    PartitionSet unsent_lost_;  ///< Of which something was given up: others are to read all anew.
    bool unsent_asked_ = false;
    Scheduler::TimerId unsent_timer_{};
    boost::unordered_flat_map<UserId, Interest, IdHash, IdEqual> interests_;
    boost::unordered_flat_map<std::string, std::vector<std::shared_ptr<Waiter>>> waiting_;
    boost::unordered_flat_map<RoomId, std::uint64_t, IdHash, IdEqual> rooms_;  ///< Threads.
    std::deque<std::pair<MonoTime, UserId>> lingering_;
    std::vector<std::vector<UniqueFunction<void(Outlet&)>>> deliveries_;  ///< By thread.
    bool flush_asked_ = false;
    // To be told soon, as many partitions change together.
    PartitionSet healed_;
    std::size_t newly_shaken_ = 0;  ///< Not yet logged.
    bool gathering_ = false;
    std::vector<std::string> run_ids_;  ///< Of the master of each partition; empty: not known yet.
    Scheduler::TimerId linger_timer_{};
};

}  // namespace presence
