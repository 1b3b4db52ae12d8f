#pragma once

#include "presence/base/scheduler.h"
#include "presence/ports/presence_bus.h"

#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace presence::testing {

/// A bus between made-up nodes in virtual time, one endpoint a node. It can be cut off from some
/// of them, and loses what is sent meanwhile, as pub/sub does.
class JoinedBus {
public:
    explicit JoinedBus(Millis delay = Millis{1}) : delay_(delay) {}

    class Endpoint final : public PresenceBus {
    public:
        Endpoint(JoinedBus& bus, Scheduler& scheduler) : bus_(bus), scheduler_(scheduler) {
            bus_.endpoints_.insert(this);
        }
        ~Endpoint() override { bus_.endpoints_.erase(this); }

        /// False: nothing goes out or comes in, and whoever asks is told so.
        void set_reachable(bool reachable) { reachable_ = reachable; }
        void set_node(NodeId node) { node_ = node; }

        void set_receiver(Receiver* receiver) override { receiver_ = receiver; }
        Task<Result<bool>> subscribe(std::vector<UserId> users) override {
            subscribed_.insert(users.begin(), users.end());
            co_return true;
        }
        void unsubscribe(const UserId& user) override { subscribed_.erase(user); }
        void publish(PresenceEventRef event) override {
            to_all([event](Endpoint& other) { other.take(event); });
        }
        void publish_here(PresenceEventRef event) override {
            scheduler_.post([this, event = std::move(event)] { take(event); });
        }
        void publish_profile_changed(const UserId& user, std::uint64_t revision) override {
            to_all([user, revision](Endpoint& other) {
                other.receiver_->on_profile_changed(user, revision);
            });
        }
        void publish_signal(SignalRef signal) override {
            to_all([signal](Endpoint& other) { other.receiver_->on_signal(signal); });
        }
        Task<Result<bool>> subscribe_room(RoomId room) override {
            rooms_.insert(std::move(room));
            co_return true;
        }
        void unsubscribe_room(const RoomId& room) override { rooms_.erase(room); }
        void publish_room(RoomStatementRef statement) override {
            to_all([statement](Endpoint& other) {
                if (other.rooms_.contains(statement->room)) {
                    other.receiver_->on_room(statement);
                }
            });
        }
        void ask_room(const RoomId& room) override {
            to_all([room](Endpoint& other) {
                if (other.rooms_.contains(room)) {
                    other.receiver_->on_room_asked(room);
                }
            });
        }
        Task<Result<std::size_t>> ask_nodes(SurveyQuestionRef question) override {
            if (!reachable_) {
                co_return Error{ErrorCode::unavailable, "the bus is away", 0, 0};
            }
            std::size_t heard = 0;
            for (Endpoint* const other : bus_.endpoints_) {
                heard += other != this && other->reachable_ && other->receiver_ != nullptr ? 1 : 0;
            }
            to_all([this, question](Endpoint& other) {
                if (&other != this) {
                    other.receiver_->on_survey(question);
                }
            });
            co_return heard;
        }
        void answer_node(SurveyAnswerRef answer) override {
            to_all([answer](Endpoint& other) {
                if (other.node_ == answer->to) {
                    other.receiver_->on_survey_answer(answer);
                }
            });
        }
        void publish_session_taken(SessionTaken taken) override {
            to_all([taken](Endpoint& other) {
                if (other.node_ == taken.holder) {
                    other.receiver_->on_session_taken(taken);
                }
            });
        }

        void publish_end_set(EndSet set) override {
            to_all([set](Endpoint& other) {
                if (other.node_ == set.holder) {
                    other.receiver_->on_end_set(set);
                }
            });
        }
        void publish_session_stays(SessionStays stays) override {
            to_all([stays](Endpoint& other) {
                if (other.node_ == stays.to) {
                    other.receiver_->on_session_stays(stays);
                }
            });
        }

    private:
        void take(const PresenceEventRef& event) {
            if (receiver_ != nullptr && subscribed_.contains(event->user)) {
                receiver_->on_presence(event);
            }
        }
        template <class Tell>
        void to_all(Tell tell) {
            for (Endpoint* const other : bus_.endpoints_) {
                if (other != this && (!reachable_ || !other->reachable_)) {
                    continue;
                }
                other->scheduler_.after(bus_.delay_, [&bus = bus_, other, tell] {
                    if (bus.endpoints_.contains(other) && other->receiver_ != nullptr) {
                        tell(*other);
                    }
                });
            }
        }

        JoinedBus& bus_;
        Scheduler& scheduler_;
        Receiver* receiver_ = nullptr;
        std::set<UserId> subscribed_;
        std::set<RoomId> rooms_;
        NodeId node_;
        bool reachable_ = true;
    };

private:
    Millis delay_;
    std::set<Endpoint*> endpoints_;
};

}  // namespace presence::testing
