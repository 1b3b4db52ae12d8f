#include "presence/stores/redis/redis_bus.h"

#include "presence/base/assert.h"
#include "presence/base/home_thread.h"
#include "presence/stores/redis/bus_hub.h"

#include <atomic>
#include <functional>
#include <future>
#include <utility>

namespace presence {

class RedisBus::Endpoint final : public PresenceBus {
public:
    Endpoint(std::shared_ptr<Hub> hub, std::size_t index) : hub_(std::move(hub)), index_(index) {}

    void set_receiver(Receiver* receiver) override { receiver_ = receiver; }
    [[nodiscard]] Receiver* receiver() const { return receiver_; }

    [[nodiscard]] Task<Result<bool>> subscribe(std::vector<UserId> users) override {
        if (users.empty()) {
            co_return true;
        }
        Completion<Result<bool>> in_force([&](Completion<Result<bool>>::Done done) {
            hub_->store().post([hub = hub_, index = index_, users = std::move(users),
                                done = std::move(done)]() mutable {
                hub->subscribe(index, users, std::move(done));
            });
        });
        Result<bool> subscribed = co_await in_force;
        co_return subscribed;
    }
    void unsubscribe(const UserId& user) override {
        hub_->store().post([hub = hub_, index = index_, user] { hub->unsubscribe(index, user); });
    }
    void publish(PresenceEventRef event) override {
        PRESENCE_ASSERT(event);
        std::string message = redis::encode(*event);
        hub_->store().post(
            [hub = hub_, event = std::move(event), message = std::move(message)]() mutable {
                hub->publish(std::move(event), std::move(message));
            });
    }
    void publish_here(PresenceEventRef event) override {
        PRESENCE_ASSERT(event);
        hub_->store().post([hub = hub_, event = std::move(event)] { hub->publish_here(event); });
    }
    void publish_session_taken(SessionTaken taken) override {
        hub_->store().post([hub = hub_, taken = std::move(taken)]() mutable {
            hub->publish_taken(std::move(taken));
        });
    }
    void publish_end_set(EndSet set) override {
        hub_->store().post([hub = hub_, set = std::move(set)] { hub->publish_end_set(set); });
    }
    void publish_session_stays(SessionStays stays) override {
        hub_->store().post([hub = hub_, stays = std::move(stays)] { hub->publish_stays(stays); });
    }
    void publish_profile_changed(const UserId& user, std::uint64_t revision) override {
        hub_->store().post([hub = hub_, user, revision] {
            hub->publish_profile({user, revision});
        });
    }
    void publish_signal(SignalRef signal) override {
        PRESENCE_ASSERT(signal);
        if (signal->to.text.empty()) {
            const RoomId room = *signal->room;
            about_room(room, redis::encode(*signal),
                       [signal](Hub::Outlet& outlet) { outlet.signal(signal); });
            return;
        }
        hub_->store().post([hub = hub_, signal = std::move(signal)]() mutable {
            hub->publish_signal(std::move(signal));
        });
    }
    [[nodiscard]] Task<Result<bool>> subscribe_room(RoomId room) override {
        Completion<Result<bool>> in_force([&](Completion<Result<bool>>::Done done) {
            hub_->store().post([hub = hub_, index = index_, room = std::move(room),
                                done = std::move(done)]() mutable {
                hub->subscribe_room(index, std::move(room), std::move(done));
            });
        });
        Result<bool> subscribed = co_await in_force;
        co_return subscribed;
    }
    void unsubscribe_room(const RoomId& room) override {
        hub_->store().post(
            [hub = hub_, index = index_, room] { hub->unsubscribe_room(index, room); });
    }
    void publish_room(RoomStatementRef statement) override {
        PRESENCE_ASSERT(statement);
        about_room(statement->room, redis::encode(*statement),
                   [statement](Hub::Outlet& outlet) { outlet.room(statement); });
    }
    void ask_room(const RoomId& room) override {
        about_room(room, redis::encode(redis::RoomQuestion{room}),
                   [room](Hub::Outlet& outlet) { outlet.room_asked(room); });
    }
    [[nodiscard]] Task<Result<std::size_t>> ask_nodes(SurveyQuestionRef question) override {
        PRESENCE_ASSERT(index_ == 0);  // Where the answers arrive.
        Completion<Result<std::size_t>> asked([&](Completion<Result<std::size_t>>::Done done) {
            hub_->store().post(
                [hub = hub_, question = std::move(question), done = std::move(done)]() mutable {
                    hub->ask_nodes(*question, std::move(done));
                });
        });
        Result<std::size_t> heard = co_await asked;
        co_return heard;
    }
    void answer_node(SurveyAnswerRef answer) override {
        hub_->store().post([hub = hub_, answer = std::move(answer)] { hub->answer_node(*answer); });
    }

private:
    void about_room(const RoomId& room, std::string message,
                    std::function<void(Hub::Outlet&)> here) {
        hub_->store().post(
            [hub = hub_, room, message = std::move(message), here = std::move(here)]() mutable {
                hub->publish_about_room(room, std::move(message), std::move(here));
            });
    }

    std::shared_ptr<Hub> hub_;
    std::size_t index_;
    Receiver* receiver_ = nullptr;
};

namespace {

using Receiver = PresenceBus::Receiver;

/// Hands what came to whoever hears at `endpoint`, if anybody does.
template <class Endpoint, class Said>
auto to_receiver(Endpoint* endpoint, void (Receiver::*take)(const Said&)) {
    return [endpoint, take](const Said& said) {
        if (Receiver* const to = endpoint->receiver()) {
            (to->*take)(said);
        }
    };
}

}  // namespace

RedisBus::RedisBus(redis::Client& client, const redis::Keys& keys, redis::Lives& lives,
                   std::vector<Scheduler*> threads, std::uint64_t seed) {
    constexpr std::size_t kBits = 64;
    PRESENCE_ASSERT(!threads.empty() && threads.size() <= kBits);
    hub_ = std::make_shared<Hub>(client, keys, lives, std::move(threads), seed);
    for (std::size_t index = 0; index < hub_->threads.size(); ++index) {
        endpoints_.push_back(std::make_unique<Endpoint>(hub_, index));
        Endpoint* const endpoint = endpoints_.back().get();
        Hub::Outlet& outlet = hub_->outlets[index];
        outlet.presence = to_receiver(endpoint, &Receiver::on_presence);
        outlet.profile = [endpoint](const redis::ProfileChanged& change) {
            if (Receiver* const to = endpoint->receiver()) {
                to->on_profile_changed(change.user, change.revision);
            }
        };
        outlet.signal = to_receiver(endpoint, &Receiver::on_signal);
        outlet.room = to_receiver(endpoint, &Receiver::on_room);
        outlet.room_asked = to_receiver(endpoint, &Receiver::on_room_asked);
        outlet.end_set = to_receiver(endpoint, &Receiver::on_end_set);
        outlet.stays = to_receiver(endpoint, &Receiver::on_session_stays);
        outlet.survey = to_receiver(endpoint, &Receiver::on_survey);
        outlet.survey_answer = to_receiver(endpoint, &Receiver::on_survey_answer);
        outlet.taken = to_receiver(endpoint, &Receiver::on_session_taken);
    }
    client.thread().post([hub = hub_] { hub->begin(); });
}

RedisBus::~RedisBus() {
    auto ended = std::make_shared<std::promise<void>>();
    std::future<void> over = ended->get_future();
    auto done_there = std::make_shared<std::atomic<bool>>(false);
    hub_->store().post([hub = hub_, done_there, done = std::move(ended)]() mutable {
        hub->end();
        *done_there = true;
        done->set_value();
    });
    over.wait();  // Broken, and so over, if the thread has stopped: then nobody else is there.
    if (!*done_there) {
        hub_->end();
    }
}

PresenceBus& RedisBus::endpoint(std::size_t index) {
    PRESENCE_ASSERT(index < endpoints_.size());
    return *endpoints_[index];
}

std::size_t RedisBus::home_of(const UserId& user) const noexcept {
    return home_thread(user, endpoints_.size());
}

void RedisBus::set_gap_handler(std::size_t index,
                               std::function<void(const PartitionSet&)> handler) {
    hub_->outlets[index].gap = std::move(handler);
}

void RedisBus::set_node(NodeId node) {
    hub_->store().post([hub = hub_, node] { hub->set_node(node); });
}

void RedisBus::look_at_lives() {
    hub_->store().post([hub = hub_] { hub->look_at_lives(); });
}

const RedisBusCounters& RedisBus::counters() const noexcept {
    return hub_->counters;
}

}  // namespace presence
