// What goes out of a gateway unasked: news of watched users, signals, and closes.

#include "presence/base/log.h"
#include "presence/base/slice.h"
#include "presence/core/survey.h"
#include "presence/gateway/gateway.h"

#include <algorithm>
#include <iterator>

namespace presence::gateway {

namespace {

using protocol::CloseReason;

/// Users whose profiles are read together.
constexpr std::size_t kLookBatch = 200;
/// What a store did not let be done is tried again after that long.
constexpr Millis kRetry{1000};

CloseReason close_reason_for(EndReason reason) {
    switch (reason) {
        case EndReason::replaced:
        case EndReason::displaced:
            return CloseReason::replaced;
        case EndReason::silence:
            return CloseReason::heartbeat_timeout;
        case EndReason::kicked:
            return CloseReason::kicked;
        case EndReason::erased:
            return CloseReason::erased;
        case EndReason::revoked:
            return CloseReason::token_revoked;
    }
    return CloseReason::going_away;
}

}  // namespace

void Gateway::send(SlotId id, std::string_view text) {
    if (const ClientConnection* connection = connections_.find(id);
        connection != nullptr && connection->stage != ClientConnection::Stage::closing) {
        after_send(id, sockets_->send_text(connection->net, text));
    }
}

void Gateway::after_send(SlotId id, net::SendResult result) {
    ClientConnection* const connection = connections_.find(id);
    if (connection == nullptr) {
        return;
    }
    if (result == net::SendResult::overflow) {
        ++counters_.closed_slow;
        close(id, CloseReason::slow_reader, true);
    } else if (result == net::SendResult::blocked && !connection->slow_check) {
        connection->slow_check = true;
        file(id, TimerKind::slow, parts_.clock.now() + parts_.limits.slow_reader);
    }
}

void Gateway::fail(SlotId id, RequestId request, const Error& error) {
    ClientConnection* const connection = connections_.find(id);
    if (connection == nullptr || connection->stage == ClientConnection::Stage::closing) {
        return;
    }
    if (error.code == ErrorCode::bad_request || error.code == ErrorCode::too_large) {
        ++counters_.mistakes;
        const TokenBucket::Rate rate{parts_.limits.errors_per_second, parts_.limits.errors_burst};
        if (!connection->rarely().mistakes.take(rate, parts_.clock.now())) {
            ++counters_.closed_too_many;
            close(id, CloseReason::too_many_messages, true);
            return;
        }
    }
    if (log::enabled(log::Level::debug)) {
        const std::string named = request ? std::to_string(*request) : "";
        log::Ids about = ids_of(*connection);
        about.request = named;
        log::debug(about, "refused", "{} {}", wire_name(error.code), log::quoted(error.message));
    }
    send(id, protocol::encode_error(request, error));
}

log::Ids Gateway::ids_of(const ClientConnection& connection) const {
    const SessionId* const session = parts_.shard.service.name_of(connection.session);
    return {{}, session != nullptr ? std::string_view(session->text) : std::string_view()};
}

void Gateway::let_go_of_session(SlotId id, bool sign_of_life) {
    take_beats();
    ClientConnection& connection = connections_.at(id);
    const SlotId session = std::exchange(connection.session, {});
    if (!session) {
        return;
    }
    const SessionId* const name = parts_.shard.service.name_of(session);
    if (name != nullptr && log::enabled(log::Level::debug)) {
        log::debug({.session = name->text}, "connection_lost", "user={}",
                   log::quoted(connection.user.text));
    }
    struct Flow {
        static Detached lose(PresenceService& service, SlotId lost, bool sign) {
            co_await service.connection_lost(lost, sign);
        }
    };
    Flow::lose(parts_.shard.service, session, sign_of_life);
}

void Gateway::close(SlotId id, CloseReason reason, bool keep_session) {
    ClientConnection* const connection = connections_.find(id);
    if (connection == nullptr || connection->stage == ClientConnection::Stage::closing) {
        return;
    }
    connection->stage = ClientConnection::Stage::closing;
    const protocol::CloseInfo& info = protocol::close_info(reason);
    const net::ConnectionId net = connection->net;
    if (log::enabled(log::Level::debug)) {
        log::debug(ids_of(*connection), "closing", "user={} code={} {}",
                   log::quoted(connection->user.text), info.code, info.word);
    }
    if (keep_session) {
        let_go_of_session(id, false);
    } else {
        connection->session = {};
    }
    parts_.shard.rooms.drop_connection(id.slot);
    parts_.shard.watches.unwatch_all(id.slot);
    sockets_->close(net, info.code, info.word);
}

void Gateway::on_session_taken(const SessionTaken& taken) {
    parts_.shard.service.session_taken(taken);
}

void Gateway::on_end_set(const EndSet& set) {
    parts_.shard.service.read_end_of(set.user);
}

void Gateway::on_survey(const SurveyQuestionRef& question) {
    if (parts_.shard.survey != nullptr) {
        parts_.shard.survey->on_question(question);
    }
}

void Gateway::on_survey_answer(const SurveyAnswerRef& answer) {
    if (parts_.shard.survey != nullptr) {
        parts_.shard.survey->on_answer(answer);
    }
}

void Gateway::end_connection(SlotId id, EndReason reason) {
    close(id, close_reason_for(reason), false);
}

void Gateway::ping_connection(SlotId id) {
    if (const ClientConnection* connection = connections_.find(id)) {
        sockets_->send_ping(connection->net);
    }
}

const UserId* Gateway::viewer_of(std::uint32_t slot) {
    const auto [connection, id] = connections_.in(slot);
    return connection != nullptr && connection->stage == ClientConnection::Stage::open
               ? &connection->user
               : nullptr;
}

bool Gateway::is_open(SlotId id) {
    const ClientConnection* const connection = connections_.find(id);
    return connection != nullptr && connection->stage == ClientConnection::Stage::open;
}

bool Gateway::can_take(std::uint32_t slot) {
    const auto [connection, id] = connections_.in(slot);
    return connection != nullptr && connection->stage == ClientConnection::Stage::open &&
           !connection->paused && !sockets_->is_blocked(connection->net);
}

const EncodedNews::Kind& Gateway::encoded(WatchIndex::Subject& subject, Verdict verdict) {
    if (!subject.encoded) {
        subject.encoded = std::make_unique<EncodedNews>();
    }
    auto& kinds = subject.encoded->kinds;
    auto kind = std::ranges::find(kinds, verdict, &EncodedNews::Kind::verdict);
    if (kind == kinds.end()) {
        ++counters_.encoded;
        const PresenceView view =
            parts_.shard.reader.view(subject.user, &subject.news->presence, verdict);
        kind = kinds.insert(kinds.end(), {verdict, protocol::encode_presence(view), nullptr});
    }
    if (!kind->frame) {
        const std::string_view one[]{kind->json};
        kind->frame = std::make_shared<const std::string>(
            net::encode_text_frame(protocol::encode_update(one)));
    }
    return *kind;
}

void Gateway::deliver_news(std::uint32_t slot, std::span<WatchIndex::Subject* const> subjects,
                           std::span<const Verdict> verdicts) {
    const auto [connection, id] = connections_.in(slot);
    if (connection == nullptr) {
        return;
    }
    counters_.deliveries += subjects.size();
    if (subjects.size() == 1) {
        ++counters_.updates_sent;
        const EncodedNews::Kind& kind = encoded(*subjects[0], verdicts[0]);
        after_send(id, sockets_->send_text_shared(connection->net, kind.frame));
        return;
    }
    Frames frames;
    if (last_update_ && std::ranges::equal(last_update_->subjects, subjects) &&
        std::ranges::equal(last_update_->verdicts, verdicts)) {
        frames = last_update_->frames;
    } else {
        frames = make_updates(subjects, verdicts);
        if (last_update_) {
            last_update_ = {
                {subjects.begin(), subjects.end()}, {verdicts.begin(), verdicts.end()}, frames};
        }
    }
    for (const auto& frame : frames) {
        const ClientConnection* const open = connections_.find(id);
        if (open != nullptr && open->stage != ClientConnection::Stage::closing) {
            ++counters_.updates_sent;
            after_send(id, sockets_->send_text_shared(open->net, frame));
        }
    }
}

Gateway::Frames Gateway::make_updates(std::span<WatchIndex::Subject* const> subjects,
                                      std::span<const Verdict> verdicts) {
    std::vector<std::string_view> pieces;
    pieces.reserve(subjects.size());
    for (std::size_t i = 0; i < subjects.size(); ++i) {
        pieces.push_back(encoded(*subjects[i], verdicts[i]).json);
    }
    Frames frames;
    for (const std::string& part : protocol::encode_updates(pieces, parts_.limits.message_bytes)) {
        frames.push_back(std::make_shared<const std::string>(net::encode_text_frame(part)));
    }
    return frames;
}

void Gateway::deliver_seen(std::uint32_t slot, std::span<const Seen* const> seen) {
    const auto [connection, id] = connections_.in(slot);
    if (connection == nullptr) {
        return;
    }
    counters_.deliveries += seen.size();
    std::vector<std::string> presences;
    presences.reserve(seen.size());
    for (const Seen* one : seen) {
        presences.push_back(protocol::encode_presence(parts_.shard.reader.view(*one)));
    }
    const std::vector<std::string_view> pieces(presences.begin(), presences.end());
    for (const std::string& part : protocol::encode_updates(pieces, parts_.limits.message_bytes)) {
        ++counters_.updates_sent;
        send(id, part);
    }
}

void Gateway::on_presence(const PresenceEventRef& event) {
    parts_.shard.cache.note_record(event->user);
    if (event->rules_revision > 0 && parts_.shard.cache.heard(event->user, event->rules_revision)) {
        on_profile_changed(event->user, event->rules_revision);  // Word of it was lost (RULINGS 8).
    }
    parts_.shard.watches.on_presence(event);
    parts_.shard.rooms.on_presence(event);
    sockets_->request_batch_end();
}

void Gateway::on_profile_changed(const UserId& user, std::uint64_t revision) {
    if (revision != kErased) {
        parts_.shard.cache.heard(user, revision);
    }
    parts_.shard.cache.invalidate(user);
    if (revision == kErased) {
        parts_.shard.past.forget(user);
        parts_.shard.service.forget_events(user);
    }
    std::vector<std::uint32_t> viewing;
    const std::vector<SlotId> connections = parts_.shard.service.connections_of(user);
    for (const SlotId id : connections) {
        viewing.push_back(id.slot);
    }
    parts_.shard.watches.reconsider(user, viewing);
    parts_.shard.rooms.reconsider(user, viewing);
    if (revision == kErased) {
        parts_.shard.service.drop_deferred(user);
    }
    if (parts_.shard.service.is_concerned_with(user)) {
        if (revision == kErased) {
            end_erased(user);  // The store had lost them when the others were ended.
        }
        end_revoked(user);
    }
    if (parts_.shard.readers != nullptr) {
        parts_.shard.readers->on_profile_changed(user);
        if (revision == kErased) {
            parts_.shard.readers->end_readers(user);
        }
    }
}

std::vector<UserId> Gateway::everybody_here() const {
    std::vector<UserId> users;
    for (HeldUser& held : parts_.shard.service.users_here()) {
        users.push_back(std::move(held.user));
    }
    if (parts_.shard.readers != nullptr) {
        std::ranges::move(parts_.shard.readers->users(), std::back_inserter(users));
    }
    return users;
}

void Gateway::look_for_revoked() {
    end_revoked_of(everybody_here());
}

Detached Gateway::end_revoked_of(std::vector<UserId> users) {
    for (std::size_t i = 0; i < users.size(); i += kLookBatch) {
        const std::vector<UserId> batch = slice(users, i, kLookBatch);
        std::vector<UserId> asked = batch;
        const std::vector<ProfileAnswer> answers =
            co_await parts_.shard.cache.get(std::move(asked));
        for (std::size_t k = 0; k < batch.size(); ++k) {
            if (!answers[k].known) {
                look_later(batch[k]);
            } else if (answers[k].profile && answers[k].profile->revoked_before) {
                on_profile_changed(batch[k], 0);
            }
        }
    }
}

void Gateway::look_later(const UserId& user) {
    if (unread_.empty()) {
        parts_.shard.scheduler.after(kRetry, [this] {
            const std::set<UserId> unread = std::exchange(unread_, {});
            std::vector<UserId> users = everybody_here();
            std::erase_if(users, [&unread](const UserId& one) { return !unread.contains(one); });
            end_revoked_of(std::move(users));
        });
    }
    unread_.insert(user);
}

Detached Gateway::end_erased(UserId user) {
    Result<bool> erased = co_await parts_.shard.service.erase(user);
    if (!erased && erased.error().code == ErrorCode::unavailable) {
        parts_.shard.scheduler.after(kRetry, [this, user] {
            if (parts_.shard.service.is_concerned_with(user)) {
                end_erased(user);
            }
        });
    }
}

Detached Gateway::end_revoked(UserId user) {
    ProfileAnswer answer = co_await parts_.shard.cache.get(user);
    if (!answer.known) {
        look_later(user);
        co_return;
    }
    if (!answer.profile || !answer.profile->revoked_before) {
        co_return;
    }
    const WallTime before = *answer.profile->revoked_before;
    co_await parts_.shard.service.end_revoked(std::move(user), before);
}

}  // namespace presence::gateway
