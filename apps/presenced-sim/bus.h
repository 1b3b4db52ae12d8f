#pragma once

#include "presence/base/random.h"
#include "presence/ports/presence_bus.h"

#include "process.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace presence::sim {

/// The pub/sub of the shared store between the processes: real bytes, at most once, in the order
/// in which the store took them. What is said while a process is deaf is lost to it, and it is told
/// so once it hears again. What a process cannot say, the store being away, is lost, but for
/// changes of presences and rules, which it says when it can, and for word of a takeover that its
/// holder did not hear, which it repeats for a while: all as in stores/redis.
class Bus {
public:
    Bus(VirtualScheduler& scheduler, std::uint64_t seed) : scheduler_(scheduler), random_(seed) {}

    class Endpoint final : public PresenceBus {
    public:
        Endpoint(Bus& bus, ProcessScheduler& process) : bus_(bus), process_(process) {
            bus_.endpoints_.push_back(this);
        }
        ~Endpoint() override { std::erase(bus_.endpoints_, this); }

        void set_node(NodeId node) { node_ = node; }
        /// Called on the process when it hears again.
        void set_gap_handler(std::function<void()> handler) { on_gap_ = std::move(handler); }
        /// Hears nothing from now on. What it says goes with its commands, and so still out.
        void lose() { deaf_ = true; }
        /// No command of it reaches the store.
        void set_cut(bool cut) { cut_ = cut; }
        void heal();

        void set_receiver(Receiver* receiver) override { receiver_ = receiver; }
        Task<Result<bool>> subscribe(std::vector<UserId> users) override;
        void unsubscribe(const UserId& user) override { users_.erase(user); }
        void publish(PresenceEventRef event) override;
        void publish_here(PresenceEventRef event) override;
        void publish_profile_changed(const UserId& user, std::uint64_t revision) override;
        void publish_signal(SignalRef signal) override;
        void publish_session_taken(SessionTaken taken) override;
        void publish_end_set(EndSet set) override;
        void publish_session_stays(SessionStays stays) override;
        Task<Result<bool>> subscribe_room(RoomId room) override;
        void unsubscribe_room(const RoomId& room) override { rooms_.erase(room); }
        void publish_room(RoomStatementRef statement) override;
        void ask_room(const RoomId& room) override;
        Task<Result<std::size_t>> ask_nodes(SurveyQuestionRef question) override;
        void answer_node(SurveyAnswerRef answer) override;

        [[nodiscard]] std::size_t subscriptions() const { return users_.size() + rooms_.size(); }

    private:
        friend class Bus;
        void take(const std::string& bytes);
        /// False: it could not be said.
        bool to_others(std::string bytes);
        void keep_unsent(const PresenceEventRef& event);
        void send_unsent_soon();
        void send_unsent();
        void tell_holder(SessionTaken taken, int tells);

        Bus& bus_;
        ProcessScheduler& process_;
        Receiver* receiver_ = nullptr;
        std::set<UserId> users_;
        std::set<RoomId> rooms_;
        NodeId node_;
        bool deaf_ = false;
        bool cut_ = false;
        std::map<UserId, PresenceEventRef> unsent_events_;
        std::map<UserId, std::uint64_t> unsent_profiles_;
        bool unsent_asked_ = false;
        MonoTime last_arrival_;
        std::function<void()> on_gap_;
    };

    void set_up(bool up) { up_ = up; }
    void set_slowest(Millis slowest) { slowest_ = slowest; }
    /// Each message takes as long as any other, and a subscription no time.
    void set_even(bool even) { even_ = even; }

private:
    [[nodiscard]] Millis wait();
    [[nodiscard]] bool knows(const Endpoint* endpoint) const {
        return std::ranges::find(endpoints_, endpoint) != endpoints_.end();
    }

    VirtualScheduler& scheduler_;
    SeededRandom random_;
    std::vector<Endpoint*> endpoints_;  ///< In the order in which they were made.
    bool up_ = true;
    Millis slowest_{3};
    bool even_ = false;
};

}  // namespace presence::sim
