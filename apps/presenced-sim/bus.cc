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

void Bus::Endpoint::to_others(std::string bytes) {
    if (cut_ || !bus_.up_ || process_.dead()) {
        return;
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
    to_others(redis::encode(*event));
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
    to_others(std::move(bytes));
}

void Bus::Endpoint::publish_signal(SignalRef signal) {
    std::string bytes = redis::encode(*signal);
    process_.post([this, bytes] { take(bytes); });
    to_others(std::move(bytes));
}

void Bus::Endpoint::publish_session_taken(SessionTaken taken) {
    to_others(redis::encode(taken));
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
