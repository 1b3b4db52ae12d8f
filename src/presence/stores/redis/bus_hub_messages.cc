// What the hub sends and what it hears: changes, profiles, rooms.

#include "presence/base/home_thread.h"
#include "presence/stores/redis/bus_hub.h"
#include "presence/stores/redis/slots.h"

#include <bit>

namespace presence {

using redis::Command;
using redis::ProfileChanged;
using redis::Reply;

void RedisBus::Hub::try_send(std::string channel, std::string message,
                             UniqueFunction<void()> not_sent) {
    const std::uint16_t slot = redis::slot_of(channel);
    Command command{{"SPUBLISH", std::move(channel), std::move(message)}, slot, nullptr, false};
    client_.execute(std::move(command),
                    [failed = std::move(not_sent)](const Result<Reply>& answer) mutable {
                        if (!answer) {
                            failed();
                        }
                    });
}

void RedisBus::Hub::send(std::string channel, std::string message,
                         UniqueFunction<void()> not_sent) {
    try_send(std::move(channel), std::move(message),
             [self = shared_from_this(), local = std::move(not_sent)]() mutable {
                 ++self->counters.not_sent;
                 local();
                 self->flush();
             });
}

void RedisBus::Hub::publish(PresenceEventRef event, std::string message) {
    std::string channel = keys.channel(event->user);
    send(std::move(channel), std::move(message), [this, event = std::move(event)] {
        distribute(event);
        keep_unsent(event);
    });
}

void RedisBus::Hub::publish_profile(ProfileChanged change) {
    const std::uint32_t partition = keys.partition_of(change.user);
    std::string message = redis::encode(change);
    send(keys.partition_channel(partition), std::move(message), [this, change = std::move(change)] {
        for (std::size_t thread = 0; thread < threads.size(); ++thread) {
            deliver_soon(thread, [change](Outlet& outlet) { outlet.profile(change); });
        }
        keep_unsent(change);
    });
}

void RedisBus::Hub::publish_here(const PresenceEventRef& event) {
    distribute(event);
}

void RedisBus::Hub::deliver_home(const UserId& user, UniqueFunction<void(Outlet&)> what) {
    deliver_soon(home_thread(user, threads.size()), std::move(what));
}

void RedisBus::Hub::subscribe_room(std::size_t thread, RoomId room, Subscribed done) {
    const std::shared_ptr<Waiter> waiter = wait(thread, std::move(done));
    if (!waiter) {
        return;
    }
    std::string channel = keys.partition_channel(partition_of(room));
    rooms_[std::move(room)] |= std::uint64_t{1} << thread;
    if (subscriber_->in_force(channel)) {
        answer(*waiter, true);
        return;
    }
    waiting_[channel].push_back(waiter);
    waiter->channels.push_back(std::move(channel));
    waiter->missing = 1;
    waiter->timer =
        store().after(client_.config().request_timeout, [this, waiter] { give_up(waiter); });
}

void RedisBus::Hub::unsubscribe_room(std::size_t thread, const RoomId& room) {
    const auto found = rooms_.find(room);
    if (found == rooms_.end()) {
        return;
    }
    found->second &= ~(std::uint64_t{1} << thread);
    if (found->second == 0) {
        rooms_.erase(found);
    }
}

void RedisBus::Hub::distribute_room(const RoomId& room, const std::function<void(Outlet&)>& what) {
    const auto found = rooms_.find(room);
    if (found == rooms_.end()) {
        return;
    }
    for (std::uint64_t left = found->second; left != 0; left &= left - 1) {
        deliver_soon(static_cast<std::size_t>(std::countr_zero(left)), what);
    }
}

void RedisBus::Hub::publish_about_room(const RoomId& room, std::string message,
                                       std::function<void(Outlet&)> here) {
    send(keys.partition_channel(partition_of(room)), std::move(message),
         [this, room, here = std::move(here)] { distribute_room(room, here); });
}

void RedisBus::Hub::on_message(std::string_view channel, std::string_view payload) {
    ++counters.messages;
    redis::Message message = redis::decode_message(payload);
    if (const auto* const event = std::get_if<PresenceEventRef>(&message)) {
        distribute(*event);
    } else if (const auto* const change = std::get_if<ProfileChanged>(&message);
               change != nullptr && redis::names_nobody(*change)) {
        on_healed(static_cast<std::uint32_t>(change->revision));
    } else if (change != nullptr) {
        for (std::size_t thread = 0; thread < threads.size(); ++thread) {
            deliver_soon(thread, [changed = *change](Outlet& outlet) { outlet.profile(changed); });
        }
    } else if (const auto* const statement = std::get_if<RoomStatementRef>(&message)) {
        distribute_room((*statement)->room,
                        [said = *statement](Outlet& outlet) { outlet.room(said); });
    } else if (const auto* const question = std::get_if<redis::RoomQuestion>(&message)) {
        distribute_room(question->room,
                        [room = question->room](Outlet& outlet) { outlet.room_asked(room); });
    } else if (const auto* const to_room = std::get_if<SignalRef>(&message);
               to_room != nullptr && (*to_room)->to.text.empty()) {
        distribute_room(*(*to_room)->room,
                        [told = *to_room](Outlet& outlet) { outlet.signal(told); });
    } else if (const auto* const signal = std::get_if<SignalRef>(&message)) {
        deliver_home((*signal)->to, [told = *signal](Outlet& outlet) { outlet.signal(told); });
    } else if (const auto* const taken = std::get_if<SessionTaken>(&message)) {
        if (taken->holder == node_) {
            deliver_home(taken->user, [told = *taken](Outlet& outlet) { outlet.taken(told); });
        }
    } else if (const auto* const set = std::get_if<EndSet>(&message)) {
        if (set->holder == node_) {
            deliver_home(set->user, [told = *set](Outlet& outlet) { outlet.end_set(told); });
        }
    } else if (const auto* const stays = std::get_if<SessionStays>(&message)) {
        if (stays->to == node_) {
            deliver_home(stays->user, [told = *stays](Outlet& outlet) { outlet.stays(told); });
        }
    } else if (const auto* const asked = std::get_if<SurveyQuestionRef>(&message)) {
        deliver_soon(0, [asking = *asked](Outlet& outlet) { outlet.survey(asking); });
    } else if (const auto* const answer = std::get_if<SurveyAnswerRef>(&message)) {
        deliver_soon(0, [said = *answer](Outlet& outlet) { outlet.survey_answer(said); });
    } else if (const auto* const probe = std::get_if<redis::Probe>(&message)) {
        if (const std::optional<std::uint32_t> partition = keys.partition_of_channel(channel)) {
            probes_->heard(*partition);
            note_life(*partition, probe->incarnation);
        }
    } else {
        ++counters.unreadable;
    }
}

void RedisBus::Hub::distribute(const PresenceEventRef& event) {
    const auto found = interests_.find(event->user);
    if (found == interests_.end()) {
        return;
    }
    for (std::uint64_t left = found->second.threads; left != 0; left &= left - 1) {
        deliver_soon(static_cast<std::size_t>(std::countr_zero(left)),
                     [event](Outlet& outlet) { outlet.presence(event); });
    }
}

void RedisBus::Hub::deliver_soon(std::size_t thread, UniqueFunction<void(Outlet&)> what) {
    deliveries_[thread].push_back(std::move(what));
    if (!std::exchange(flush_asked_, true)) {
        store().at_end([self = shared_from_this()] { self->flush(); });
    }
}

/// What one read of the connections brought goes to each thread in one piece.
void RedisBus::Hub::flush() {
    flush_asked_ = false;
    for (std::size_t thread = 0; thread < threads.size(); ++thread) {
        if (deliveries_[thread].empty()) {
            continue;
        }
        threads[thread]->post([self = shared_from_this(), thread,
                               all = std::exchange(deliveries_[thread], {})]() mutable {
            for (UniqueFunction<void(Outlet&)>& each : all) {
                each(self->outlets[thread]);
            }
        });
    }
}

}  // namespace presence
