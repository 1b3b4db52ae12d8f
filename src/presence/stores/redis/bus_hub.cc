#include "presence/stores/redis/bus_hub.h"

#include "presence/base/assert.h"
#include "presence/base/log.h"
#include "presence/stores/redis/scripts.h"
#include "presence/stores/redis/slots.h"

#include <fmt/format.h>

#include <bit>

namespace presence {

using redis::Command;
using redis::ProfileChanged;
using redis::Reply;

namespace {
constexpr Millis kLingerLook{500};
constexpr Millis kGather{50};
/// Each probe renews it, so it goes only where nobody is left who remembers it.
constexpr Millis kIncarnationStays = std::chrono::hours{48};
}  // namespace

RedisBus::Hub::Hub(redis::Client& client, const redis::Keys& names,
                   std::vector<Scheduler*> endpoints, std::uint64_t seed)
    : keys(names),
      threads(std::move(endpoints)),
      outlets(threads.size()),
      client_(client),
      seed_(seed),
      deliveries_(threads.size()),
      healed_(names.partitions()),
      incarnations_(names.partitions()),
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
    probes_.reset();
    subscriber_.reset();
    for (auto& [channel, waiters] : std::exchange(waiting_, {})) {
        for (const std::shared_ptr<Waiter>& waiter : waiters) {
            answer(*waiter, Error{ErrorCode::unavailable, "the bus is closed", 0, 0});
        }
    }
}

void RedisBus::Hub::subscribe(std::size_t thread, std::vector<UserId> users, Subscribed done) {
    auto waiter = std::make_shared<Waiter>();
    waiter->thread = thread;
    waiter->done.emplace(std::move(done));
    if (!subscriber_) {
        answer(*waiter, Error{ErrorCode::unavailable, "the bus is closed", 0, 0});
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

void RedisBus::Hub::send(std::string channel, std::string message,
                         UniqueFunction<void()> not_sent) {
    const std::uint16_t slot = redis::slot_of(channel);
    Command command{{"SPUBLISH", std::move(channel), std::move(message)}, slot, nullptr, false};
    client_.execute(std::move(command), [self = shared_from_this(), local = std::move(not_sent)](
                                            const Result<Reply>& answer) mutable {
        if (!answer) {
            ++self->counters.not_sent;
            local();
            self->flush();
        }
    });
}

void RedisBus::Hub::publish(PresenceEventRef event, std::string message) {
    std::string channel = keys.channel(event->user);
    send(std::move(channel), std::move(message),
         [this, event = std::move(event)] { distribute(event); });
}

void RedisBus::Hub::publish_profile(ProfileChanged change) {
    const std::uint32_t partition = keys.partition_of(change.user);
    std::string message = redis::encode(change);
    send(keys.partition_channel(partition), std::move(message), [this, change = std::move(change)] {
        for (std::size_t thread = 0; thread < threads.size(); ++thread) {
            deliver_soon(thread, [change](Outlet& outlet) { outlet.profile(change); });
        }
    });
}

void RedisBus::Hub::publish_here(const PresenceEventRef& event) {
    distribute(event);
}

void RedisBus::Hub::deliver_home(const UserId& user, UniqueFunction<void(Outlet&)> what) {
    deliver_soon(IdHash{}(user) % threads.size(), std::move(what));
}

void RedisBus::Hub::publish_taken(SessionTaken taken) {
    if (taken.holder == node_ || !taken.holder) {
        const UserId user = taken.user;
        deliver_home(user, [taken = std::move(taken)](Outlet& outlet) { outlet.taken(taken); });
        return;
    }
    std::string message = redis::encode(taken);
    send(keys.node_channel(taken.holder), std::move(message), [] {});
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

void RedisBus::Hub::subscribe_room(std::size_t thread, RoomId room, Subscribed done) {
    auto waiter = std::make_shared<Waiter>();
    waiter->thread = thread;
    waiter->done.emplace(std::move(done));
    if (!subscriber_) {
        answer(*waiter, Error{ErrorCode::unavailable, "the bus is closed", 0, 0});
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

void RedisBus::Hub::set_node(NodeId node) {
    if (node == node_ || !subscriber_) {
        return;
    }
    const auto group = static_cast<std::uint32_t>(keys.partitions());
    if (node_) {
        subscriber_->remove(keys.node_channel(node_));
    }
    node_ = node;
    if (node_) {
        subscriber_->add(keys.node_channel(node_), group);
    }
}

void RedisBus::Hub::on_message(std::string_view channel, std::string_view payload) {
    ++counters.messages;
    redis::Message message = redis::decode_message(payload);
    if (const auto* const event = std::get_if<PresenceEventRef>(&message)) {
        distribute(*event);
    } else if (const auto* const change = std::get_if<ProfileChanged>(&message)) {
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
               to_room != nullptr && (*to_room)->room) {
        distribute_room(*(*to_room)->room,
                        [told = *to_room](Outlet& outlet) { outlet.signal(told); });
    } else if (const auto* const signal = std::get_if<SignalRef>(&message)) {
        deliver_home((*signal)->to, [told = *signal](Outlet& outlet) { outlet.signal(told); });
    } else if (const auto* const taken = std::get_if<SessionTaken>(&message)) {
        if (taken->holder == node_) {
            deliver_home(taken->user, [told = *taken](Outlet& outlet) { outlet.taken(told); });
        }
    } else if (const auto* const probe = std::get_if<redis::Probe>(&message)) {
        if (const std::optional<std::uint32_t> partition = keys.partition_of_channel(channel)) {
            take_probe(*partition, probe->incarnation);
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
        store().post([self = shared_from_this()] { self->flush(); });
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

void RedisBus::Hub::on_healed(std::uint32_t partition) {
    if (partition >= keys.partitions()) {
        return;  // This node's own channel: what was missed there the next commits find out.
    }
    ++counters.gaps;
    healed_.insert(partition);
    gather();
}

void RedisBus::Hub::shake() {
    ++counters.shaken;
    ++newly_shaken_;
    gather();
}

void RedisBus::Hub::gather() {
    if (!std::exchange(gathering_, true)) {
        store().after(kGather, [self = shared_from_this()] { self->tell_gathered(); });
    }
}

void RedisBus::Hub::tell_gathered() {
    gathering_ = false;
    if (const std::size_t shaken = std::exchange(newly_shaken_, 0); shaken > 0) {
        log::warning("redis_shaken", "{} partitions have a new life or another server", shaken);
    }
    const PartitionSet healed = std::exchange(healed_, PartitionSet(keys.partitions()));
    if (healed.size() == 0) {
        return;
    }
    log::info("redis_healed", "{} partitions are heard again", healed.size());
    for (std::size_t thread = 0; thread < threads.size(); ++thread) {
        deliver_soon(thread, [healed](Outlet& outlet) {
            if (outlet.gap) {
                outlet.gap(healed);
            }
        });
    }
}

void RedisBus::Hub::on_servers_changed() {
    for (std::uint32_t partition = 0; partition < keys.partitions(); ++partition) {
        std::string run_id = client_.run_id_of(keys.slot(partition));
        if (run_id.empty() || run_id == run_ids_[partition]) {
            continue;
        }
        if (!run_ids_[partition].empty()) {
            shake();
        }
        run_ids_[partition] = std::move(run_id);
    }
}

void RedisBus::Hub::take_probe(std::uint32_t partition, const std::string& incarnation) {
    probes_->heard(partition);
    std::string& known = incarnations_[partition];
    if (incarnation.empty() || incarnation == known) {
        return;
    }
    if (!known.empty()) {
        shake();
    }
    known = incarnation;
}

void RedisBus::Hub::send_probe(std::uint32_t partition) {
    if (!client_.owner_of(keys.slot(partition))) {
        return;
    }
    ++counters.probes_sent;
    Command command;
    command.script = &redis::probe_script();
    command.slot = keys.slot(partition);
    command.arguments = {
        "1",
        keys.incarnation(partition),
        fmt::format("{:x}", store().clock().wall_now().ms()) + fmt::format("{:x}", seed_),
        std::to_string(kIncarnationStays.count()),
        keys.partition_channel(partition),
        redis::probe_head()};
    client_.execute(std::move(command), [](const Result<Reply>&) {});
}

void RedisBus::Hub::on_silence(std::uint32_t partition) {
    ++counters.probes_missed;
    subscriber_->renew(partition);
}

}  // namespace presence
