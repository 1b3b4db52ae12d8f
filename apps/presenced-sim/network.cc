#include "network.h"

#include <algorithm>
#include <utility>

namespace presence::sim {

namespace {
constexpr std::uint64_t kSlowestMs = 20;
constexpr std::uint64_t kEvenMs = 5;
/// As NetLimits::close_timeout.
constexpr Millis kCloseTimeout{5'000};

/// The payload of a server's text frame.
std::string_view payload_of(std::string_view frame) {
    const auto length = static_cast<unsigned char>(frame[1]);
    return frame.substr(length < 126 ? 2 : length == 126 ? 4 : 10);
}
}  // namespace

Network::Open* Network::find(std::uint64_t connection) {
    const auto found = open_.find(connection);
    return found == open_.end() ? nullptr : &found->second;
}

/// Of one direction of a connection: nothing overtakes.
Millis Network::delay(MonoTime& last) {
    const MonoTime now = scheduler_.clock().now();
    const Millis way{static_cast<std::int64_t>(even_ ? kEvenMs : 1 + random_.below(kSlowestMs))};
    last = std::max(last, now + way);
    return last - now;
}

void Network::to_server(std::uint64_t connection, Scheduler::Work work) {
    Open* const open = find(connection);
    if (open == nullptr) {
        return;
    }
    scheduler_.after(delay(open->last_in), [this, connection, work = std::move(work)]() mutable {
        process_.arrive([this, connection, work = std::move(work)]() mutable {
            if (find(connection) != nullptr) {
                work();
            }
        });
    });
}

std::uint64_t Network::open(Peer& peer) {
    const std::uint64_t connection = ++last_;
    open_[connection].peer = &peer;
    to_server(connection, [this, connection] {
        net::HttpRequest request;
        request.is_upgrade = true;
        request.subprotocols = {std::string(gateway::kSubprotocol)};
        gateway_->on_upgrade(net::ConnectionId{connection}, request);
    });
    return connection;
}

void Network::say(std::uint64_t connection, std::string text) {
    to_server(connection, [this, connection, text = std::move(text)] {
        Open* const open = find(connection);
        if (open->closing) {
            return;
        }
        side_.on_frame(connection);
        if (text.starts_with(R"({"type":"bye")")) {
            side_.on_bye(connection);
        }
        gateway_->on_sign_of_life(open->tag, net::LifeKind::text);
        deliver(connection, text);
    });
}

void Network::deliver(std::uint64_t connection, std::string_view text) {
    Open* open = find(connection);
    if (!open->reading) {
        open->unread.emplace_back(text);
        return;
    }
    const bool goes_on = gateway_->on_message(net::ConnectionId{connection}, open->tag, text);
    open = find(connection);
    if (open != nullptr && !goes_on) {
        open->reading = false;
    }
}

void Network::resume_reading(net::ConnectionId id) {
    Open* const open = find(id.value);
    if (open == nullptr || open->reading) {
        return;
    }
    open->reading = true;
    if (!open->unread.empty()) {
        process_.post([this, connection = id.value] { read_on(connection); });
    }
}

void Network::read_on(std::uint64_t connection) {
    while (Open* const open = find(connection)) {
        if (!open->reading || open->closing || open->unread.empty()) {
            return;
        }
        const std::string text = std::move(open->unread.front());
        open->unread.erase(open->unread.begin());
        deliver(connection, text);
    }
}

void Network::leave(std::uint64_t connection, bool says_close) {
    Open* const open = find(connection);
    if (open == nullptr) {
        return;
    }
    open->gone = true;
    to_server(connection, [this, connection, says_close] {
        if (says_close) {
            side_.on_frame(connection);
            gateway_->on_sign_of_life(find(connection)->tag, net::LifeKind::close);
        }
        const auto how = says_close ? net::CloseInfo::How::peer_close : net::CloseInfo::How::lost;
        end(connection, {how, static_cast<std::uint16_t>(says_close ? 1001 : 0), says_close});
    });
}

void Network::vanish(std::uint64_t connection) {
    if (Open* const open = find(connection)) {
        open->gone = true;
    }
}

void Network::end(std::uint64_t connection, net::CloseInfo info) {
    Open* const open = find(connection);
    if (open == nullptr) {
        return;
    }
    if (!open->closing) {
        side_.on_server_end(connection, 0, "");
    }
    const net::UserTag tag = open->tag;
    const bool accepted = open->accepted;
    open_.erase(connection);
    if (accepted) {
        gateway_->on_closed(tag, info);
    }
}

bool Network::is_live(std::uint64_t connection) const {
    const auto found = open_.find(connection);
    return found != open_.end() && !found->second.closing && !found->second.gone;
}

void Network::set_clogged(std::uint64_t connection, bool clogged) {
    Open* const open = find(connection);
    if (open == nullptr || open->clogged == clogged) {
        return;
    }
    open->clogged = clogged;
    if (clogged) {
        return;
    }
    const bool had_held = open->clogged_at.has_value();
    open->clogged_at.reset();
    for (std::string& text : std::exchange(open->held, {})) {
        to_client(connection, std::move(text));
    }
    if (had_held) {
        process_.arrive([this, connection] {
            if (Open* const drained = find(connection); drained != nullptr && !drained->closing) {
                gateway_->on_drained(drained->tag);
            }
        });
    }
}

void Network::die(bool silently) {
    for (auto& [connection, open] : open_) {
        if (!silently && !open.gone) {
            scheduler_.after(delay(open.last_out),
                             [peer = open.peer, at = connection] { peer->on_end(at, 0); });
        }
    }
}

bool Network::accept_websocket(net::ConnectionId id, std::string_view, net::UserTag tag) {
    Open* const open = find(id.value);
    if (open == nullptr) {
        return false;
    }
    open->tag = tag;
    open->accepted = true;
    return true;
}

void Network::to_client(std::uint64_t connection, std::string text) {
    Open* const open = find(connection);
    if (open == nullptr) {
        return;
    }
    scheduler_.after(delay(open->last_out), [this, connection, text = std::move(text)] {
        Open* const to = find(connection);
        if (to != nullptr && !to->gone) {
            to->peer->on_text(connection, text);
        }
    });
}

net::SendResult Network::send_text(net::ConnectionId id, std::string_view text) {
    Open* const open = find(id.value);
    if (open == nullptr || open->closing) {
        return net::SendResult::closed;
    }
    if (text.starts_with(R"({"type":"welcome")")) {
        side_.on_welcome(id.value, text);
    }
    if (open->clogged) {
        open->held.emplace_back(text);
        if (!open->clogged_at) {
            open->clogged_at = scheduler_.clock().now();
        }
        return net::SendResult::blocked;
    }
    to_client(id.value, std::string(text));
    return net::SendResult::sent;
}

net::SendResult Network::send_text_shared(net::ConnectionId id,
                                          const std::shared_ptr<const std::string>& frame) {
    return send_text(id, payload_of(*frame));
}

void Network::send_ping(net::ConnectionId id) {
    Open* const open = find(id.value);
    if (open == nullptr || open->closing) {
        return;
    }
    scheduler_.after(delay(open->last_out), [this, connection = id.value] {
        Open* const to = find(connection);
        if (to == nullptr || to->gone || !to->peer->is_there()) {
            return;
        }
        to_server(connection, [this, connection] {
            side_.on_frame(connection);
            gateway_->on_sign_of_life(find(connection)->tag, net::LifeKind::pong);
        });
    });
}

void Network::close(net::ConnectionId id, std::uint16_t code, std::string_view reason) {
    Open* const open = find(id.value);
    if (open == nullptr || open->closing) {
        return;
    }
    open->closing = true;
    side_.on_server_end(id.value, code, reason);
    const net::CloseInfo info{net::CloseInfo::How::closed_by_us, code, !open->gone};
    Peer* const peer = open->peer;
    const Millis way = delay(open->last_out);
    scheduler_.after(way, [this, connection = id.value, peer, code] {
        const Open* const to = find(connection);
        if (to != nullptr && !to->gone) {
            peer->on_end(connection, code);
        }
    });
    const bool answers = !open->gone && peer->is_there();
    process_.after(answers ? 2 * way + Millis{1} : kCloseTimeout,
                   [this, connection = id.value, info] { end(connection, info); });
}

bool Network::is_blocked(net::ConnectionId id) const {
    const auto found = open_.find(id.value);
    return found != open_.end() && found->second.clogged_at.has_value();
}

std::optional<MonoTime> Network::blocked_since(net::ConnectionId id) const {
    const auto found = open_.find(id.value);
    return found != open_.end() ? found->second.clogged_at : std::nullopt;
}

}  // namespace presence::sim
