#include "presence/net/handshake.h"
#include "presence/net/server_state.h"

#include <algorithm>
#include <utility>

namespace presence::net {
namespace {

/// Pipelined requests of one connection that are answered before others get their turn.
constexpr int kRequestsAtOnce = 32;

/// Answers 401 on one connection, of which the last one ends it: so whoever guesses credentials
/// needs connections, of which each address has a rate. More than a client that lost its way asks
/// for; who knows the credential is held up by nobody's guesses.
constexpr std::uint32_t kMostUnauthorized = 10;
constexpr int kUnauthorized = 401;

std::shared_ptr<const std::string> take_body(HttpResponse& response) {
    if (auto* text = std::get_if<std::string>(&response.body)) {
        return std::make_shared<const std::string>(std::move(*text));
    }
    auto& shared = std::get<std::shared_ptr<const std::string>>(response.body);
    return shared ? std::move(shared) : std::make_shared<const std::string>();
}

}  // namespace

/// Reads request after request, as long as each is answered at once and goes out whole.
std::size_t Server::State::consume_http(ConnectionId id, std::span<char> unread) {
    const auto may_be_large = [this](const HttpRequest& head) {
        return handler.may_be_large(head);
    };
    std::size_t used = 0;
    for (int delivered = 0;;) {
        Slot* slot = slots.find(id);
        if (slot == nullptr || slot->stage == Stage::lingering) {
            return unread.size();
        }
        if (is_http(slot, HttpSide::Phase::streaming)) {
            return unread.size();  // Whoever gets a stream has nothing more to ask.
        }
        if (!is_http(slot, HttpSide::Phase::reading) || is_blocked(*slot)) {
            return used;
        }
        if (delivered >= kRequestsAtOnce && used < unread.size()) {
            read_later(*slot, id);
            return used;
        }
        HttpSide& http = *slot->extras->http;
        used += http.parser.feed({unread.data() + used, unread.size() - used}, may_be_large);
        if (http.parser.state() == HttpParser::State::failed) {
            refuse_request(id, http.parser.request(), http.parser.status(), http.parser.why());
            return unread.size();
        }
        time_request(*slot, id);
        if (http.parser.take_expects_continue()) {
            transmit(id, {}, "HTTP/1.1 100 Continue\r\n\r\n", nullptr, false);
            continue;
        }
        if (http.parser.state() != HttpParser::State::complete) {
            return used;
        }
        ++delivered;
        deliver_request(id, unread.subspan(used));
    }
}

/// A head is timed from its first byte, a body from the end of the head; more bytes win no time.
void Server::State::time_request(Slot& slot, ConnectionId id) {
    const HttpParser& parser = slot.extras->http->parser;
    const Deadline now_timed = slot.extras->deadline;
    if (parser.state() == HttpParser::State::head && parser.has_begun() &&
        now_timed == Deadline::http_idle) {
        set_deadline(slot, id, Deadline::http_head, limits.http_head_timeout);
    } else if (parser.state() == HttpParser::State::body && now_timed != Deadline::http_body) {
        set_deadline(slot, id, Deadline::http_body, limits.http_body_timeout);
    }
}

void Server::State::deliver_request(ConnectionId id, std::span<char> rest) {
    Slot& slot = *slots.find(id);
    HttpSide& http = *slot.extras->http;
    // Out of the connection, which may end while the handler still looks at the request.
    HttpRequest request = std::move(http.parser.request());
    http.phase = HttpSide::Phase::waiting;
    http.is_head = request.method == "HEAD";
    http.keep_alive = request.keep_alive;
    ++counters.http_requests;
    clear_deadline(slot);
    request.remote = peer_address(slot.fd);
    if (const auto fault = inspect_handshake(request)) {
        refuse_request(id, request, fault->status, fault->why);
        return;
    }
    http.is_upgrade = request.is_upgrade;
    if (request.is_upgrade) {
        http.websocket_key = std::string(*request.header("Sec-WebSocket-Key"));
    }
    current.id = id;
    current.rest = rest;
    handler.on_request(id, request);
    current.id = {};
    current.rest = {};
}

/// An answer that net gives by itself; the connection ends with it.
void Server::State::refuse_request(ConnectionId id, const HttpRequest& head, int status,
                                   std::string_view why) {
    ++counters.http_refused;
    HttpResponse response = handler.on_bad_request(head, status, why);
    if (status == 426) {
        response.headers.emplace_back("Sec-WebSocket-Version", "13");
    }
    response.close = true;
    if (Slot* slot = slots.find(id)) {
        slot->extras->http->phase = HttpSide::Phase::waiting;
        answer(id, std::move(response));
    }
}

void Server::State::answer(ConnectionId id, HttpResponse response) {
    Slot* slot = slots.find(id);
    if (!is_http(slot, HttpSide::Phase::waiting)) {
        return;
    }
    HttpSide& http = *slot->extras->http;
    http.phase = HttpSide::Phase::answered;
    const bool guesses =
        response.status == kUnauthorized && ++http.unauthorized >= kMostUnauthorized;
    http.close_after = response.close || guesses || !http.keep_alive || slot->at_end;
    const std::string head = encode_head(
        response, {.keep_alive = !http.close_after, .is_stream = false, .date = date()});
    const bool bodyless = http.is_head || response.status == 204 || response.status == 304;
    const auto body = bodyless ? nullptr : take_body(response);
    const SendResult result =
        transmit(id, head, body ? std::string_view(*body) : std::string_view{}, body, false);
    if (result == SendResult::sent) {
        after_answer(id);
    } else if (result == SendResult::blocked) {
        set_deadline(*slots.find(id), id, Deadline::http_write, limits.http_write_timeout);
    }
}

/// The answer is out: on to the next request, or to the end.
void Server::State::after_answer(ConnectionId id) {
    Slot& slot = *slots.find(id);
    HttpSide& http = *slot.extras->http;
    if (http.close_after) {
        linger(id);
        return;
    }
    http.parser.next();
    http.phase = HttpSide::Phase::reading;
    set_deadline(slot, id, Deadline::http_idle, limits.http_idle_timeout);
    if (current.id != id) {
        read_later(slot, id);
    }
}

void Server::State::start_stream(ConnectionId id, const HttpResponse& head) {
    Slot* slot = slots.find(id);
    if (!is_http(slot, HttpSide::Phase::waiting)) {
        return;
    }
    HttpSide& http = *slot->extras->http;
    http.phase = HttpSide::Phase::streaming;
    const std::string text =
        encode_head(head, {.keep_alive = false, .is_stream = true, .date = date()});
    transmit(id, text, http.is_head ? std::string_view{} : head.body_view(), nullptr, false);
    slot = slots.find(id);
    if (slot == nullptr) {
        return;
    }
    if (slot->extras->http->is_head) {
        end_stream(id);
    } else {
        read_later(*slot, id);
    }
}

void Server::State::end_stream(ConnectionId id) {
    Slot* slot = slots.find(id);
    if (!is_http(slot, HttpSide::Phase::streaming)) {
        return;
    }
    HttpSide& http = *slot->extras->http;
    http.phase = HttpSide::Phase::answered;
    http.close_after = true;
    if (is_blocked(*slot)) {
        set_deadline(*slot, id, Deadline::http_write, limits.http_write_timeout);
    } else {
        after_answer(id);
    }
}

bool Server::State::accept_websocket(ConnectionId id, std::string_view subprotocol, UserTag tag) {
    Slot* slot = slots.find(id);
    if (!is_http(slot, HttpSide::Phase::waiting) || !slot->extras->http->is_upgrade ||
        slot->at_end) {
        return false;
    }
    const std::string head = encode_accept(slot->extras->http->websocket_key, subprotocol);
    // A WebSocket from here on, so that the handler hears of its end whatever the send meets.
    slot->extras->http.reset();
    slot->stage = Stage::websocket;
    slot->tag = tag;
    slot->message_limit = limits.message_bytes_before_welcome;
    clear_deadline(*slot);
    ++websockets;
    ++counters.upgrades;
    transmit(id, head, {}, nullptr, false);
    slot = slots.find(id);
    if (slot != nullptr && current.id != id) {
        read_later(*slot, id);
    }
    return true;
}

std::string_view Server::State::date() {
    const std::int64_t second = loop.clock().wall_now().ms() / 1000;
    if (second != date_second) {
        date_second = second;
        date_text = http_date(second);
    }
    return date_text;
}

}  // namespace presence::net
