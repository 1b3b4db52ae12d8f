// What goes over the channels of single nodes: sessions that others took, signals, and questions
// that all nodes answer.

#include "presence/stores/redis/bus_hub.h"
#include "presence/stores/redis/slots.h"

#include <algorithm>

namespace presence {

using redis::Command;
using redis::Reply;

namespace {
/// A holder that does not hear is told again after that long, twice as long each time: over 7 s,
/// within which a lost subscription is found out and healed. Then its own check has to find out.
constexpr Millis kTellAgain{250};
constexpr unsigned kTells = 6;
/// Words that wait to be told again; over it they are given up. Some hundred bytes each.
constexpr std::size_t kMostToTellAgain = 10'000;
}  // namespace

void RedisBus::Hub::set_node(NodeId node) {
    if (node == node_ || !subscriber_) {
        return;
    }
    // Under its old name this node spoke last before others settled its death.
    unsent_events_.clear();
    const auto group = static_cast<std::uint32_t>(keys.partitions());
    if (node_) {
        subscriber_->remove(keys.node_channel(node_));
    }
    node_ = node;
    if (node_) {
        subscriber_->add(keys.node_channel(node_), group);
    }
}

void RedisBus::Hub::publish_taken(SessionTaken taken) {
    if (taken.holder == node_ || !taken.holder) {
        const UserId user = taken.user;
        deliver_home(user, [taken = std::move(taken)](Outlet& outlet) { outlet.taken(taken); });
        return;
    }
    tell_holder(taken.holder, redis::encode(taken), 1);
}

void RedisBus::Hub::tell_holder(NodeId holder, std::string message, unsigned tells) {
    std::string channel = keys.node_channel(holder);
    const std::uint16_t slot = redis::slot_of(channel);
    Command command{{"SPUBLISH", std::move(channel), message}, slot, nullptr, false};
    client_.execute(
        std::move(command), [self = shared_from_this(), holder, tells,
                             again = std::move(message)](const Result<Reply>& answer) mutable {
            if (answer && answer->view().integer() > 0) {
                return;  // Somebody heard it.
            }
            if (tells >= kTells || self->to_tell_again_ >= kMostToTellAgain) {
                ++self->counters.taken_lost;
                return;
            }
            ++self->counters.taken_again;
            ++self->to_tell_again_;
            const Millis wait = kTellAgain * (1 << (tells - 1));
            self->store().after(wait, [self, holder, tells, again = std::move(again)]() mutable {
                --self->to_tell_again_;
                self->tell_holder(holder, std::move(again), tells + 1);
            });
        });
}

/// Here at once, as the user's home knows best whether it holds anything; and to the other nodes
/// that the record names.
void RedisBus::Hub::publish_signal(SignalRef signal) {
    deliver_home(signal->to, [signal](Outlet& outlet) { outlet.signal(signal); });
    if (!node_) {
        return;
    }
    std::string record = keys.record(signal->to);
    const std::uint16_t slot = redis::slot_of(record);
    const std::size_t last = redis::kNodesAt + redis::kMostNodes * sizeof(std::uint64_t);
    Command command{
        {"GETRANGE", std::move(record), "0", std::to_string(last)}, slot, nullptr, true};
    client_.execute(std::move(command), [self = shared_from_this(),
                                         told = std::move(signal)](const Result<Reply>& answer) {
        if (answer) {
            self->signal_nodes(told, answer->view().text());
        }
    });
}

void RedisBus::Hub::signal_nodes(const SignalRef& signal, std::string_view head) {
    for (const NodeId node : redis::decode_head(head).nodes) {
        if (node && node != node_) {
            send(keys.node_channel(node), redis::encode(*signal), [] {});
        }
    }
}

void RedisBus::Hub::publish_end_set(const EndSet& set) {
    send(keys.node_channel(set.holder), redis::encode(set), [] {});
}

void RedisBus::Hub::publish_stays(const SessionStays& stays) {
    send(keys.node_channel(stays.to), redis::encode(stays), [] {});
}

void RedisBus::Hub::ask_nodes(const SurveyQuestion& question,
                              Completion<Result<std::size_t>>::Done done) {
    std::string channel = keys.partition_channel(0);
    const bool hears_itself = subscriber_ && subscriber_->in_force(channel);
    const std::uint16_t slot = redis::slot_of(channel);
    Command command{
        {"SPUBLISH", std::move(channel), redis::encode(question)}, slot, nullptr, false};
    client_.execute(std::move(command), [self = shared_from_this(), hears_itself,
                                         told =
                                             std::move(done)](const Result<Reply>& answer) mutable {
        Result<std::size_t> heard = std::size_t{0};
        if (answer) {
            const std::int64_t all = answer->view().integer() - (hears_itself ? 1 : 0);
            heard = static_cast<std::size_t>(std::max<std::int64_t>(0, all));
        } else {
            ++self->counters.not_sent;
            heard = answer.error();
        }
        self->threads.front()->post([told = std::move(told), heard = std::move(heard)]() mutable {
            told(std::move(heard));
        });
    });
}

void RedisBus::Hub::answer_node(const SurveyAnswer& answer) {
    send(keys.node_channel(answer.to), redis::encode(answer), [] {});
}

}  // namespace presence
