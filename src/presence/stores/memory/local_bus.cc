#include "presence/stores/memory/local_bus.h"

#include "presence/base/assert.h"

#include <boost/unordered/unordered_flat_map.hpp>

#include <bit>
#include <cstdint>
#include <utility>

namespace presence {

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

    [[nodiscard]] std::size_t subscribed_users() const { return subscribers_.size(); }

private:
    /// Lives on the subscriber's thread, until each home has answered.
    struct Asked {
        std::size_t unanswered = 0;
        Completion<bool>::Done done;
    };

    [[nodiscard]] Endpoint& home_of(const UserId& user) {
        return *bus_.endpoints_[bus_.home_of(user)];
    }
    // These three run on this endpoint's thread.
    void add(const std::vector<UserId>& users, std::uint64_t bit);
    void remove(const UserId& user, std::uint64_t bit);
    void distribute(const PresenceEventRef& event);
    void deliver(const PresenceEventRef& event) {
        if (receiver_ != nullptr) {
            receiver_->on_presence(event);
        }
    }
    void ask_homes(std::vector<std::vector<UserId>> by_home, Completion<bool>::Done done);

    LocalBus& bus_;
    Scheduler& thread_;
    std::uint64_t bit_;
    Receiver* receiver_ = nullptr;
    /// Of the users whose home this is: who subscribed, one bit an endpoint. Never 0.
    boost::unordered_flat_map<UserId, std::uint64_t, IdHash, IdEqual> subscribers_;
};

Task<Result<bool>> LocalBus::Endpoint::subscribe(std::vector<UserId> users) {
    // Whom this thread is the home of is done at once, here and in unsubscribe; the rest goes by
    // the queues of their homes. So neither overtakes the other.
    std::vector<std::vector<UserId>> by_home(bus_.endpoints_.size());
    bool elsewhere = false;
    for (UserId& user : users) {
        const std::size_t home = bus_.home_of(user);
        if (bus_.endpoints_[home].get() == this) {
            subscribers_[std::move(user)] |= bit_;
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
            home->add(users, bit_);
            thread_.post([asked = std::move(asked)] {
                if (--asked->unanswered == 0) {
                    asked->done(true);
                }
            });
        });
    }
}

void LocalBus::Endpoint::add(const std::vector<UserId>& users, std::uint64_t bit) {
    for (const UserId& user : users) {
        subscribers_[user] |= bit;
    }
}

void LocalBus::Endpoint::unsubscribe(const UserId& user) {
    Endpoint& home = home_of(user);
    if (&home == this) {
        remove(user, bit_);
        return;
    }
    home.thread_.post([&home, user, bit = bit_] { home.remove(user, bit); });
}

void LocalBus::Endpoint::remove(const UserId& user, std::uint64_t bit) {
    const auto found = subscribers_.find(user);
    if (found == subscribers_.end()) {
        return;
    }
    found->second &= ~bit;
    if (found->second == 0) {
        subscribers_.erase(found);
    }
}

void LocalBus::Endpoint::publish(PresenceEventRef event) {
    PRESENCE_ASSERT(event);
    Endpoint& home = home_of(event->user);
    home.thread_.post([&home, event = std::move(event)] { home.distribute(event); });
}

void LocalBus::Endpoint::distribute(const PresenceEventRef& event) {
    const auto found = subscribers_.find(event->user);
    if (found == subscribers_.end()) {
        return;
    }
    const std::uint64_t subscribed = found->second;
    for (std::uint64_t left = subscribed & ~bit_; left != 0; left &= left - 1) {
        Endpoint* other = bus_.endpoints_[static_cast<std::size_t>(std::countr_zero(left))].get();
        other->thread_.post([other, event] { other->deliver(event); });
    }
    if ((subscribed & bit_) != 0) {
        deliver(event);
    }
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
    Endpoint& home = home_of(signal->to);
    home.thread_.post([&home, signal = std::move(signal)] {
        if (home.receiver_ != nullptr) {
            home.receiver_->on_signal(signal);
        }
    });
}

void LocalBus::Endpoint::publish_session_taken(SessionTaken taken) {
    Endpoint& home = home_of(taken.user);
    home.thread_.post([&home, taken = std::move(taken)] {
        if (home.receiver_ != nullptr) {
            home.receiver_->on_session_taken(taken);
        }
    });
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

}  // namespace presence
