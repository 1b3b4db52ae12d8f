// Rooms and signals: what clients ask for, and what goes out to them.

#include "presence/gateway/gateway.h"

#include <algorithm>

namespace presence::gateway {

namespace {

/// How long a signal is shown that no other follows.
constexpr Millis kSignalLife{6000};

Error forbidden(const char* what) {
    return {ErrorCode::forbidden, what, 0, 0};
}

}  // namespace

// --- Requests ----------------------------------------------------------------------------------

Task<bool> Gateway::on_join(SlotId id, RequestId request, protocol::Join join) {
    ClientConnection& connection = connections_.at(id);
    if (!connection.may_enter(join.room)) {
        fail(id, request, forbidden("the token does not allow that room"));
        co_return false;
    }
    const TokenBucket::Rate rate{parts_.limits.joins_per_second, parts_.limits.joins_burst};
    const MonoTime now = parts_.clock.now();
    TokenBucket& bucket = connection.rarely().joins;
    if (!bucket.take(rate, now)) {
        ++counters_.rate_limited;
        fail(id, request,
             {ErrorCode::rate_limited, "too many joins", bucket.wait(rate, now).count(), 0});
        co_return false;
    }
    const SessionId* const session = parts_.shard.service.name_of(connection.session);
    if (session == nullptr) {
        co_return false;  // It is being closed.
    }
    RoomJoin wanted{
        id,           *session,     connection.user, std::move(join.room), std::move(join.meta),
        join.observe, join.updates, request};
    Task<Result<bool>> joining = parts_.shard.rooms.join(std::move(wanted));
    Result<bool> joined = co_await joining;
    if (!joined && connections_.find(id) != nullptr) {
        fail(id, request, joined.error());
    }
    co_return joined.has_value();
}

Task<bool> Gateway::on_leave(SlotId id, RequestId request, protocol::Leave leave) {
    const ClientConnection& connection = connections_.at(id);
    const SessionId* const session = parts_.shard.service.name_of(connection.session);
    if (session == nullptr) {
        co_return false;
    }
    Task<bool> leaving =
        parts_.shard.rooms.leave(id.slot, *session, connection.user, std::move(leave.room));
    co_await leaving;
    if (connections_.find(id) != nullptr) {
        send(id, protocol::encode_ack(request));
    }
    co_return true;
}

void Gateway::leave_forbidden_rooms(SlotId id) {
    const ClientConnection& connection = connections_.at(id);
    const SessionId* const session = parts_.shard.service.name_of(connection.session);
    if (session != nullptr && connection.rare && connection.rare->rooms) {
        const std::optional<std::vector<std::string>> patterns = connection.rare->rooms;
        parts_.shard.rooms.leave_unless(
            id.slot, *session, connection.user,
            [&](const RoomId& room) { return rules::may_enter(patterns, room); });
    }
}

Task<bool> Gateway::on_signal_request(SlotId id, RequestId request, protocol::Signal signal) {
    ClientConnection& connection = connections_.at(id);
    const SessionId* const session = parts_.shard.service.name_of(connection.session);
    if (session == nullptr) {
        co_return false;
    }
    auto message = std::make_shared<SignalMessage>();
    message->from = connection.user;
    message->from_session = *session;
    message->kind = std::move(signal.kind);
    message->active = signal.active;
    message->data = std::move(signal.data);
    if (const auto* const to = std::get_if<UserId>(&signal.to)) {
        message->to = *to;
    } else {
        message->room = std::get<RoomId>(signal.to);
        if (!connection.may_enter(*message->room) ||
            !parts_.shard.rooms.is_member(connection.user, *message->room, *session)) {
            fail(id, request, forbidden("to.room: only who is in a room may send signals to it"));
            co_return false;
        }
        message->from_counted = parts_.shard.rooms.is_counted(connection.user);
    }
    const TokenBucket::Rate rate{parts_.limits.signals_per_second, parts_.limits.signals_burst};
    const MonoTime now = parts_.clock.now();
    TokenBucket& bucket = connection.rarely().signals;
    if (!bucket.take(rate, now)) {
        ++counters_.rate_limited;
        fail(id, request,
             {ErrorCode::rate_limited, "too many signals", bucket.wait(rate, now).count(), 0});
        co_return false;
    }
    const UserId from = connection.user;
    Result<UserRecordRef> record = co_await parts_.shard.service.record_of(from);
    if (record && *record) {
        pass_on(std::move(message), (*record)->presence);
    }
    if (request) {
        send(id, protocol::encode_ack(request));
    }
    co_return true;
}

/// Who is shown as offline sends nothing (DESIGN rule 18), but to the user's own devices: over a
/// road on which nobody else could meet it, and uncounted. The answer is the same.
void Gateway::pass_on(std::shared_ptr<SignalMessage> signal, const Presence& sender) {
    if (sender.shown.status != Status::offline) {
        ++counters_.signals_sent;
        parts_.shard.bus.publish_signal(std::move(signal));
    } else if (sender.own.status != Status::offline &&
               (signal->room || signal->to == signal->from)) {
        signal->to = signal->from;
        parts_.shard.bus.publish_signal(std::move(signal));
    }
}

// --- News --------------------------------------------------------------------------------------

void Gateway::on_room(const RoomStatementRef& statement) {
    parts_.shard.rooms.on_room(statement);
}

void Gateway::on_session_stays(const SessionStays& stays) {
    if (!parts_.shard.service.holds(stays.user, stays.session)) {
        return;  // It has gone on, or ended.
    }
    parts_.shard.rooms.take_over(stays);
    for (const SlotId id : parts_.shard.service.connections_of(stays.user, stays.session)) {
        leave_forbidden_rooms(id);
    }
}

void Gateway::on_room_asked(const RoomId& room) {
    parts_.shard.rooms.on_room_asked(room);
}

void Gateway::on_signal(const SignalRef& signal) {
    if (signal->to.text.empty()) {
        parts_.shard.rooms.on_signal(signal);
    } else {
        deliver_signal(signal);
    }
}

Detached Gateway::deliver_signal(SignalRef signal) {
    std::vector<UserId> sender{signal->from};
    const UserId receiver = signal->to;
    Result<std::vector<Seen>> seen = co_await parts_.shard.reader.look(receiver, std::move(sender));
    if (!seen) {
        co_return;
    }
    const Verdict verdict = seen->front().verdict;
    if (!verdict.own() && !verdict.online()) {
        co_return;
    }
    RoomFrames frames;
    for (const SlotId id : parts_.shard.service.connections_of(receiver)) {
        // One that does not read loses signals, as they would be over when it does.
        const bool hears = !signal->room || parts_.shard.rooms.hears(id.slot, *signal->room);
        if (hears && connections_.find(id) != nullptr && can_take(id.slot)) {
            deliver_room_signal(id.slot, *signal, frames);
        }
    }
}

void Gateway::deliver_room_signal(std::uint32_t slot, const SignalMessage& signal,
                                  RoomFrames& frames) {
    const auto [connection, id] = connections_.in(slot);
    if (connection == nullptr) {
        return;
    }
    const SessionId* const session = parts_.shard.service.name_of(connection->session);
    if (session != nullptr && *session == signal.from_session) {
        return;  // The sender knows.
    }
    if (frames.empty()) {
        const std::string text = protocol::encode_signal(
            {signal.from, signal.room, signal.kind, signal.data, signal.active, kSignalLife});
        frames.push_back(std::make_shared<const std::string>(net::encode_text_frame(text)));
    }
    counters_.signals_delivered += signal.to == signal.from ? 0U : 1U;
    send_frames(id, frames);
}

void Gateway::deliver_room(std::uint32_t slot, const RoomNews& news, RoomFrames& frames) {
    const auto [connection, id] = connections_.in(slot);
    if (connection == nullptr) {
        return;
    }
    if (frames.empty()) {
        std::vector<std::string> own;  // Of lines that are this viewer's alone.
        own.reserve(news.joined.size() + news.changed.size());
        const auto encode = [&](const RoomLine& line) -> std::string_view {
            if (line.encoded != nullptr && !line.encoded->empty()) {
                return *line.encoded;
            }
            ++counters_.room_members_encoded;
            const PresenceView view = parts_.shard.rooms.view(line);
            std::string& out = line.encoded != nullptr ? *line.encoded : own.emplace_back();
            protocol::append_member(out, view, *line.meta);
            return out;
        };
        protocol::RoomChanges changes;
        for (const RoomLine& line : news.joined) {
            changes.joined.push_back(encode(line));
        }
        for (const RoomLine& line : news.changed) {
            changes.changed.push_back(encode(line));
        }
        for (const UserId* user : news.left) {
            changes.left.push_back(user->text);
        }
        const protocol::RoomHead head{news.room, news.count, news.exact};
        const std::size_t most = parts_.limits.message_bytes;
        const std::vector<std::string> parts =
            news.whole ? protocol::encode_room(news.answers, head,
                                               news.listed ? &changes.joined : nullptr, most)
                       : protocol::encode_room_update(head, changes, most);
        for (const std::string& part : parts) {
            frames.push_back(std::make_shared<const std::string>(net::encode_text_frame(part)));
        }
    }
    ++counters_.room_messages;
    send_frames(id, frames);
}

void Gateway::send_frames(SlotId id, const RoomFrames& frames) {
    for (const auto& frame : frames) {
        const ClientConnection* const connection = connections_.find(id);
        if (connection == nullptr || connection->stage == ClientConnection::Stage::closing) {
            return;
        }
        after_send(id, sockets_->send_text_shared(connection->net, frame));
    }
}

Detached Gateway::catch_up(SlotId id, bool all_rooms) {
    Task<bool> catching = parts_.shard.watches.catch_up_now(id.slot);
    co_await catching;
    if (connections_.find(id) == nullptr) {
        co_return;
    }
    if (all_rooms) {
        parts_.shard.rooms.refresh(id.slot);
    } else {
        parts_.shard.rooms.catch_up(id.slot);
    }
}

}  // namespace presence::gateway
