#include "presence/net/server_state.h"

#include <utility>

namespace presence::net {

SendResult Server::State::transmit(ConnectionId id, std::string_view first, std::string_view second,
                                   const std::shared_ptr<const std::string>& owner, bool bounded) {
    Slot& slot = *slots.find(id);
    if (is_blocked(slot)) {
        Outbox& outbox = *slot.extras->outbox;
        if (bounded && outbox.bytes + first.size() + second.size() > limits.send_queue_bytes) {
            ++counters.send_overflows;
            return SendResult::overflow;
        }
        enqueue(outbox, first, second, owner, false);
        return SendResult::blocked;
    }
    std::size_t left = first.size() + second.size();
    while (left > 0) {
        const IoResult put = write_some(slot.fd, tls_of(slot), first, second);
        if (put.status == IoResult::Status::would_block) {
            break;
        }
        if (put.status != IoResult::Status::done) {
            lose(id);
            return SendResult::closed;
        }
        counters.bytes_out += put.bytes;
        left -= put.bytes;
        const std::size_t of_first = std::min(put.bytes, first.size());
        first.remove_prefix(of_first);
        second.remove_prefix(put.bytes - of_first);
    }
    if (left == 0) {
        return SendResult::sent;
    }
    ++counters.sends_blocked;
    auto& outbox = extras_of(slot).outbox;
    outbox = std::make_unique<Outbox>();
    outbox->blocked_since = loop.clock().now();
    enqueue(*outbox, first, second, owner, true);
    return SendResult::blocked;
}

void Server::State::enqueue(Outbox& outbox, std::string_view first, std::string_view second,
                            const std::shared_ptr<const std::string>& owner, bool started) {
    outbox.bytes += first.size() + second.size();
    if (!owner || second.empty()) {
        std::string copy;
        copy.reserve(first.size() + second.size());
        copy.append(first).append(second);
        outbox.pieces.push_back({std::make_shared<const std::string>(std::move(copy)), 0, started});
        return;
    }
    if (!first.empty()) {
        outbox.pieces.push_back({std::make_shared<const std::string>(first), 0, started});
    }
    outbox.pieces.push_back({owner, owner->size() - second.size(), started});
}

/// Sends the answers kept in `current`; to a reader that is behind, the newest alone.
void Server::State::send_pongs(ConnectionId id) {
    Slot& slot = *slots.find(id);
    if (!is_blocked(slot)) {
        transmit(id, current.pongs, {}, nullptr, false);
        return;
    }
    std::string& pong = slot.extras->outbox->pong;
    counters.pongs_merged += current.pong_count - (pong.empty() ? 1U : 0U);
    pong.assign(current.pongs, current.newest_pong_at);
}

/// Sends what waits; afterwards the connection may be gone.
void Server::State::flush(ConnectionId id) {
    while (flush_some(id)) {
    }
}

/// One write. True: there is more, and the socket may take more.
bool Server::State::flush_some(ConnectionId id) {
    Slot& slot = *slots.find(id);
    Outbox& outbox = *slot.extras->outbox;
    if (!outbox.pong.empty() && (outbox.pieces.empty() || !outbox.pieces.front().started)) {
        outbox.bytes += outbox.pong.size();
        outbox.pieces.push_front(
            {std::make_shared<const std::string>(std::move(outbox.pong)), 0, false});
        outbox.pong.clear();
    }
    const auto rest_of = [](Outbox::Piece& piece) {
        piece.started = true;
        return std::string_view(*piece.bytes).substr(piece.sent);
    };
    const std::string_view first = rest_of(outbox.pieces[0]);
    const std::string_view second =
        outbox.pieces.size() > 1 ? rest_of(outbox.pieces[1]) : std::string_view{};
    const IoResult put = write_some(slot.fd, tls_of(slot), first, second);
    if (put.status == IoResult::Status::would_block) {
        return false;
    }
    if (put.status != IoResult::Status::done) {
        lose(id);
        return false;
    }
    counters.bytes_out += put.bytes;
    outbox.bytes -= put.bytes;
    outbox.blocked_since = loop.clock().now();
    std::size_t gone = put.bytes;
    while (!outbox.pieces.empty()) {
        Outbox::Piece& piece = outbox.pieces.front();
        const std::size_t left = piece.bytes->size() - piece.sent;
        if (gone < left) {
            piece.sent += gone;
            break;
        }
        gone -= left;
        outbox.pieces.pop_front();
    }
    if (!outbox.empty()) {
        if (slot.extras->deadline == Deadline::http_write) {
            set_deadline(slot, id, Deadline::http_write, limits.http_write_timeout);
        }
        return true;
    }
    slot.extras->outbox.reset();
    after_flush(id);
    return false;
}

void Server::State::after_flush(ConnectionId id) {
    Slot& slot = *slots.find(id);
    if (is_http(&slot, HttpSide::Phase::answered)) {
        after_answer(id);
    } else if (is_http(&slot, HttpSide::Phase::reading)) {
        read_later(slot, id);
    } else if (slot.stage == Stage::lingering) {
        linger(id);
    } else if (slot.stage != Stage::closing) {
        trim(slot);
        handler.on_drained(id, slot.tag);
    }
}

}  // namespace presence::net
