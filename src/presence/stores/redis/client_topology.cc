// Which servers there are, and which of them is the master of what.

#include "presence/base/log.h"
#include "presence/stores/redis/client_state.h"

#include <algorithm>
#include <set>

namespace presence::redis {

CommandLink& Client::State::link_to(const Endpoint& endpoint) {
    std::unique_ptr<CommandLink>& link = links_[endpoint];
    if (!link) {
        link = std::make_unique<CommandLink>(parts, endpoint, *this);
        link->start();
    }
    return *link;
}

void Client::State::dial_seeds() {
    for (const Endpoint& endpoint : config.endpoints) {
        CommandLink& link = link_to(endpoint);
        if (!config.cluster) {
            slots_.fill(&link);
        }
    }
}

void Client::State::link_ready(CommandLink& link) {
    log::info("redis_connected", "{}, version {}", to_string(link.endpoint()),
              link.facts().version);
    if (config.cluster) {
        refresh_topology();
    }
    look_at_health();
    tell_listeners();
}

void Client::State::link_lost(CommandLink& link, const std::string& why) {
    ++counters.lost;
    forget_room(link.endpoint());
    if (!told_down_) {
        log::warning("redis_lost", "{}: {}", to_string(link.endpoint()), log::quoted(why));
    }
    if (link.hopeless() && !contacted_) {
        make_contact(Error{ErrorCode::bad_request, to_string(link.endpoint()) + ": " + why, 0, 0});
    }
    if (config.cluster) {
        refresh_topology();
    }
    look_at_health();
    tell_listeners();
}

void Client::State::look_at_health() {
    const bool now_usable = std::ranges::all_of(slots_, [](const CommandLink* link) {
        return link != nullptr && link->state() == ServerLink::State::ready;
    });
    usable = now_usable;
    if (now_usable) {
        if (std::exchange(told_down_, false)) {
            log::warning("redis_back", "all of it answers again");
        }
        make_contact(true);
    } else if (!told_down_ && (contacted_ || std::ranges::any_of(links_, [](const auto& each) {
                                   return each.second->state() == ServerLink::State::down;
                               }))) {
        told_down_ = true;
        log::warning("redis_away", "some or all of it does not answer");
    }
}

void Client::State::make_contact(Result<bool> how) {
    if (!std::exchange(contacted_, true)) {
        first_contact.set_value(std::move(how));
    }
}

void Client::State::tell_listeners() {
    for (Listener* const listener : std::vector<Listener*>(listeners)) {
        listener->on_servers_changed();
    }
}

void Client::State::note_moved(const Redirection& redirection) {
    CommandLink& link = link_to(redirection.to);
    if (slots_[redirection.slot] != &link) {
        slots_[redirection.slot] = &link;
        refresh_topology();
        look_at_health();
        tell_listeners();
    }
}

void Client::State::refresh_topology() {
    topology_wanted_ = config.cluster;
}

void Client::State::ask_topology() {
    const MonoTime now = thread.clock().now();
    if (topology_asked_ || now - topology_at_ < config.topology_pause) {
        return;
    }
    std::vector<CommandLink*> ready;
    for (const auto& [endpoint, link] : links_) {
        if (link->state() == ServerLink::State::ready) {
            ready.push_back(link.get());
        }
    }
    if (ready.empty()) {
        return;
    }
    CommandLink& asked = *ready[next_asked_++ % ready.size()];
    topology_asked_ = true;
    topology_wanted_ = false;
    topology_at_ = now;
    Call call;
    call.command.arguments = {"CLUSTER", "SLOTS"};
    call.deadline = now + config.request_timeout;
    ++alive_;
    call.done = [this, endpoint = asked.endpoint()](Result<Reply> reply) {
        topology_asked_ = false;
        if (!ending_) {
            take_topology(endpoint, std::move(reply));
        }
    };
    asked.submit(std::move(call));
}

void Client::State::take_topology(const Endpoint& asked, Result<Reply> reply) {
    if (!reply) {
        topology_wanted_ = true;
        return;
    }
    Result<std::vector<SlotRange>> ranges = parse_cluster_slots(reply->view(), asked);
    if (!ranges || ranges->empty()) {
        log::warning("redis_no_topology", "{} knows no slots", to_string(asked));
        topology_wanted_ = true;
        return;
    }
    ++counters.topologies;
    bool changed = false;
    for (const SlotRange& range : *ranges) {
        CommandLink* const link = &link_to(range.master);
        for (std::size_t slot = range.first; slot <= range.last; ++slot) {
            changed = changed || slots_[slot] != link;
            slots_[slot] = link;
        }
    }
    // A master that is down has no successor yet: look again soon.
    topology_wanted_ = std::ranges::any_of(slots_, [](const CommandLink* link) {
        return link == nullptr || link->state() == ServerLink::State::down;
    });
    drop_unneeded_links();
    look_at_health();
    if (changed) {
        log::info("redis_topology", "{} ranges of slots on {} masters", ranges->size(),
                  links_.size());
        tell_listeners();
    }
}

void Client::State::drop_unneeded_links() {
    const std::set<const CommandLink*> needed(slots_.begin(), slots_.end());
    for (auto each = links_.begin(); each != links_.end();) {
        if (!needed.contains(each->second.get()) && each->second->under_way() == 0) {
            const auto gone = each++;
            forget_room(gone->first);
            leaving_.insert(links_.extract(gone));
        } else {
            ++each;
        }
    }
}

}  // namespace presence::redis
