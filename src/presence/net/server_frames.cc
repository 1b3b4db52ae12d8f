#include "presence/net/server_state.h"

#include <fmt/format.h>

namespace presence::net {
namespace {

/// Pings that are answered one by one out of what was read at once; of more, the newest is (RFC
/// 6455, section 5.5.3). Peers that count their pongs send a few together, floods more.
constexpr std::uint32_t kPongsAtOnce = 32;

LifeKind life_of(FrameEvent::Kind kind) {
    switch (kind) {
        case FrameEvent::Kind::fragment:
            return LifeKind::fragment;
        case FrameEvent::Kind::ping:
            return LifeKind::ping;
        case FrameEvent::Kind::pong:
            return LifeKind::pong;
        case FrameEvent::Kind::close:
            return LifeKind::close;
        default:
            return LifeKind::text;
    }
}

/// The stable first word of the close reason; what follows it is for people.
std::string_view word_of(std::uint16_t code) {
    switch (code) {
        case close_code::kUnsupported:
            return "unsupported_data";
        case close_code::kInvalidText:
            return "invalid_utf8";
        case close_code::kPolicy:
            return "policy";
        case close_code::kTooLarge:
            return "message_too_large";
        default:
            return "protocol_error";
    }
}

void count_failure(NetCounters& counters, std::uint16_t code) {
    switch (code) {
        case close_code::kUnsupported:
            ++counters.closed_1003;
            break;
        case close_code::kInvalidText:
            ++counters.closed_1007;
            break;
        case close_code::kPolicy:
            ++counters.closed_1008;
            break;
        case close_code::kTooLarge:
            ++counters.closed_1009;
            break;
        default:
            ++counters.closed_1002;
            break;
    }
}

}  // namespace

/// Reads frame after frame; returns how many bytes are done with.
std::size_t Server::State::consume_frames(ConnectionId id, std::span<char> unread) {
    current.pong_count = 0;
    std::unique_ptr<UnfinishedMessage> fresh;
    std::size_t used = 0;
    bool restarted = false;
    for (;;) {
        Slot* slot = slots.find(id);
        if (slot == nullptr || slot->stage == Stage::lingering) {
            return unread.size();
        }
        if (slot->paused) {
            break;
        }
        auto& unfinished = slot->extras ? slot->extras->unfinished : fresh;
        const FrameLimits bounds{slot->message_limit, limits.message_fragments};
        const FrameEvent event =
            read_frame(unread.subspan(used), bounds, unfinished, message_store);
        if (fresh) {
            extras_of(*slot).unfinished = std::move(fresh);
        }
        if (event.kind == FrameEvent::Kind::incomplete) {
            break;
        }
        used += event.consumed;
        restarted = restarted || event.kind == FrameEvent::Kind::text;
        if (!handle_frame(id, event, unread.subspan(used))) {
            return unread.size();
        }
    }
    answer_pings(id);
    if (Slot* slot = slots.find(id)) {
        const bool partial = used < unread.size() && !slot->paused;
        const bool waiting = slot->extras && slot->extras->unfinished;
        if (partial || waiting) {
            time_message(*slot, id, restarted || (used > 0 && !waiting));
        } else if (slot->extras && slot->extras->deadline == Deadline::message) {
            clear_deadline(*slot);
        }
    }
    return used;
}

/// False: nothing more of this connection is to be read here.
bool Server::State::handle_frame(ConnectionId id, const FrameEvent& event, std::span<char> rest) {
    Slot* slot = slots.find(id);
    if (event.kind == FrameEvent::Kind::error) {
        answer_pings(id);  // What came before it is answered, however the bytes were cut.
        if (slots.find(id) != nullptr) {
            fail_protocol(id, event.code, event.payload);
        }
        return false;
    }
    ++counters.frames_in;
    if (slot->stage == Stage::closing) {
        if (event.kind == FrameEvent::Kind::close) {
            report_end(*slot, id, {CloseInfo::How::closed_by_us, slot->extras->close_sent, true});
            linger(id);
        }
        return event.kind != FrameEvent::Kind::close;
    }
    current.id = id;
    current.rest = rest;
    handler.on_sign_of_life(id, slot->tag, life_of(event.kind));
    slot = slots.find(id);
    bool go_on = slot != nullptr;
    if (go_on && slot->stage == Stage::websocket) {
        if (event.kind == FrameEvent::Kind::ping) {
            keep_pong(event.payload);
        } else if (event.kind == FrameEvent::Kind::close) {
            on_peer_close(id, event, !rest.empty());
            go_on = false;
        } else if (event.kind == FrameEvent::Kind::text) {
            answer_pings(id);
            slot = slots.find(id);
            if (slot != nullptr && !handler.on_message(id, slot->tag, event.payload)) {
                slot = slots.find(id);
                if (slot != nullptr && slot->stage == Stage::websocket) {
                    slot->paused = true;
                }
            }
            go_on = slots.find(id) != nullptr;
        }
    }
    current.id = {};
    current.rest = {};
    return go_on;
}

/// Times what has begun and is not whole: from its first byte on, whatever comes in between.
void Server::State::time_message(Slot& slot, ConnectionId id, bool restarted) {
    const bool timed_already = slot.extras && slot.extras->deadline == Deadline::message;
    const bool closing = slot.extras && slot.extras->deadline == Deadline::close;
    if (!closing && (!timed_already || restarted)) {
        set_deadline(slot, id, Deadline::message, limits.message_timeout);
    }
}

void Server::State::keep_pong(std::string_view payload) {
    if (current.pong_count == 0) {
        current.pongs.clear();
    }
    if (current.pong_count >= kPongsAtOnce) {
        current.pongs.resize(current.newest_pong_at);
        ++counters.pongs_merged;
    } else {
        ++current.pong_count;
    }
    current.newest_pong_at = current.pongs.size();
    current.pongs.append(encode_header(Opcode::pong, payload.size()).view());
    current.pongs.append(payload);
}

void Server::State::answer_pings(ConnectionId id) {
    if (current.pong_count > 0) {
        const Slot* slot = slots.find(id);
        if (slot != nullptr && slot->stage == Stage::websocket) {
            send_pongs(id);
        }
        current.pong_count = 0;
    }
}

void Server::State::on_peer_close(ConnectionId id, const FrameEvent& event, bool more_unread) {
    answer_pings(id);
    Slot* slot = slots.find(id);
    if (slot == nullptr) {
        return;
    }
    report_end(*slot, id, {CloseInfo::How::peer_close, event.code, true});
    // The handler knows now; only bytes are left to move.
    slot->stage = Stage::lingering;
    --websockets;
    slot->at_end = !more_unread;
    linger_with(id, encode_close_frame(event.code, {}));
}

void Server::State::fail_protocol(ConnectionId id, std::uint16_t code, std::string_view why) {
    Slot& slot = *slots.find(id);
    if (slot.stage == Stage::closing) {
        report_end(slot, id, {CloseInfo::How::closed_by_us, slot.extras->close_sent, false});
        linger(id);
        return;
    }
    count_failure(counters, code);
    report_end(slot, id, {CloseInfo::How::protocol_error, code, false});
    slot.stage = Stage::lingering;
    --websockets;
    linger_with(id, encode_close_frame(code, fmt::format("{}: {}", word_of(code), why)));
}

}  // namespace presence::net
