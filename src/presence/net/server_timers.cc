#include "presence/net/server_state.h"

namespace presence::net {
namespace {

/// Deadlines here are seconds long; looking four times a second is exact enough, and one walk over
/// the few that have one is cheaper than a timer for each.
constexpr Millis kSweepEvery{250};

}  // namespace

void Server::State::set_deadline(Slot& slot, ConnectionId id, Deadline kind, Millis delay) {
    Extras& extras = extras_of(slot);
    if (extras.deadline == Deadline::none) {
        extras.timed_index = static_cast<std::uint32_t>(timed.size());
        timed.push_back(static_cast<std::uint32_t>(id.value));
    }
    extras.deadline = kind;
    extras.deadline_at = loop.clock().now() + delay;
    if (!sweep_timer) {
        const auto self = weak_from_this();
        sweep_timer = loop.after(kSweepEvery, [self] {
            if (const auto state = self.lock()) {
                state->sweep();
            }
        });
    }
}

void Server::State::clear_deadline(Slot& slot) {
    if (!slot.extras || slot.extras->deadline == Deadline::none) {
        return;
    }
    const std::uint32_t index = slot.extras->timed_index;
    slot.extras->deadline = Deadline::none;
    const std::uint32_t last = timed.back();
    timed[index] = last;
    slots.at(last).extras->timed_index = index;
    timed.pop_back();
}

void Server::State::sweep() {
    sweep_timer = {};
    const MonoTime now = loop.clock().now();
    std::vector<std::pair<ConnectionId, Deadline>> due;
    for (const std::uint32_t index : timed) {
        const Slot& slot = slots.at(index);
        if (slot.extras->deadline_at <= now) {
            const std::uint64_t upper = static_cast<std::uint64_t>(slot.generation) << 32;
            due.emplace_back(ConnectionId{upper | index}, slot.extras->deadline);
        }
    }
    for (const auto& [id, kind] : due) {
        const Slot* slot = slots.find(id);
        if (slot != nullptr && slot->extras && slot->extras->deadline == kind &&
            slot->extras->deadline_at <= now) {
            fire(id, kind);
        }
    }
    if (!timed.empty() && !sweep_timer) {
        const auto self = weak_from_this();
        sweep_timer = loop.after(kSweepEvery, [self] {
            if (const auto state = self.lock()) {
                state->sweep();
            }
        });
    }
}

void Server::State::fire(ConnectionId id, Deadline kind) {
    Slot& slot = *slots.find(id);
    switch (kind) {
        case Deadline::http_head:
        case Deadline::http_body:
            ++counters.http_timeouts;
            if (slot.extras->http->parser.has_begun()) {
                refuse_request(id, slot.extras->http->parser.request(), 408,
                               "the request took too long to arrive");
            } else {
                destroy(id);
            }
            break;
        case Deadline::http_idle:
        case Deadline::http_write:
            ++counters.http_timeouts;
            destroy(id);
            break;
        case Deadline::message:
            ++counters.message_timeouts;
            fail_protocol(id, close_code::kPolicy, "message never finished");
            break;
        case Deadline::close:
            ++counters.close_timeouts;
            lose(id);
            break;
        case Deadline::none:
            break;
    }
}

}  // namespace presence::net
