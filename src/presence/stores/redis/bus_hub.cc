// The hub's life, and who subscribes to what.

#include "presence/stores/redis/bus_hub.h"

namespace presence {

namespace {
constexpr Millis kLingerLook{500};
}  // namespace

RedisBus::Hub::Hub(redis::Client& client, const redis::Keys& names, redis::Lives& lives,
                   std::vector<Scheduler*> endpoints, std::uint64_t seed)
    : keys(names),
      threads(std::move(endpoints)),
      outlets(threads.size()),
      client_(client),
      lives_(lives),
      seed_(seed),
      unsent_lost_(names.partitions()),
      deliveries_(threads.size()),
      healed_(names.partitions()),
      run_ids_(names.partitions()) {}

void RedisBus::Hub::begin() {
    subscriber_.emplace(client_, static_cast<redis::Subscriber::Sink&>(*this));
    for (std::uint32_t partition = 0; partition < keys.partitions(); ++partition) {
        subscriber_->add(keys.partition_channel(partition), partition);
    }
    const redis::RedisConfig& config = client_.config();
    probes_.emplace(store(), store().clock(), keys, seed_, config.probe_every, config.probe_missing,
                    static_cast<redis::Probes::Sink&>(*this));
    client_.add_listener(*this);
    on_servers_changed();
    drop_lingering();
}

void RedisBus::Hub::end() {
    client_.remove_listener(*this);
    store().cancel(linger_timer_);
    store().cancel(unsent_timer_);
    probes_.reset();
    subscriber_.reset();
    for (auto& [channel, waiters] : std::exchange(waiting_, {})) {
        for (const std::shared_ptr<Waiter>& waiter : waiters) {
            answer(*waiter, Error{ErrorCode::unavailable, "the bus is closed", 0, 0});
        }
    }
}

std::shared_ptr<RedisBus::Hub::Waiter> RedisBus::Hub::wait(std::size_t thread, Subscribed done) {
    auto waiter = std::make_shared<Waiter>();
    waiter->thread = thread;
    waiter->done.emplace(std::move(done));
    if (!subscriber_) {
        answer(*waiter, Error{ErrorCode::unavailable, "the bus is closed", 0, 0});
        return nullptr;
    }
    return waiter;
}

void RedisBus::Hub::subscribe(std::size_t thread, const std::vector<UserId>& users,
                              Subscribed done) {
    const std::shared_ptr<Waiter> waiter = wait(thread, std::move(done));
    if (!waiter) {
        return;
    }
    for (const UserId& user : users) {
        auto found = interests_.find(user);
        if (found == interests_.end()) {
            if (interests_.size() >= client_.config().channels) {
                ++counters.refused;
                answer(*waiter, Error{ErrorCode::unavailable, "the node watches too many users", 0,
                                      static_cast<std::int64_t>(client_.config().channels)});
                return;
            }
            found = interests_.try_emplace(user).first;
            ++counters.subscriptions;
            subscriber_->add(keys.channel(user), keys.partition_of(user));
        }
        found->second.threads |= std::uint64_t{1} << thread;
        std::string channel = keys.channel(user);
        if (subscriber_->in_force(channel)) {
            continue;
        }
        if (!subscriber_->is_near(channel)) {
            subscriber_->owe(channel);
            continue;
        }
        std::vector<std::shared_ptr<Waiter>>& waiters = waiting_[channel];
        if (waiters.empty() || waiters.back() != waiter) {
            waiters.push_back(waiter);
            waiter->channels.push_back(std::move(channel));
            ++waiter->missing;
        }
    }
    if (waiter->missing == 0) {
        answer(*waiter, true);
        return;
    }
    waiter->timer =
        store().after(client_.config().request_timeout, [this, waiter] { give_up(waiter); });
}

void RedisBus::Hub::answer(Waiter& waiter, Result<bool> result) {
    if (!waiter.done) {
        return;
    }
    store().cancel(waiter.timer);
    threads[waiter.thread]->post(
        [done = std::move(*waiter.done), result = std::move(result)]() mutable {
            done(std::move(result));
        });
    waiter.done.reset();
}

void RedisBus::Hub::give_up(const std::shared_ptr<Waiter>& waiter) {
    for (const std::string& channel : waiter->channels) {
        const auto found = waiting_.find(channel);
        if (found == waiting_.end() || std::erase(found->second, waiter) == 0) {
            continue;
        }
        if (found->second.empty()) {
            waiting_.erase(found);
        }
        subscriber_->owe(channel);
    }
    answer(*waiter, true);
}

void RedisBus::Hub::on_in_force(std::string_view channel) {
    const auto found = waiting_.find(std::string(channel));
    if (found == waiting_.end()) {
        return;
    }
    const std::vector<std::shared_ptr<Waiter>> waiters = std::move(found->second);
    waiting_.erase(found);
    for (const std::shared_ptr<Waiter>& waiter : waiters) {
        if (--waiter->missing == 0) {
            answer(*waiter, true);
        }
    }
}

void RedisBus::Hub::unsubscribe(std::size_t thread, const UserId& user) {
    const auto found = interests_.find(user);
    const std::uint64_t bit = std::uint64_t{1} << thread;
    if (found == interests_.end() || (found->second.threads & bit) == 0) {
        return;
    }
    found->second.threads &= ~bit;
    if (found->second.threads == 0) {
        lingering_.emplace_back(store().clock().now() + client_.config().linger, user);
    }
}

void RedisBus::Hub::drop_lingering() {
    const MonoTime now = store().clock().now();
    while (!lingering_.empty() && lingering_.front().first <= now) {
        const UserId user = std::move(lingering_.front().second);
        lingering_.pop_front();
        const auto found = interests_.find(user);
        if (found != interests_.end() && found->second.threads == 0) {
            interests_.erase(found);
            --counters.subscriptions;
            subscriber_->remove(keys.channel(user));
        }
    }
    linger_timer_ = store().after(kLingerLook, [this] { drop_lingering(); });
}

}  // namespace presence
