// From the upgrade to `welcome`: who is it, where does this user live, which session is it.

#include "presence/base/log.h"
#include "presence/gateway/gateway.h"

namespace presence::gateway {

namespace {

using protocol::CloseReason;

/// `resume` as clients see it: the session's name, a dot, the secret.
struct ResumeToken {
    SessionId session;
    std::string_view secret;
};

std::optional<ResumeToken> read_resume(std::string_view text) {
    const std::size_t dot = text.find('.');
    if (dot == std::string_view::npos || dot == 0 || text.size() > 128) {
        return std::nullopt;
    }
    return ResumeToken{SessionId(text.substr(0, dot)), text.substr(dot + 1)};
}

CloseReason close_reason_for(const Error& error) {
    switch (error.code) {
        case ErrorCode::unauthorized:
            return CloseReason::token_revoked;
        case ErrorCode::limit_exceeded:
            return CloseReason::too_many_sessions;
        default:
            return CloseReason::unavailable;
    }
}

}  // namespace

void Gateway::refuse_hello(SlotId id, RequestId request, const Error& error, CloseReason reason) {
    ++counters_.hello_refused;
    if (log::enabled(log::Level::debug)) {
        log::debug("hello_refused", "{} {}", wire_name(error.code), log::quoted(error.message));
    }
    send(id, protocol::encode_error(request, error));
    close(id, reason, false);
}

void Gateway::greet(SlotId id, std::string_view text) {
    protocol::ParsedMessage parsed = protocol::parse_client_message(text, parse_limits_);
    if (!parsed.message) {
        refuse_hello(id, parsed.id, parsed.message.error(), CloseReason::bad_hello);
        return;
    }
    auto* const hello = std::get_if<protocol::Hello>(&*parsed.message);
    if (hello == nullptr) {
        refuse_hello(id, parsed.id,
                     {ErrorCode::bad_request, "the first message must be hello", 0, 0},
                     CloseReason::bad_hello);
        return;
    }
    ClientConnection& connection = connections_.at(id);
    std::optional<std::string> token = std::move(hello->token);
    if (!token && connection.rare) {
        token = std::move(connection.rare->header_token);
    }
    connection.rare.reset();
    if (!token) {
        ++counters_.auth_refused;
        refuse_hello(id, parsed.id, {ErrorCode::unauthorized, "a token is required", 0, 0},
                     CloseReason::token_missing);
        return;
    }
    hello->token.reset();
    connection.stage = ClientConnection::Stage::attaching;
    connection.busy = true;
    identify(id, parsed.id, std::move(*hello), std::move(*token));
}

Detached Gateway::identify(SlotId id, RequestId request, protocol::Hello hello, std::string token) {
    Result<TokenClaims> claims =
        co_await parts_.tokens.verify_patiently(std::move(token), parts_.loop);
    ClientConnection* connection = connections_.find(id);
    if (connection == nullptr || connection->stage == ClientConnection::Stage::closing) {
        co_return;
    }
    if (!claims) {
        ++counters_.auth_refused;
        refuse_hello(id, request, claims.error(), CloseReason::token_refused);
        co_return;
    }
    const std::size_t home = parts_.homes.index_of(claims->user);
    if (home == parts_.index) {
        attach(id, request, std::move(hello), std::move(*claims));
        co_return;
    }
    net::DetachedConnection moving = sockets_->release(connection->net);
    if (!moving) {
        co_return;  // It was lost in this very turn of the loop; on_closed is on its way.
    }
    ++counters_.handed_over;
    connections_.destroy(id);
    parts_.homes.thread(home).post([peer = peers_[home], moving = std::move(moving), request,
                                    said = std::move(hello), who = std::move(*claims)]() mutable {
        peer->take_in(std::move(moving), request, std::move(said), std::move(who));
    });
}

void Gateway::take_in(net::DetachedConnection moving, RequestId request, protocol::Hello hello,
                      TokenClaims claims) {
    const SlotId id = connections_.create();
    const net::ConnectionId adopted = sockets_->adopt(std::move(moving), to_tag(id));
    if (!adopted) {
        connections_.destroy(id);
        return;
    }
    connections_.at(id).net = adopted;
    if (draining_) {
        close(id, CloseReason::restarting, false);
        return;
    }
    attach(id, request, std::move(hello), std::move(claims));
}

void Gateway::take_claims(ClientConnection& connection, const TokenClaims& claims) {
    connection.may_watch = claims.rights.watch;
    connection.may_status = claims.rights.status;
    connection.may_privacy = claims.rights.privacy;
    if (claims.rights.rooms || connection.rare) {
        connection.rarely().rooms = claims.rights.rooms;
    }
}

void Gateway::arm_token_timers(SlotId id, const TokenClaims& claims) {
    ClientConnection& connection = connections_.at(id);
    connection.warn_at = {};
    connection.token_over = {};
    if (!claims.expires_at) {
        return;
    }
    constexpr Millis kAhead{60'000};
    const MonoTime now = parts_.clock.now();
    const WallTime wall = parts_.clock.wall_now();
    const Millis life = *claims.expires_at - wall;
    connection.token_over = now + life + parts_.tokens.leeway();
    const Millis warn_in = life > 2 * kAhead ? life - kAhead : std::max(life, Millis{0}) / 2;
    connection.warn_at = now + warn_in;
    file_token_look(id);
}

void Gateway::file_token_look(SlotId id) {
    ClientConnection& connection = connections_.at(id);
    const MonoTime next =
        connection.warn_at > MonoTime{} ? connection.warn_at : connection.token_over;
    const std::uint32_t tick = timers_.tick_of(next);
    if (connection.token_tick == 0 || tick < connection.token_tick) {
        connection.token_tick = timers_.file({id, TimerKind::token}, next);
    }
}

/// A far deadline comes by here several times, as it is beyond the span of the timers.
void Gateway::look_at_token(SlotId id, std::uint32_t tick, MonoTime now) {
    ClientConnection& connection = connections_.at(id);
    if (tick != connection.token_tick) {
        return;
    }
    connection.token_tick = 0;
    if (connection.token_over == MonoTime{}) {
        return;
    }
    if (now >= connection.token_over) {
        close(id, protocol::CloseReason::token_expired, true);
        return;
    }
    const bool warns = connection.warn_at > MonoTime{} && now >= connection.warn_at;
    if (warns) {
        connection.warn_at = {};
    }
    file_token_look(id);
    if (warns) {
        const Millis left = connection.token_over - parts_.tokens.leeway() - now;
        send(id, protocol::encode_token_expiring(std::max(left, Millis{0})));
    }
}

Detached Gateway::attach(SlotId id, RequestId request, protocol::Hello hello, TokenClaims claims) {
    ClientConnection* connection = &connections_.at(id);
    connection->stage = ClientConnection::Stage::attaching;
    connection->busy = true;
    connection->user = claims.user;
    take_claims(*connection, claims);

    AttachRequest wanted;
    wanted.user = claims.user;
    wanted.token_issued_at = claims.issued_at;
    wanted.device = std::move(hello.device);
    wanted.observe = hello.observe;
    wanted.connection = id;
    wanted.is_over = [this, id] {
        const ClientConnection* const asking = connections_.find(id);
        return asking == nullptr || asking->stage == ClientConnection::Stage::closing;
    };
    if (hello.activity) {
        wanted.active = *hello.activity == protocol::Activity::active;
    }
    std::string secret = parts_.random.token();
    wanted.new_resume_hash = parts_.hash_resume(secret);
    std::string shown_secret;
    if (hello.resume) {
        if (const std::optional<ResumeToken> resume = read_resume(*hello.resume)) {
            wanted.resume_id = resume->session;
            wanted.resume_hash = parts_.hash_resume(resume->secret);
            shown_secret = std::string(resume->secret);
        }
    }
    Result<Attachment> attached = co_await parts_.shard.service.attach(std::move(wanted));
    connection = connections_.find(id);
    if (connection == nullptr || connection->stage == ClientConnection::Stage::closing) {
        if (attached) {
            // It left while it was being let in: what was made for it ends as any lost one does.
            co_await parts_.shard.service.connection_lost(attached->session, false);
        }
        co_return;
    }
    if (!attached) {
        connection->busy = false;
        refuse_hello(id, request, attached.error(), close_reason_for(attached.error()));
        co_return;
    }
    connection->session = attached->session;
    connection->stage = ClientConnection::Stage::open;
    welcome(id, request, *attached, attached->resumed ? shown_secret : secret, claims);
    if (connections_.find(id) != nullptr) {
        arm_token_timers(id, claims);
        leave_forbidden_rooms(id);  // A resume may come with narrower rights.
        finish_request(id);
    }
}

void Gateway::welcome(SlotId id, RequestId request, const Attachment& attached,
                      std::string_view secret, const TokenClaims& claims) {
    ++counters_.welcomes;
    const ClientConnection& connection = connections_.at(id);
    if (log::enabled(log::Level::debug)) {
        log::debug({.session = attached.id.text}, "welcome", "user={} resumed={}",
                   log::quoted(connection.user.text), attached.resumed);
    }
    sockets_->admit(connection.net, static_cast<std::uint32_t>(parts_.limits.message_bytes));
    protocol::WelcomeFields fields;
    fields.user = connection.user;
    fields.session = attached.id;
    fields.resume = fmt::format("{}.{}", attached.id.text, secret);
    fields.resumed = attached.resumed;
    fields.server_time = parts_.clock.wall_now();
    fields.heartbeat_interval = parts_.config.heartbeat.interval;
    fields.heartbeat_ttl = parts_.config.heartbeat.ttl;
    fields.grace = parts_.config.heartbeat.grace;
    fields.limit_watch = parts_.limits.watch;
    fields.limit_message_bytes = parts_.limits.message_bytes;
    fields.limit_custom_status_text = parts_.limits.custom_status_text;
    fields.limit_sessions = parts_.limits.sessions_per_user;
    fields.limit_room_members = parts_.limits.room_members;
    fields.health = health_;
    fields.token_expires_at = claims.expires_at;
    send(id, protocol::encode_welcome(request, fields));
}

}  // namespace presence::gateway
