#include "bus.h"

#include "presence/stores/memory/faults.h"
#include "presence/stores/redis/codec.h"

#include <algorithm>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace presence::sim {

namespace {
// As in stores/redis/bus_hub_unsent.cc and bus_hub_nodes.cc.
constexpr Millis kSendAgain{500};
constexpr Millis kTellAgain{250};
constexpr int kTells = 6;
}  // namespace

Millis Bus::wait() {
    const auto most = static_cast<std::uint64_t>(slowest_.count());
    return Millis{static_cast<std::int64_t>(1 + (even_ ? 1 : random_.below(most)))};
}

void Bus::Endpoint::heal() {
    deaf_ = false;
    if (receiver_ != nullptr && on_gap_) {
        process_.post([this] { on_gap_(); });
    }
}

void Bus::Endpoint::take(const std::string& bytes) {
    if (receiver_ == nullptr) {
        return;
    }
    std::visit(
        [this](const auto& said) {
            using Said = std::decay_t<decltype(said)>;
            if constexpr (std::is_same_v<Said, PresenceEventRef>) {
                if (users_.contains(said->user)) {
                    receiver_->on_presence(said);
                }
            } else if constexpr (std::is_same_v<Said, redis::ProfileChanged>) {
                receiver_->on_profile_changed(said.user, said.revision);
            } else if constexpr (std::is_same_v<Said, SignalRef>) {
                if (!said->to.text.empty() || rooms_.contains(*said->room)) {
                    receiver_->on_signal(said);
                }
            } else if constexpr (std::is_same_v<Said, SessionTaken>) {
                if (said.holder == node_) {
                    receiver_->on_session_taken(said);
                }
            } else if constexpr (std::is_same_v<Said, EndSet>) {
                if (said.holder == node_) {
                    receiver_->on_end_set(said);
                }
            } else if constexpr (std::is_same_v<Said, SessionStays>) {
                if (said.to == node_) {
                    receiver_->on_session_stays(said);
                }
            } else if constexpr (std::is_same_v<Said, RoomStatementRef>) {
                if (rooms_.contains(said->room)) {
                    receiver_->on_room(said);
                }
            } else if constexpr (std::is_same_v<Said, redis::RoomQuestion>) {
                if (rooms_.contains(said.room)) {
                    receiver_->on_room_asked(said.room);
                }
            } else if constexpr (std::is_same_v<Said, SurveyQuestionRef>) {
                receiver_->on_survey(said);
            } else if constexpr (std::is_same_v<Said, SurveyAnswerRef>) {
                if (said->to == node_) {
                    receiver_->on_survey_answer(said);
                }
            } else {
                // Probes stand for themselves here; what cannot be read would be a fault.
                PRESENCE_ASSERT((!std::is_same_v<Said, redis::Unreadable>));
            }
        },
        redis::decode_message(bytes));
}

bool Bus::Endpoint::to_others(std::string bytes) {
    if (cut_ || !bus_.up_ || process_.dead()) {
        return false;
    }
    const auto shared = std::make_shared<const std::string>(std::move(bytes));
    // As the store takes it now, so it goes out to each in that order.
    for (Endpoint* const other : bus_.endpoints_) {
        if (other == this || other->deaf_ || other->process_.dead()) {
            continue;
        }
        const Millis wait = bus_.wait();
        const MonoTime at = std::max(bus_.scheduler_.clock().now() + wait, other->last_arrival_);
        other->last_arrival_ = at;
        bus_.scheduler_.after(at - bus_.scheduler_.clock().now(), [bus = &bus_, other, shared] {
            if (bus->knows(other) && !other->deaf_) {
                other->process_.post([bus, other, shared] {
                    if (bus->knows(other)) {
                        other->take(*shared);
                    }
                });
            }
        });
    }
    return true;
}

void Bus::Endpoint::keep_unsent(const PresenceEventRef& event) {
    PresenceEventRef& kept = unsent_events_[event->user];
    if (!kept) {
        kept = event;
    } else {
        const bool newer = event->presence.own_version >= kept->presence.own_version;
        auto merged = std::make_shared<PresenceEvent>(newer ? *event : *kept);
        merged->tells_shown = event->tells_shown || kept->tells_shown;
        merged->tells_own = event->tells_own || kept->tells_own;
        kept = std::move(merged);
    }
    send_unsent_soon();
}

void Bus::Endpoint::send_unsent_soon() {
    if (!std::exchange(unsent_asked_, true)) {
        process_.after(kSendAgain, [this] {
            unsent_asked_ = false;
            send_unsent();
        });
    }
}

void Bus::Endpoint::send_unsent() {
    for (const auto& [user, revision] : std::exchange(unsent_profiles_, {})) {
        if (!to_others(redis::encode(redis::ProfileChanged{user, revision}))) {
            unsent_profiles_[user] = revision;
            send_unsent_soon();
        }
    }
    for (const auto& [user, event] : std::exchange(unsent_events_, {})) {
        if (!to_others(redis::encode(*event))) {
            keep_unsent(event);
        }
    }
}

Task<Result<bool>> Bus::Endpoint::subscribe(std::vector<UserId> users) {
    co_await wait_for(process_, Millis{bus_.even_ ? 0 : 2});
    users_.insert(users.begin(), users.end());
    co_return true;
}

Task<Result<bool>> Bus::Endpoint::subscribe_room(RoomId room) {
    co_await wait_for(process_, Millis{bus_.even_ ? 0 : 2});
    rooms_.insert(std::move(room));
    co_return true;
}

void Bus::Endpoint::publish(PresenceEventRef event) {
    if (!to_others(redis::encode(*event))) {
        keep_unsent(event);
    }
    publish_here(std::move(event));
}

void Bus::Endpoint::publish_here(PresenceEventRef event) {
    process_.post([this, event = std::move(event)] {
        if (receiver_ != nullptr && users_.contains(event->user)) {
            receiver_->on_presence(event);
        }
    });
}

void Bus::Endpoint::publish_profile_changed(const UserId& user, std::uint64_t revision) {
    std::string bytes = redis::encode(redis::ProfileChanged{user, revision});
    process_.post([this, bytes] { take(bytes); });
    if (!to_others(std::move(bytes))) {
        std::uint64_t& newest = unsent_profiles_[user];
        newest = std::max(newest, revision);
        send_unsent_soon();
    }
}

void Bus::Endpoint::publish_signal(SignalRef signal) {
    std::string bytes = redis::encode(*signal);
    process_.post([this, bytes] { take(bytes); });
    to_others(std::move(bytes));
}

void Bus::Endpoint::publish_session_taken(SessionTaken taken) {
    tell_holder(std::move(taken), 1);
}

void Bus::Endpoint::tell_holder(SessionTaken taken, int tells) {
    const bool hears = std::ranges::any_of(bus_.endpoints_, [&](const Endpoint* other) {
        return other->node_ == taken.holder && !other->deaf_ && !other->process_.dead();
    });
    const bool said = to_others(redis::encode(taken));
    if ((!said || !hears) && tells < kTells) {
        process_.after(kTellAgain * (1 << (tells - 1)),
                       [this, taken = std::move(taken), tells]() mutable {
                           tell_holder(std::move(taken), tells + 1);
                       });
    }
}

void Bus::Endpoint::publish_end_set(EndSet set) {
    to_others(redis::encode(set));
}

void Bus::Endpoint::publish_session_stays(SessionStays stays) {
    to_others(redis::encode(stays));
}

void Bus::Endpoint::publish_room(RoomStatementRef statement) {
    std::string bytes = redis::encode(*statement);
    process_.post([this, bytes] { take(bytes); });
    to_others(std::move(bytes));
}

void Bus::Endpoint::ask_room(const RoomId& room) {
    std::string bytes = redis::encode(redis::RoomQuestion{room});
    process_.post([this, bytes] { take(bytes); });
    to_others(std::move(bytes));
}

Task<Result<std::size_t>> Bus::Endpoint::ask_nodes(SurveyQuestionRef question) {
    if (!bus_.up_ || cut_) {
        co_return Error{ErrorCode::unavailable, "the bus is away", 0, 0};
    }
    to_others(redis::encode(*question));
    std::size_t heard = 0;
    for (const Endpoint* const other : bus_.endpoints_) {
        heard += other != this && !other->deaf_ && !other->process_.dead() ? 1U : 0U;
    }
    co_return heard;
}

void Bus::Endpoint::answer_node(SurveyAnswerRef answer) {
    to_others(redis::encode(*answer));
}

}  // namespace presence::sim
