// Whether masters take what needs room (DESIGN rule 30: a store that refuses writes is degraded).

#include "presence/base/log.h"
#include "presence/stores/redis/client_state.h"
#include "presence/stores/redis/scripts.h"

#include <algorithm>
#include <utility>

namespace presence::redis {

namespace {
/// How often a master is asked: where it had room, as often as a lease is renewed, or who comes on
/// another node would be shown offline for longer; where it had none, all wait for its answer.
constexpr Millis kAskEvery{2'000};
constexpr Millis kAskFullEvery{1'000};
}  // namespace

/// Slots of one master mostly follow each other.
std::vector<CommandLink*> Client::State::masters() const {
    std::vector<CommandLink*> found;
    const CommandLink* last = nullptr;
    for (CommandLink* const link : slots_) {
        if (link != last && link != nullptr && std::ranges::find(found, link) == found.end()) {
            found.push_back(link);
        }
        last = link;
    }
    return found;
}

void Client::State::ask_for_room() {
    const MonoTime now = thread.clock().now();
    if (now - room_asked_at_ < (full_.empty() ? kAskEvery : kAskFullEvery)) {
        return;
    }
    room_asked_at_ = now;
    for (CommandLink* const master : masters()) {
        if (master->state() != ServerLink::State::ready) {
            continue;
        }
        Call call;
        call.command.script = &room_script();
        call.command.arguments = {"0"};
        call.deadline = now + config.request_timeout;
        call.done = [](Result<Reply>) {};  // What it says is noted as that of any other.
        ++alive_;
        master->submit(std::move(call));
    }
}

void Client::State::note_room(const Endpoint& master, ReplyView answer) {
    if (classify(answer) == ReplyError::none) {
        if (full_.erase(master) > 0) {
            log::warning("redis_has_room", "{} takes writes again", to_string(master));
        }
    } else if (full_.insert(master).second) {
        log::warning("redis_full", "{} refuses writes: {}", to_string(master),
                     log::quoted(answer.text()));
    }
    refuses_writes = !full_.empty();
}

void Client::State::forget_room(const Endpoint& master) {
    full_.erase(master);
    refuses_writes = !full_.empty();
}

}  // namespace presence::redis
