#include "presence/net/server_state.h"

#include <sys/epoll.h>
#include <unistd.h>
#include <utility>

namespace presence::net {

void Server::State::close(ConnectionId id, std::uint16_t code, std::string_view reason) {
    Slot* slot = slots.find(id);
    if (slot == nullptr || slot->stage == Stage::closing || slot->stage == Stage::lingering) {
        return;
    }
    if (slot->stage == Stage::http) {
        destroy(id);
        return;
    }
    slot->stage = Stage::closing;
    slot->paused = false;
    extras_of(*slot).close_sent = code;
    slot->extras->unfinished.reset();
    const std::string frame = encode_close_frame(code, reason);
    transmit(id, {}, frame, nullptr, false);
    slot = slots.find(id);
    if (slot != nullptr) {
        set_deadline(*slot, id, Deadline::close, limits.close_timeout);
        read_later(*slot, id);
    }
}

/// Ends our side once all is sent, and throws away what still comes, for a moment: closing with
/// unread bytes would make the kernel send a reset, which can overtake what we sent last.
void Server::State::linger(ConnectionId id) {
    Slot& slot = *slots.find(id);
    if (slot.at_end && !is_blocked(slot)) {
        destroy(id);
        return;
    }
    if (slot.stage == Stage::websocket || slot.stage == Stage::closing) {
        --websockets;
    }
    slot.stage = Stage::lingering;
    slot.paused = false;
    Extras& extras = extras_of(slot);
    extras.http.reset();
    extras.unfinished.reset();
    std::string().swap(extras.inbox);
    if (extras.deadline != Deadline::close) {
        set_deadline(slot, id, Deadline::close, limits.close_timeout);
    }
    if (!is_blocked(slot)) {
        finish_writing(slot.fd, tls_of(slot));
    }
    read_later(slot, id);
}

/// Sends one last frame ahead of all that has not begun to go out, then lingers.
void Server::State::linger_with(ConnectionId id, const std::string& last_frame) {
    drop_unsent(*slots.find(id));
    transmit(id, {}, last_frame, nullptr, false);
    if (slots.find(id) != nullptr) {
        linger(id);
    }
}

void Server::State::drop_unsent(Slot& slot) {
    if (!is_blocked(slot)) {
        return;
    }
    Outbox& outbox = *slot.extras->outbox;
    outbox.pong.clear();
    while (!outbox.pieces.empty() && !outbox.pieces.back().started) {
        outbox.bytes -= outbox.pieces.back().bytes->size();
        outbox.pieces.pop_back();
    }
    if (outbox.empty()) {
        slot.extras->outbox.reset();
    }
}

/// Puts the handler's notice in the queue; it comes when no call of the handler's is running.
void Server::State::report_end(Slot& slot, ConnectionId id, const CloseInfo& info) {
    ended.push_back({id, slot.tag, info});
    loop.request_batch_end();
}

/// The connection is of no more use: tells the handler what it does not know yet, and closes.
void Server::State::lose(ConnectionId id) {
    Slot& slot = *slots.find(id);
    if (slot.stage == Stage::websocket) {
        report_end(slot, id, {CloseInfo::How::lost, 0, false});
    } else if (slot.stage == Stage::closing) {
        report_end(slot, id, {CloseInfo::How::closed_by_us, slot.extras->close_sent, false});
    }
    destroy(id);
}

void Server::State::destroy(ConnectionId id) {
    Slot& slot = *slots.find(id);
    if (is_http(&slot, HttpSide::Phase::waiting) || is_http(&slot, HttpSide::Phase::streaming)) {
        lost_requests.push_back(id);
        loop.request_batch_end();
    }
    if (slot.stage == Stage::websocket || slot.stage == Stage::closing) {
        --websockets;
    }
    uncount_connection();
    clear_deadline(slot);
    if (slot.extras) {
        uncount(*slot.extras);
    }
    loop.remove_socket(slot.fd);
    ::close(slot.fd);
    slots.give_back(id);
}

DetachedConnection Server::State::release(ConnectionId id) {
    DetachedConnection detached;
    if (current.id == id) {
        answer_pings(id);
    }
    Slot* slot = slots.find(id);
    if (slot == nullptr || slot->stage != Stage::websocket) {
        return detached;
    }
    detached.parts_ = std::make_unique<DetachedConnection::Parts>();
    DetachedConnection::Parts& parts = *detached.parts_;
    parts.fd = slot->fd;
    parts.message_limit = slot->message_limit;
    parts.peer_ended = slot->peer_ended;
    if (slot->extras) {
        Extras& extras = *slot->extras;
        if (extras.deadline == Deadline::message) {
            parts.message_deadline = extras.deadline_at;
        }
        clear_deadline(*slot);
        uncount(extras);
        parts.tls = std::move(extras.tls);
        parts.inbox = std::move(extras.inbox);
        parts.unfinished = std::move(extras.unfinished);
        parts.outbox = std::move(extras.outbox);
    }
    if (current.id == id) {
        parts.inbox.assign(current.rest.data(), current.rest.size());
    }
    loop.remove_socket(slot->fd);
    slots.give_back(id);
    uncount_connection();
    --websockets;
    ++counters.released;
    return detached;
}

ConnectionId Server::State::adopt(DetachedConnection connection, UserTag tag) {
    PRESENCE_ASSERT(connection.parts_ != nullptr);
    DetachedConnection::Parts& parts = *connection.parts_;
    const ConnectionId id = slots.take();
    if (!loop.add_socket(parts.fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, id.value)) {
        slots.give_back(id);
        return {};
    }
    Slot& slot = slots.at(static_cast<std::uint32_t>(id.value));
    slot.fd = std::exchange(parts.fd, -1);
    slot.stage = Stage::websocket;
    slot.tag = tag;
    slot.message_limit = parts.message_limit;
    slot.peer_ended = parts.peer_ended;
    if (parts.tls || !parts.inbox.empty() || parts.unfinished || parts.outbox) {
        Extras& extras = extras_of(slot);
        extras.tls = std::move(parts.tls);
        extras.inbox = std::move(parts.inbox);
        extras.unfinished = std::move(parts.unfinished);
        extras.outbox = std::move(parts.outbox);
    }
    if (parts.message_deadline) {
        set_deadline(slot, id, Deadline::message, *parts.message_deadline - loop.clock().now());
    }
    count_connection();
    ++websockets;
    ++counters.adopted;
    read_later(slot, id);
    return id;
}

DetachedConnection::Parts::~Parts() {
    if (fd >= 0) {
        ::close(fd);
    }
}

DetachedConnection::DetachedConnection() noexcept = default;
DetachedConnection::DetachedConnection(DetachedConnection&&) noexcept = default;
DetachedConnection& DetachedConnection::operator=(DetachedConnection&&) noexcept = default;
DetachedConnection::~DetachedConnection() = default;

}  // namespace presence::net
