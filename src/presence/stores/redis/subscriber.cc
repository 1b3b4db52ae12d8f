#include "presence/stores/redis/subscriber.h"

#include "presence/base/assert.h"
#include "presence/base/log.h"
#include "presence/stores/redis/slots.h"

#include <algorithm>

namespace presence::redis {

namespace {
constexpr Millis kTick{250};
constexpr Millis kLookAgain{100};
}  // namespace

Subscriber::Subscriber(Client& client, Sink& sink) : client_(client), sink_(sink) {
    client_.add_listener(*this);
    tick_ = client_.thread().after(kTick, [this] { tick(); });
}

Subscriber::~Subscriber() {
    client_.remove_listener(*this);
    client_.thread().cancel(tick_);
}

void Subscriber::add(const std::string& name, std::uint32_t group) {
    const auto [entry, fresh] = channels_.try_emplace(name, Channel{slot_of(name), group});
    PRESENCE_ASSERT(fresh);
    ++counters_.channels;
    Slot& slot = slots_[entry->second.slot];
    ++slot.channels;
    if (slot.link == nullptr) {
        slot.link = link_for(entry->second.slot);
    }
    ask(name, entry->second);
}

void Subscriber::remove(const std::string& name) {
    const auto found = channels_.find(name);
    if (found == channels_.end()) {
        return;
    }
    Channel& channel = found->second;
    const auto slot = slots_.find(channel.slot);
    if (slot->second.link != nullptr) {
        slot->second.link->unsubscribe(name);
    }
    if (--slot->second.channels == 0) {
        slots_.erase(slot);
    }
    counters_.in_force -= channel.in_force ? 1U : 0U;
    --counters_.channels;
    settle_debt(channel);
    channels_.erase(name);
}

bool Subscriber::in_force(const std::string& name) const {
    const auto found = channels_.find(name);
    return found != channels_.end() && found->second.in_force;
}

bool Subscriber::is_near(const std::string& name) const {
    const auto slot = slots_.find(slot_of(name));
    return slot != slots_.end() && slot->second.link != nullptr &&
           slot->second.link->state() != ServerLink::State::down;
}

void Subscriber::owe(const std::string& name) {
    const auto found = channels_.find(name);
    if (found != channels_.end() && !found->second.in_force && !found->second.owed) {
        found->second.owed = true;
        ++owed_[found->second.group];
    }
}

void Subscriber::renew(std::uint32_t group) {
    client_.refresh_topology();
    std::vector<std::uint16_t> slots;
    for (auto& [name, channel] : channels_) {
        if (channel.group == group) {
            lose(channel);
            if (std::ranges::find(slots, channel.slot) == slots.end()) {
                slots.push_back(channel.slot);
            }
        }
    }
    ask_slots(slots);
}

void Subscriber::lose(Channel& channel) {
    if (!channel.in_force) {
        return;
    }
    channel.in_force = false;
    --counters_.in_force;
    ++counters_.lost;
    if (!channel.owed) {
        channel.owed = true;
        ++owed_[channel.group];
    }
}

void Subscriber::settle_debt(Channel& channel) {
    if (!channel.owed) {
        return;
    }
    channel.owed = false;
    const auto debt = owed_.find(channel.group);
    if (--debt->second == 0) {
        owed_.erase(debt);
        ++counters_.healed;
        sink_.on_healed(channel.group);
    }
}

PubSubLink* Subscriber::link_for(std::uint16_t slot) {
    const std::optional<Endpoint> owner = client_.owner_of(slot);
    if (!owner) {
        return nullptr;
    }
    std::unique_ptr<PubSubLink>& link = links_[*owner];
    if (!link) {
        link = std::make_unique<PubSubLink>(client_.link_parts(), *owner,
                                            static_cast<PubSubLink::Owner&>(*this));
        link->start();
    }
    return link.get();
}

void Subscriber::ask(const std::string& name, const Channel& channel) {
    PubSubLink* const link = slots_[channel.slot].link;
    if (link != nullptr) {
        link->subscribe(channel.slot, name);
    }
}

/// Asks for all that is not in force in `slots`, sorted or not.
void Subscriber::ask_slots(const std::vector<std::uint16_t>& slots) {
    for (const auto& [name, channel] : channels_) {
        if (!channel.in_force && std::ranges::find(slots, channel.slot) != slots.end()) {
            ask(name, channel);
        }
    }
}

void Subscriber::on_servers_changed() {
    std::vector<std::uint16_t> moved;
    for (auto& [number, slot] : slots_) {
        PubSubLink* const link = link_for(number);
        if (link != slot.link) {
            slot.link = link;
            moved.push_back(number);
        }
    }
    if (moved.empty()) {
        return;
    }
    for (auto& [name, channel] : channels_) {
        if (std::ranges::find(moved, channel.slot) != moved.end()) {
            lose(channel);
        }
    }
    ask_slots(moved);
    drop_unneeded_links();
}

void Subscriber::drop_unneeded_links() {
    for (auto each = links_.begin(); each != links_.end();) {
        PubSubLink* const link = each->second.get();
        const bool needed = std::ranges::any_of(
            slots_, [&](const auto& entry) { return entry.second.link == link; });
        if (needed) {
            ++each;
            continue;
        }
        leaving_.push_back(std::move(each->second));
        each = links_.erase(each);
    }
}

void Subscriber::link_ready(PubSubLink& link) {
    std::vector<std::uint16_t> slots;
    for (const auto& [number, slot] : slots_) {
        if (slot.link == &link) {
            slots.push_back(number);
        }
    }
    ask_slots(slots);
}

void Subscriber::link_lost(PubSubLink& link) {
    for (auto& [name, channel] : channels_) {
        if (slots_[channel.slot].link == &link) {
            lose(channel);
        }
    }
    client_.refresh_topology();
}

void Subscriber::confirmed(PubSubLink& link, std::string_view name) {
    const auto found = channels_.find(std::string(name));
    if (found == channels_.end() || slots_[found->second.slot].link != &link ||
        found->second.in_force) {
        return;
    }
    found->second.in_force = true;
    ++counters_.in_force;
    sink_.on_in_force(name);
    settle_debt(found->second);
}

void Subscriber::revoked(PubSubLink& link, std::string_view name) {
    const auto found = channels_.find(std::string(name));
    if (found == channels_.end() || slots_[found->second.slot].link != &link) {
        return;
    }
    lose(found->second);
    client_.refresh_topology();
    look_again_later();
}

void Subscriber::refused(PubSubLink& link, std::vector<std::string> channels,
                         std::string_view why) {
    if (why.starts_with("MOVED ")) {
        client_.note_moved(why, link.endpoint());
    } else {
        log::warning("redis_not_subscribed", "{} channels: {}", channels.size(), log::quoted(why));
        client_.refresh_topology();
    }
    look_again_later();
}

/// What is not in force and not under way is asked for once more; asking twice does no harm.
void Subscriber::look_again_later() {
    if (std::exchange(look_again_, true)) {
        return;
    }
    client_.thread().after(kLookAgain, [this] {
        look_again_ = false;
        std::vector<std::uint16_t> slots;
        for (const auto& [number, slot] : slots_) {
            slots.push_back(number);
        }
        ask_slots(slots);
    });
}

void Subscriber::message(std::string_view channel, std::string_view payload) {
    ++counters_.messages;
    sink_.on_message(channel, payload);
}

void Subscriber::tick() {
    for (const auto& [endpoint, link] : links_) {
        link->tick();
    }
    leaving_.clear();
    tick_ = client_.thread().after(kTick, [this] { tick(); });
}

}  // namespace presence::redis
