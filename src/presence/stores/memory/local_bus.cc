#include "presence/stores/memory/local_bus.h"

#include "presence/base/assert.h"

#include <boost/unordered/unordered_flat_map.hpp>

#include <bit>
#include <cstdint>
#include <utility>

namespace presence {

namespace {

/// Which endpoints subscribed to what, for the things whose home one thread is: one bit an
/// endpoint, never 0.
template <class Id>
class Subscribers {
public:
    void add(const Id& id, std::uint64_t bit) { bits_[id] |= bit; }
    void remove(const Id& id, std::uint64_t bit) {
        const auto found = bits_.find(id);
        if (found == bits_.end()) {
            return;
        }
        found->second &= ~bit;
        if (found->second == 0) {
            bits_.erase(found);
        }
    }
    [[nodiscard]] std::uint64_t of(const Id& id) const {
        const auto found = bits_.find(id);
        return found == bits_.end() ? 0 : found->second;
    }
    [[nodiscard]] std::size_t size() const { return bits_.size(); }

private:
    boost::unordered_flat_map<Id, std::uint64_t, IdHash, IdEqual> bits_;
};

}  // namespace

class LocalBus::Endpoint final : public PresenceBus {
public:
    Endpoint(LocalBus& bus, Scheduler& thread, std::size_t index)
        : bus_(bus), thread_(thread), bit_(std::uint64_t{1} << index) {}

    void set_receiver(Receiver* receiver) override { receiver_ = receiver; }
    [[nodiscard]] Task<Result<bool>> subscribe(std::vector<UserId> users) override;
    void unsubscribe(const UserId& user) override;
    void publish(PresenceEventRef event) override;
    void publish_here(PresenceEventRef event) override { publish(std::move(event)); }
    void publish_profile_changed(const UserId& user, std::uint64_t revision) override;
    void publish_signal(SignalRef signal) override;
    void publish_session_taken(SessionTaken taken) override;
    void publish_end_set(EndSet set) override;
    [[nodiscard]] Task<Result<bool>> subscribe_room(RoomId room) override;
    void unsubscribe_room(const RoomId& room) override;
    void publish_room(RoomStatementRef statement) override;
    void ask_room(const RoomId& room) override;
    // There are no other nodes.
    void publish_session_stays(SessionStays) override {}
    [[nodiscard]] Task<Result<std::size_t>> ask_nodes(SurveyQuestionRef) override {
        co_return std::size_t{0};
    }
    void answer_node(SurveyAnswerRef) override {}

    [[nodiscard]] std::size_t subscribed_users() const { return users_.size(); }
    [[nodiscard]] std::size_t subscribed_rooms() const { return rooms_.size(); }

private:
    /// Lives on the subscriber's thread, until each home has answered.
    struct Asked {
        std::size_t unanswered = 0;
        Completion<bool>::Done done;
    };

    [[nodiscard]] Endpoint& home_of(const UserId& user) {
        return *bus_.endpoints_[bus_.home_of(user)];
    }
    [[nodiscard]] Endpoint& home_of(const RoomId& room) {
        return *bus_.endpoints_[bus_.home_of(room)];
    }
    /// Runs `tell(receiver)` on the thread of each endpoint in `bits`; on this one at once, as it
    /// was posted here.
    template <class Tell>
    void distribute(std::uint64_t bits, const Tell& tell) {
        for (std::uint64_t left = bits & ~bit_; left != 0; left &= left - 1) {
            Endpoint* other =
                bus_.endpoints_[static_cast<std::size_t>(std::countr_zero(left))].get();
            other->thread_.post([other, tell] { other->hear(tell); });
        }
        if ((bits & bit_) != 0) {
            hear(tell);
        }
    }
    template <class Tell>
    void hear(const Tell& tell) {
        if (receiver_ != nullptr) {
            tell(*receiver_);
        }
    }
    /// By way of the room's home, to all endpoints that subscribed to the room.
    template <class Tell>
    void tell_room(const RoomId& room, Tell tell) {
        Endpoint& home = home_of(room);
        home.thread_.post(
            [&home, room, tell = std::move(tell)] { home.distribute(home.rooms_.of(room), tell); });
    }
    void ask_homes(std::vector<std::vector<UserId>> by_home, Completion<bool>::Done done);

    LocalBus& bus_;
    Scheduler& thread_;
    std::uint64_t bit_;
    Receiver* receiver_ = nullptr;
    Subscribers<UserId> users_;  ///< Of the users whose home this is.
    Subscribers<RoomId> rooms_;  ///< Likewise.
};

Task<Result<bool>> LocalBus::Endpoint::subscribe(std::vector<UserId> users) {
    // Whom this thread is the home of is done at once, here and in unsubscribe; the rest goes by
    // the queues of their homes. So neither overtakes the other.
    std::vector<std::vector<UserId>> by_home(bus_.endpoints_.size());
    bool elsewhere = false;
    for (UserId& user : users) {
        const std::size_t home = bus_.home_of(user);
        if (bus_.endpoints_[home].get() == this) {
            users_.add(user, bit_);
        } else {
            elsewhere = true;
            by_home[home].push_back(std::move(user));
        }
    }
    if (!elsewhere) {
        co_return true;
    }
    Completion<bool> in_force(
        [&](Completion<bool>::Done done) { ask_homes(std::move(by_home), std::move(done)); });
    const bool subscribed = co_await in_force;
    co_return subscribed;
}

void LocalBus::Endpoint::ask_homes(std::vector<std::vector<UserId>> by_home,
                                   Completion<bool>::Done done) {
    auto asked = std::make_shared<Asked>(Asked{0, std::move(done)});
    for (const std::vector<UserId>& users : by_home) {
        asked->unanswered += users.empty() ? 0U : 1U;
    }
    for (std::size_t index = 0; index < by_home.size(); ++index) {
        if (by_home[index].empty()) {
            continue;
        }
        Endpoint* home = bus_.endpoints_[index].get();
        home->thread_.post([this, home, users = std::move(by_home[index]), asked]() mutable {
            for (const UserId& user : users) {
                home->users_.add(user, bit_);
            }
            thread_.post([asked = std::move(asked)] {
                if (--asked->unanswered == 0) {
                    asked->done(true);
                }
            });
        });
    }
}

void LocalBus::Endpoint::unsubscribe(const UserId& user) {
    Endpoint& home = home_of(user);
    if (&home == this) {
        users_.remove(user, bit_);
        return;
    }
    home.thread_.post([&home, user, bit = bit_] { home.users_.remove(user, bit); });
}

void LocalBus::Endpoint::publish(PresenceEventRef event) {
    PRESENCE_ASSERT(event);
    Endpoint& home = home_of(event->user);
    home.thread_.post([&home, event = std::move(event)] {
        const std::uint64_t subscribed = home.users_.of(event->user);
        home.distribute(subscribed, [event](Receiver& receiver) { receiver.on_presence(event); });
    });
}

void LocalBus::Endpoint::publish_profile_changed(const UserId& user, std::uint64_t revision) {
    for (const std::unique_ptr<Endpoint>& each : bus_.endpoints_) {
        Endpoint* endpoint = each.get();
        endpoint->thread_.post([endpoint, user, revision] {
            if (endpoint->receiver_ != nullptr) {
                endpoint->receiver_->on_profile_changed(user, revision);
            }
        });
    }
}

void LocalBus::Endpoint::publish_signal(SignalRef signal) {
    PRESENCE_ASSERT(signal);
    if (signal->to.text.empty()) {
        const RoomId& room = *signal->room;
        tell_room(room, [signal](Receiver& receiver) { receiver.on_signal(signal); });
        return;
    }
    Endpoint& home = home_of(signal->to);
    home.thread_.post([&home, signal = std::move(signal)] {
        home.hear([&](Receiver& receiver) { receiver.on_signal(signal); });
    });
}

void LocalBus::Endpoint::publish_session_taken(SessionTaken taken) {
    Endpoint& home = home_of(taken.user);
    home.thread_.post([&home, taken = std::move(taken)] {
        home.hear([&](Receiver& receiver) { receiver.on_session_taken(taken); });
    });
}

void LocalBus::Endpoint::publish_end_set(EndSet set) {
    Endpoint& home = home_of(set.user);
    home.thread_.post([&home, set = std::move(set)] {
        home.hear([&](Receiver& receiver) { receiver.on_end_set(set); });
    });
}

Task<Result<bool>> LocalBus::Endpoint::subscribe_room(RoomId room) {
    Endpoint& home = home_of(room);
    if (&home == this) {
        rooms_.add(room, bit_);
        co_return true;
    }
    Completion<bool> in_force([&](Completion<bool>::Done done) {
        home.thread_.post([this, &home, room, done = std::move(done)]() mutable {
            home.rooms_.add(room, bit_);
            thread_.post([done = std::move(done)]() mutable { done(true); });
        });
    });
    const bool subscribed = co_await in_force;
    co_return subscribed;
}

void LocalBus::Endpoint::unsubscribe_room(const RoomId& room) {
    Endpoint& home = home_of(room);
    if (&home == this) {
        rooms_.remove(room, bit_);
        return;
    }
    home.thread_.post([&home, room, bit = bit_] { home.rooms_.remove(room, bit); });
}

void LocalBus::Endpoint::publish_room(RoomStatementRef statement) {
    PRESENCE_ASSERT(statement);
    const RoomId& room = statement->room;
    tell_room(room, [statement](Receiver& receiver) { receiver.on_room(statement); });
}

void LocalBus::Endpoint::ask_room(const RoomId& room) {
    tell_room(room, [room](Receiver& receiver) { receiver.on_room_asked(room); });
}

LocalBus::LocalBus(std::vector<Scheduler*> threads) {
    constexpr std::size_t kBits = 64;
    PRESENCE_ASSERT(!threads.empty() && threads.size() <= kBits);
    for (std::size_t index = 0; index < threads.size(); ++index) {
        endpoints_.push_back(std::make_unique<Endpoint>(*this, *threads[index], index));
    }
}

LocalBus::~LocalBus() = default;

PresenceBus& LocalBus::endpoint(std::size_t index) {
    PRESENCE_ASSERT(index < endpoints_.size());
    return *endpoints_[index];
}

std::size_t LocalBus::subscribed_users(std::size_t index) const {
    return endpoints_[index]->subscribed_users();
}

std::size_t LocalBus::subscribed_rooms(std::size_t index) const {
    return endpoints_[index]->subscribed_rooms();
}

}  // namespace presence
