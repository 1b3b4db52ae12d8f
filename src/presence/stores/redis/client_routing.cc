// Which link a call takes, and what becomes of an answer.

#include "presence/base/log.h"
#include "presence/stores/redis/client_state.h"

#include <fmt/format.h>

#include <algorithm>

namespace presence::redis {

namespace {
constexpr Millis kTick{50};
constexpr Millis kTryAgain{50};
constexpr unsigned kMostHops = 8;
constexpr std::int64_t kRetryAfterMs = 1000;

Error unavailable(std::string why) {
    return {ErrorCode::unavailable, "the store: " + std::move(why), kRetryAfterMs, 0};
}
}  // namespace

void Client::State::begin() {
    dial_seeds();
    thread.after(kTick, [this] { tick(); });
}

void Client::State::end() {
    ending_ = true;
    listeners.clear();
    slots_.fill(nullptr);
    links_.clear();
    leaving_.clear();
    for (auto& [at, call] : std::exchange(parked_, {})) {
        fail(std::move(call), "it is closed");
    }
}

void Client::State::execute(Command command, UniqueFunction<void(Result<Reply>)> done) {
    ++counters.calls;
    ++alive_;
    Call call;
    call.command = std::move(command);
    call.deadline = thread.clock().now() + config.request_timeout;
    call.done = std::move(done);
    // Those of gateways were counted when they were handed in; this holds back the bus.
    if (alive_ > 2 * config.queue) {
        ++counters.refused;
        fail(std::move(call), "too many calls wait for it");
        return;
    }
    dispatch(std::move(call));
}

void Client::State::dispatch(Call call) {
    if (ending_) {
        fail(std::move(call), "it is closed");
        return;
    }
    if (!refused_.empty()) {
        fail(std::move(call), refused_);
        return;
    }
    if (thread.clock().now() >= call.deadline) {
        fail(std::move(call), "no answer in time");
        return;
    }
    CommandLink* const link = slots_[call.command.slot];
    if (link != nullptr) {
        submit(*link, std::move(call));
        return;
    }
    const bool hopeful = std::ranges::any_of(
        links_, [](const auto& each) { return each.second->state() != ServerLink::State::down; });
    if (hopeful) {
        park(std::move(call));
        refresh_topology();
    } else {
        fail(std::move(call), "no server can be reached");
    }
}

void Client::State::submit(CommandLink& link, Call call) {
    if (link.state() == ServerLink::State::down) {
        refresh_topology();
        fail(std::move(call), "a server of it is down");
        return;
    }
    link.submit(std::move(call));
}

void Client::State::park(Call call) {
    ++counters.put_off;
    parked_.emplace_back(thread.clock().now() + kTryAgain, std::move(call));
}

void Client::State::fail(Call call, const std::string& why) {
    ++counters.failed;
    finish(std::move(call), unavailable(why));
}

void Client::State::finish(Call call, Result<Reply> result) {
    --alive_;
    call.done(std::move(result));
}

void Client::State::answered(CommandLink& link, Call call, Reply reply) {
    const ReplyView view = reply.view();
    switch (classify(view)) {
        case ReplyError::none:
            if (call.command.script != nullptr && call.command.script->needs_room) {
                note_room(link.endpoint(), view);
            }
            finish(std::move(call), std::move(reply));
            return;
        case ReplyError::no_script:
            if (!call.whole_script && call.command.script != nullptr) {
                ++counters.scripts_sent;
                call.whole_script = true;
                link.submit(std::move(call));
                return;
            }
            break;
        case ReplyError::moved:
            redirect(link, std::move(call), view, true);
            return;
        case ReplyError::ask:
            redirect(link, std::move(call), view, false);
            return;
        case ReplyError::cluster_down:
        case ReplyError::master_down:
            refresh_topology();
            park(std::move(call));
            return;
        case ReplyError::try_again:
        case ReplyError::loading:
            park(std::move(call));
            return;
        case ReplyError::read_only:
            park(std::move(call));
            refresh_topology();
            link.reset("it has become a replica");
            return;
        case ReplyError::out_of_memory:
            ++counters.writes_refused;
            note_room(link.endpoint(), view);
            fail(std::move(call), std::string(view.text()));
            return;
        case ReplyError::no_auth:
            fail(std::move(call), std::string(view.text()));
            return;
        case ReplyError::other:
            break;
    }
    ++counters.mistakes;
    log::error("redis_mistake", "{}", log::quoted(view.text()));
    finish(std::move(call), Error{ErrorCode::internal, std::string(view.text()), 0, 0});
}

void Client::State::redirect(CommandLink& link, Call call, ReplyView reply, bool for_good) {
    ++counters.redirected;
    const std::optional<Redirection> to = parse_redirection(reply.text(), link.endpoint());
    if (!to || ++call.hops > kMostHops || !config.cluster) {
        fail(std::move(call), std::string(reply.text()));
        return;
    }
    call.asking = !for_good;
    if (for_good) {
        note_moved(*to);
    }
    CommandLink& there = link_to(to->to);
    if (there.state() == ServerLink::State::down) {
        park(std::move(call));
    } else {
        there.submit(std::move(call));
    }
}

void Client::State::unanswered(Call call, bool sent, const std::string& why) {
    if (ending_) {
        fail(std::move(call), "it is closed");
    } else if (sent && !call.command.repeatable) {
        fail(std::move(call), why);
    } else {
        call.asking = false;
        dispatch(std::move(call));
    }
}

void Client::State::tick() {
    const MonoTime now = thread.clock().now();
    for (auto& [endpoint, link] : links_) {
        link->tick();
    }
    std::deque<std::pair<MonoTime, Call>> due;
    while (!parked_.empty() && parked_.front().first <= now) {
        due.push_back(std::move(parked_.front()));
        parked_.pop_front();
    }
    for (auto& [at, call] : due) {
        call.asking = false;
        dispatch(std::move(call));
    }
    if (config.cluster) {
        if (std::ranges::none_of(links_, [](const auto& each) {
                return each.second->state() == ServerLink::State::ready;
            })) {
            dial_seeds();
        }
        if (topology_wanted_ || now - topology_at_ >= config.topology_every) {
            ask_topology();
        }
    }
    ask_for_room();
    leaving_.clear();
    thread.after(kTick, [this] { tick(); });
}

}  // namespace presence::redis
