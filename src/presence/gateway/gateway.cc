#include "presence/gateway/gateway.h"

#include "presence/base/log.h"

namespace presence::gateway {

namespace {
constexpr Millis kTimerTick{100};
/// Ten times a rate: who goes beyond is closed, who merely touches it is told (PROTOCOL.md).
constexpr double kTolerance = 10;
/// What other nodes say of rules and revocations cannot be heard while the store is away. The
/// database is looked at instead: so often that people can live with it, and it can, too.
constexpr Millis kLookWhileDeaf{10'000};
}  // namespace

Gateway::Gateway(const GatewayParts& parts)
    : parts_(parts),
      timers_(kTimerTick, parts.clock.now()),
      health_{StoreHealth::ok, parts.clock.wall_now()} {
    limits_changed();
    parts_.shard.service.set_owner(this);
    parts_.shard.watches.set_sink(this);
    parts_.shard.rooms.set_sink(this);
    parts_.shard.bus.set_receiver(this);
}

Gateway::~Gateway() {
    parts_.shard.bus.set_receiver(nullptr);
    parts_.shard.rooms.set_sink(nullptr);
    parts_.shard.watches.set_sink(nullptr);
    parts_.shard.service.set_owner(nullptr);
}

void Gateway::limits_changed() {
    parse_limits_ = protocol::ParseLimits::of(parts_.limits);
}

void Gateway::connect(Sockets& sockets, std::vector<Gateway*> peers) {
    sockets_ = &sockets;
    peers_ = std::move(peers);
}

void Gateway::on_upgrade(net::ConnectionId id, net::HttpRequest& request) {
    std::string_view chosen;
    for (const std::string& offered : request.subprotocols) {
        if (offered == kSubprotocol) {
            chosen = kSubprotocol;
        }
    }
    const SlotId slot = connections_.create();
    ClientConnection& connection = connections_.at(slot);
    connection.net = id;
    if (const std::optional<std::string_view> token = net::bearer_token(request)) {
        connection.rarely().header_token = std::string(*token);
    }
    if (!sockets_->accept_websocket(id, chosen, to_tag(slot))) {
        connections_.destroy(slot);
        return;
    }
    file(slot, TimerKind::hello, parts_.clock.now() + parts_.limits.hello_timeout);
}

void Gateway::on_sign_of_life(net::UserTag tag, net::LifeKind) {
    beats_[beat_count_++] = from_tag(tag);
    if (beat_count_ == beats_.size()) {
        take_beats();
    }
}

/// The hot path: two look-ups by slot and one store a heartbeat (DESIGN rule 1). Done for many at
/// once the memory of one is on its way while another is looked at, and the clock is read once:
/// after the last of them came, so for none too early.
void Gateway::take_beats() {
    const std::size_t count = std::exchange(beat_count_, 0);
    if (count == 0) {
        return;
    }
    const MonoTime now = parts_.clock.now();
    for (std::size_t i = 0; i < count; ++i) {
        connections_.prefetch(beats_[i]);
    }
    for (std::size_t i = 0; i < count; ++i) {
        ClientConnection* const connection = connections_.find(beats_[i]);
        counters_.heartbeats += connection != nullptr ? 1U : 0U;
        beats_[i] = connection != nullptr ? connection->session : SlotId{};
        parts_.shard.service.prefetch(beats_[i]);
    }
    for (std::size_t i = 0; i < count; ++i) {
        parts_.shard.service.heartbeat(beats_[i], now);
    }
}

bool Gateway::on_message(net::ConnectionId, net::UserTag tag, std::string_view text) {
    take_beats();
    const SlotId id = from_tag(tag);
    ClientConnection* connection = connections_.find(id);
    if (connection == nullptr || connection->stage == ClientConnection::Stage::closing) {
        return true;
    }
    if (connection->busy) {
        connection->rarely().waiting = std::string(text);
        return false;
    }
    take_message(id, text);
    connection = connections_.find(id);
    return connection == nullptr || !connection->busy;
}

/// What is refused is charged here, not to the messages' own bucket: so the wait that a client is
/// told is the one it has, however much it sent. Who was never refused anything needs no `rare`.
bool Gateway::is_flooding(ClientConnection& connection, bool within, MonoTime now) const {
    if (within && !connection.rare) {
        return false;
    }
    const TokenBucket::Rate most{kTolerance * parts_.limits.messages_per_second,
                                 kTolerance * parts_.limits.messages_burst};
    return !connection.rarely().flood.take(most, now) && !within;
}

void Gateway::take_message(SlotId id, std::string_view text) {
    ClientConnection* const connection = connections_.find(id);
    if (connection->stage == ClientConnection::Stage::greeting) {
        greet(id, text);
        return;
    }
    const TokenBucket::Rate rate{parts_.limits.messages_per_second, parts_.limits.messages_burst};
    const MonoTime now = parts_.clock.now();
    const bool within = connection->messages.take(rate, now);
    if (is_flooding(*connection, within, now)) {
        ++counters_.closed_too_many;
        close(id, protocol::CloseReason::too_many_messages, true);
        return;
    }
    protocol::RequestId request;
    if (within && protocol::is_bare_heartbeat(text, request)) {
        acknowledge_heartbeat(id, request);
        return;
    }
    protocol::ParsedMessage parsed = protocol::parse_client_message(text, parse_limits_);
    if (!within) {
        ++counters_.rate_limited;
        fail(id, parsed.id,
             {ErrorCode::rate_limited, "too many messages",
              std::max<std::int64_t>(1, connection->messages.wait(rate, now).count()), 0});
        return;
    }
    if (!parsed.message) {
        fail(id, parsed.id, parsed.message.error());
        return;
    }
    ++counters_.requests;
    connection->busy = true;
    serve(id, parsed.id, std::move(*parsed.message));
}

void Gateway::finish_request(SlotId id) {
    ClientConnection* connection = connections_.find(id);
    if (connection == nullptr || !connection->busy) {
        return;
    }
    connection->busy = false;
    if (connection->rare && connection->rare->waiting) {
        const std::string text = std::move(*connection->rare->waiting);
        connection->rare->waiting.reset();
        take_message(id, text);
        connection = connections_.find(id);
        if (connection == nullptr || connection->busy) {
            return;
        }
    }
    sockets_->resume_reading(connection->net);
}

void Gateway::on_drained(net::UserTag tag) {
    const SlotId id = from_tag(tag);
    if (connections_.find(id) != nullptr && can_take(id.slot)) {
        catch_up(id, false);
    }
}

void Gateway::on_closed(net::UserTag tag, const net::CloseInfo& info) {
    const SlotId id = from_tag(tag);
    if (connections_.find(id) == nullptr) {
        return;
    }
    let_go_of_session(id, info.saw_close_frame);
    parts_.shard.rooms.drop_connection(id.slot);
    parts_.shard.watches.unwatch_all(id.slot);
    connections_.destroy(id);
}

void Gateway::file(SlotId id, TimerKind kind, MonoTime deadline) {
    timers_.file({id, kind}, deadline);
}

void Gateway::deafen(const UserId& user, const SessionId& session) {
    for (const SlotId id : parts_.shard.service.connections_of(user, session)) {
        if (ClientConnection* connection = connections_.find(id)) {
            connection->session = {};  // Frames of nobody's are no signs of life.
            connection->busy = true;
        }
    }
}

void Gateway::flush() {
    take_beats();
    last_update_.emplace();
    parts_.shard.watches.flush();
    last_update_.reset();
}

void Gateway::tick() {
    take_beats();
    const MonoTime now = parts_.clock.now();
    parts_.shard.service.tick();
    timers_.advance(now, [&](const Timer& timer, std::uint32_t tick) { visit(timer, tick, now); });
}

void Gateway::visit(const Timer& timer, std::uint32_t tick, MonoTime now) {
    const SlotId id = timer.connection;
    ClientConnection* connection = connections_.find(id);
    if (connection == nullptr || connection->stage == ClientConnection::Stage::closing) {
        return;
    }
    switch (timer.kind) {
        case TimerKind::hello:
            if (connection->stage == ClientConnection::Stage::greeting) {
                ++counters_.hello_timeouts;
                close(id, protocol::CloseReason::hello_timeout, true);
            }
            return;
        case TimerKind::token:
            look_at_token(id, tick, now);
            return;
        case TimerKind::slow: {
            connection->slow_check = false;
            const auto since = sockets_->blocked_since(connection->net);
            if (!since) {
                return;
            }
            if (now - *since >= parts_.limits.slow_reader) {
                ++counters_.closed_slow;
                close(id, protocol::CloseReason::slow_reader, true);
            } else {
                connection->slow_check = true;
                file(id, TimerKind::slow, *since + parts_.limits.slow_reader);
            }
            return;
        }
        case TimerKind::drain:
            close(id, protocol::CloseReason::restarting, true);
            return;
    }
}

void Gateway::set_store_health(StoreHealth store) {
    if (store == health_.store) {
        return;
    }
    health_ = {store, parts_.clock.wall_now()};
    const std::string text = protocol::encode_health(health_);
    connections_.for_each([&](SlotId id, const ClientConnection& connection) {
        if (connection.stage == ClientConnection::Stage::open) {
            send(id, text);
        }
    });
    const bool deaf = store == StoreHealth::down;
    if (deaf && !std::exchange(looks_while_deaf_, true)) {
        look_while_deaf();
    }
}

void Gateway::look_while_deaf() {
    parts_.shard.scheduler.after(kLookWhileDeaf, [this] {
        if (health_.store != StoreHealth::down) {
            looks_while_deaf_ = false;
            return;
        }
        look_for_revoked();
        parts_.shard.watches.look_at_all_again();
        parts_.shard.rooms.look_at_all_again();
        look_while_deaf();
    });
}

void Gateway::drain(Millis window) {
    draining_ = true;
    const MonoTime now = parts_.clock.now();
    connections_.for_each([&](SlotId id, ClientConnection& connection) {
        if (connection.stage == ClientConnection::Stage::closing) {
            return;
        }
        if (connection.stage != ClientConnection::Stage::open) {
            close(id, protocol::CloseReason::restarting, true);
            return;
        }
        const Millis after{static_cast<std::int64_t>(
            parts_.random.below(static_cast<std::uint64_t>(window.count()) + 1))};
        send(id, protocol::encode_reconnect(after, "restarting"));
        file(id, TimerKind::drain, now + after);
    });
}

}  // namespace presence::gateway
