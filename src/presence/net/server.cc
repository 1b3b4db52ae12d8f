#include "presence/net/server.h"

#include "presence/net/server_state.h"

#include <algorithm>
#include <unistd.h>
#include <utility>

namespace presence::net {

HttpResponse Handler::on_bad_request(const HttpRequest&, int status, std::string_view why) {
    HttpResponse response;
    response.status = status;
    response.content_type = "text/plain; charset=utf-8";
    response.body = std::string(why) + "\n";
    return response;
}

Server::Server(Loop& loop, Handler& handler, NetLimits limits, std::shared_ptr<Strangers> strangers)
    : state_(std::make_shared<State>(
          loop, handler, limits,
          strangers ? std::move(strangers) : std::make_shared<Strangers>())) {
    loop.set_socket_handler(this);
    loop.add_batch_end([watched = std::weak_ptr(state_)] {
        if (const auto state = watched.lock()) {
            state->run_deferred();
        }
    });
}

/// Closes all without a word to the handler: it is on its way out itself.
Server::~Server() {
    state_->stop_accepting();
    state_->loop.cancel(state_->sweep_timer);
    for (std::uint32_t i = 0; i < state_->slots.size(); ++i) {
        const Slot& slot = state_->slots.at(i);
        if (slot.stage != Stage::free) {
            const std::uint64_t upper = static_cast<std::uint64_t>(slot.generation) << 32;
            state_->destroy(ConnectionId{upper | i});
        }
    }
    if (state_->reserve_fd >= 0) {
        ::close(state_->reserve_fd);
    }
    state_->loop.set_socket_handler(nullptr);
}

void Server::on_socket_soon(std::uint64_t token) {
    state_->slots.prefetch(ConnectionId{token});
}

void Server::on_socket_ready(std::uint64_t token, std::uint32_t events) {
    state_->on_ready(token, events);
}

void Server::listen(std::shared_ptr<Listener> listener, std::shared_ptr<TlsContext> tls) {
    state_->listen(std::move(listener), std::move(tls));
}

void Server::reload_tls(std::shared_ptr<TlsContext> tls) {
    for (auto& each : state_->listeners) {
        if (each.tls) {
            each.tls = tls;
        }
    }
}

void Server::stop_accepting() {
    state_->stop_accepting();
}

void Server::respond(ConnectionId id, HttpResponse response) {
    state_->answer(id, std::move(response));
}

void Server::respond_stream(ConnectionId id, HttpResponse head) {
    state_->start_stream(id, head);
}

SendResult Server::send_raw(ConnectionId id, std::string_view bytes) {
    if (!State::is_http(state_->slots.find(id), HttpSide::Phase::streaming)) {
        return SendResult::closed;
    }
    return state_->transmit(id, {}, bytes, nullptr, true);
}

void Server::end_stream(ConnectionId id) {
    state_->end_stream(id);
}

bool Server::accept_websocket(ConnectionId id, std::string_view subprotocol, UserTag tag) {
    return state_->accept_websocket(id, subprotocol, tag);
}

SendResult Server::send_text(ConnectionId id, std::string_view text) {
    if (!is_open(id)) {
        return SendResult::closed;
    }
    ++state_->counters.frames_out;
    return state_->transmit(id, encode_header(Opcode::text, text.size()).view(), text, nullptr,
                            true);
}

SendResult Server::send_text_shared(ConnectionId id,
                                    const std::shared_ptr<const std::string>& frame) {
    if (!is_open(id)) {
        return SendResult::closed;
    }
    ++state_->counters.frames_out;
    return state_->transmit(id, {}, *frame, frame, true);
}

SendResult Server::send_ping(ConnectionId id) {
    if (!is_open(id)) {
        return SendResult::closed;
    }
    return state_->transmit(id, encode_header(Opcode::ping, 0).view(), {}, nullptr, true);
}

void Server::close(ConnectionId id, std::uint16_t code, std::string_view reason) {
    state_->close(id, code, reason);
}

void Server::abort(ConnectionId id) {
    const Slot* slot = state_->slots.find(id);
    if (slot == nullptr || slot->stage == Stage::lingering) {
        return;
    }
    if (slot->stage == Stage::websocket || slot->stage == Stage::closing) {
        state_->report_end(*state_->slots.find(id), id, {CloseInfo::How::closed_by_us, 0, false});
    }
    state_->destroy(id);
}

void Server::resume_reading(ConnectionId id) {
    Slot* slot = state_->slots.find(id);
    if (slot != nullptr && slot->paused) {
        slot->paused = false;
        state_->read_later(*slot, id);
    }
}

void Server::set_message_limit(ConnectionId id, std::uint32_t bytes) {
    if (Slot* slot = state_->slots.find(id)) {
        slot->message_limit = bytes;
    }
}

void Server::set_admitted(ConnectionId id) {
    Slot* slot = state_->slots.find(id);
    if (slot != nullptr && slot->extras) {
        state_->uncount(*slot->extras);
        // While the connection is being read its extras are in use; they go when that is done.
        if (state_->current.id != id) {
            state_->trim(*slot);
        }
    }
}

bool Server::count_for(ConnectionId id, const RemoteAddress& client) {
    Slot* slot = state_->slots.find(id);
    return slot == nullptr || state_->count_for(*slot, client);
}

DetachedConnection Server::release(ConnectionId id) {
    return state_->release(id);
}

ConnectionId Server::adopt(DetachedConnection connection, UserTag tag) {
    return state_->adopt(std::move(connection), tag);
}

bool Server::is_open(ConnectionId id) const noexcept {
    const Slot* slot = state_->slots.find(id);
    return slot != nullptr && slot->stage == Stage::websocket;
}

std::size_t Server::queued_bytes(ConnectionId id) const noexcept {
    const Slot* slot = state_->slots.find(id);
    return slot == nullptr || !State::is_blocked(*slot) ? 0 : slot->extras->outbox->bytes;
}

bool Server::is_blocked(ConnectionId id) const noexcept {
    const Slot* slot = state_->slots.find(id);
    return slot != nullptr && State::is_blocked(*slot);
}

std::optional<MonoTime> Server::blocked_since(ConnectionId id) const noexcept {
    const Slot* slot = state_->slots.find(id);
    if (slot == nullptr || !State::is_blocked(*slot)) {
        return std::nullopt;
    }
    return slot->extras->outbox->blocked_since;
}

bool Server::has_client(ConnectionId id) const noexcept {
    const Slot* slot = state_->slots.find(id);
    return (State::is_http(slot, HttpSide::Phase::waiting) ||
            State::is_http(slot, HttpSide::Phase::streaming)) &&
           !slot->at_end && !slot->extras->http->told_end;
}

RemoteAddress Server::remote_address(ConnectionId id) const {
    const Slot* slot = state_->slots.find(id);
    return slot == nullptr ? RemoteAddress{} : peer_address(slot->fd);
}

std::size_t Server::connection_count() const noexcept {
    return state_->connections;
}
std::size_t Server::shared_connection_count() const noexcept {
    return state_->strangers->connections();
}
std::size_t Server::websocket_count() const noexcept {
    return state_->websockets;
}
const NetCounters& Server::counters() const noexcept {
    return state_->counters;
}
const NetLimits& Server::limits() const noexcept {
    return state_->limits;
}
void Server::set_limits(const NetLimits& limits) {
    state_->limits = limits;
}

}  // namespace presence::net
