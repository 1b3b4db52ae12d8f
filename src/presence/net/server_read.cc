#include "presence/net/server_state.h"

#include <sys/epoll.h>

namespace presence::net {
namespace {

/// Received at once. One connection cannot hold up the others longer than kRounds of it.
constexpr std::size_t kBufferSize = 64 * 1024;
constexpr int kRounds = 4;

/// A string of no more than this is kept as it is, however little of it is used.
constexpr std::size_t kSmallString = 1024;

}  // namespace

Server::State::State(Loop& the_loop, Handler& the_handler, const NetLimits& the_limits,
                     std::shared_ptr<Strangers> the_strangers)
    : loop(the_loop),
      handler(the_handler),
      limits(the_limits),
      strangers(std::move(the_strangers)),
      buffer(std::make_unique<char[]>(kBufferSize)) {}

void Server::State::on_ready(std::uint64_t token, std::uint32_t events) {
    if ((token >> 32) == 0) {
        accept_all(token);
        return;
    }
    const ConnectionId id{token};
    Slot* slot = slots.find(id);
    if (slot == nullptr) {
        return;
    }
    constexpr std::uint32_t kOver = EPOLLHUP | EPOLLERR;
    if ((events & (EPOLLRDHUP | kOver)) != 0) {
        slot->peer_ended = true;
    }
    if ((events & EPOLLOUT) != 0 && is_blocked(*slot)) {
        flush(id);
        slot = slots.find(id);
        if (slot == nullptr) {
            return;
        }
    }
    if ((events & kOver) != 0 && !wants_bytes(*slot)) {
        lose(id);
        return;
    }
    if (slot->peer_ended && !wants_bytes(*slot)) {
        tell_half_closed(id);  // The end lies behind pipelined requests that are not read now.
        return;
    }
    read_socket(id);
}

bool Server::State::wants_bytes(const Slot& slot) const {
    if (slot.at_end) {
        return false;
    }
    if (slot.stage != Stage::http) {
        return !slot.paused;
    }
    switch (slot.extras->http->phase) {
        case HttpSide::Phase::streaming:
            return true;
        case HttpSide::Phase::reading:
        case HttpSide::Phase::waiting:
            return slot.extras->inbox.size() < limits.http_pipelined_bytes;
        case HttpSide::Phase::answered:
            return false;
    }
    return false;
}

void Server::State::read_socket(ConnectionId id) {
    for (int round = 0; round < kRounds; ++round) {
        Slot* slot = slots.find(id);
        if (slot == nullptr || !wants_bytes(*slot)) {
            return;
        }
        ssl_st* const tls = tls_of(*slot);
        const IoResult got = read_some(slot->fd, tls, {buffer.get(), kBufferSize});
        if (got.status == IoResult::Status::would_block) {
            return;
        }
        if (got.status != IoResult::Status::done) {
            at_end_of_input(id, got.status == IoResult::Status::failed);
            return;
        }
        counters.bytes_in += got.bytes;
        // A short read has emptied the socket: the next bytes are a new edge. Not so through TLS,
        // nor when the end of the stream is behind them.
        const bool empty = tls == nullptr && got.bytes < kBufferSize && !slot->peer_ended;
        consume(id, {buffer.get(), got.bytes});
        if (empty) {
            return;
        }
    }
    if (Slot* slot = slots.find(id)) {
        read_later(*slot, id);
    }
}

void Server::State::read_later(Slot& slot, ConnectionId id) {
    if (!slot.queued) {
        slot.queued = true;
        to_read.push_back(id);
        loop.request_batch_end();
    }
}

/// Gives bytes to whoever reads the connection now; what is left waits in the inbox.
void Server::State::consume(ConnectionId id, std::span<char> bytes) {
    Slot* slot = slots.find(id);
    if (slot->stage == Stage::lingering) {
        return;
    }
    std::string joined;
    std::span<char> unread = bytes;
    if (slot->extras && !slot->extras->inbox.empty()) {
        joined.swap(slot->extras->inbox);
        joined.append(bytes.data(), bytes.size());
        unread = joined;
    }
    std::size_t used = 0;
    if (slot->stage == Stage::http) {
        used = consume_http(id, unread);
        slot = slots.find(id);
    }
    // Frames may follow the handshake in the same bytes.
    if (slot != nullptr && (slot->stage == Stage::websocket || slot->stage == Stage::closing)) {
        used += consume_frames(id, unread.subspan(used));
        slot = slots.find(id);
    }
    if (slot != nullptr && slot->stage != Stage::lingering) {
        keep_rest(*slot, joined, unread.subspan(used));
        trim(*slot);
    }
}

/// `rest` lies in `joined`, or in the shared buffer where that is empty.
void Server::State::keep_rest(Slot& slot, std::string& joined, std::span<const char> rest) {
    if (rest.empty()) {
        return;
    }
    Extras& extras = extras_of(slot);
    const bool worth_moving =
        joined.capacity() <= kSmallString || joined.capacity() <= 2 * rest.size();
    if (!joined.empty() && worth_moving) {
        joined.erase(0, joined.size() - rest.size());
        extras.inbox.swap(joined);
    } else {
        extras.inbox.assign(rest.data(), rest.size());
    }
}

void Server::State::at_end_of_input(ConnectionId id, bool failed) {
    Slot& slot = *slots.find(id);
    slot.at_end = true;
    const bool answer_coming =
        is_http(&slot, HttpSide::Phase::waiting) || is_http(&slot, HttpSide::Phase::answered);
    const bool sending = slot.stage == Stage::lingering && is_blocked(slot);
    if (!failed && (answer_coming || sending)) {
        // It only closed its own side, as it may: it still gets what it asked for.
        tell_half_closed(id);
        return;
    }
    if (slot.extras && slot.extras->tls && !is_established(slot.extras->tls.get())) {
        ++counters.tls_failures;
    }
    lose(id);
}

void Server::State::tell_half_closed(ConnectionId id) {
    Slot& slot = *slots.find(id);
    if (is_http(&slot, HttpSide::Phase::waiting) && !slot.extras->http->told_end) {
        slot.extras->http->told_end = true;
        handler.on_request_half_closed(id);
    }
}

/// What could not be done where it arose: reading on, and notices that must not come from inside
/// a call of the handler's. Runs at the end of each batch of the loop.
void Server::State::run_deferred() {
    std::vector<ConnectionId> reading;
    reading.swap(to_read);
    for (const ConnectionId id : reading) {
        Slot* slot = slots.find(id);
        if (slot == nullptr) {
            continue;
        }
        slot->queued = false;
        if (slot->extras && !slot->extras->inbox.empty()) {
            consume(id, {});
        }
        read_socket(id);
    }
    while (!ended.empty() || !lost_requests.empty()) {
        std::vector<Ended> ends;
        std::vector<ConnectionId> lost;
        ends.swap(ended);
        lost.swap(lost_requests);
        for (const Ended& end : ends) {
            handler.on_closed(end.id, end.tag, end.info);
        }
        for (const ConnectionId id : lost) {
            handler.on_request_lost(id);
        }
    }
}

Extras& Server::State::extras_of(Slot& slot) {
    if (!slot.extras) {
        slot.extras = std::make_unique<Extras>();
    }
    return *slot.extras;
}

void Server::State::trim(Slot& slot) {
    if (slot.stage == Stage::websocket && slot.extras && slot.extras->is_idle()) {
        slot.extras.reset();
    }
}

}  // namespace presence::net
