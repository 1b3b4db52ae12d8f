// What a welcomed client may ask for, one function a message.

#include "presence/base/log.h"
#include "presence/gateway/gateway.h"

#include <algorithm>

namespace presence::gateway {

namespace {

using protocol::CloseReason;

/// A presence that `known` may leave out: nothing in it can differ from what the viewer holds at
/// that version (PROTOCOL.md `watch`, RULINGS 6).
bool may_leave_out(const Seen& seen, const PresenceView& view) {
    return seen.rules_untouched && view.version().value > 0 && view.status() != Status::unknown &&
           !view.last_seen();
}

Error forbidden() {
    return {ErrorCode::forbidden, "the token does not allow that", 0, 0};
}

}  // namespace

void Gateway::acknowledge_heartbeat(SlotId id, RequestId request) {
    send(id, protocol::encode_heartbeat_ack(request, parts_.clock.wall_now()));
}

Detached Gateway::serve(SlotId id, RequestId request, protocol::ClientMessage message) {
    if (auto* heartbeat = std::get_if<protocol::Heartbeat>(&message)) {
        const SlotId session = connections_.at(id).session;
        if (heartbeat->idle) {
            co_await parts_.shard.service.report_activity(session, heartbeat->idle);
        }
        acknowledge_heartbeat(id, request);
    } else if (auto* activity = std::get_if<protocol::ActivityReport>(&message)) {
        const SlotId session = connections_.at(id).session;
        const std::optional<Millis> ago =
            activity->state == protocol::Activity::active ? std::optional(Millis{0}) : std::nullopt;
        Result<bool> reported = co_await parts_.shard.service.report_activity(session, ago);
        if (!reported) {
            fail(id, request, reported.error());
        } else if (request) {
            send(id, protocol::encode_ack(request));
        }
    } else if (auto* status = std::get_if<protocol::StatusChange>(&message)) {
        co_await on_status(id, request, std::move(*status));
    } else if (auto* watch = std::get_if<protocol::Watch>(&message)) {
        co_await on_watch(id, request, std::move(*watch));
    } else if (auto* unwatch = std::get_if<protocol::Unwatch>(&message)) {
        on_unwatch(id, request, *unwatch);
    } else if (auto* get = std::get_if<protocol::Get>(&message)) {
        co_await on_get(id, request, std::move(*get));
    } else if (auto* signal = std::get_if<protocol::Signal>(&message)) {
        co_await on_signal_request(id, request, std::move(*signal));
    } else if (auto* privacy = std::get_if<protocol::PrivacyChange>(&message)) {
        co_await on_privacy(id, request, std::move(*privacy));
    } else if (auto* block = std::get_if<protocol::Block>(&message)) {
        co_await on_block(id, request, std::move(block->users), true);
    } else if (auto* unblock = std::get_if<protocol::Unblock>(&message)) {
        co_await on_block(id, request, std::move(unblock->users), false);
    } else if (auto* delivery = std::get_if<protocol::Delivery>(&message)) {
        on_delivery(id, request, delivery->paused);
    } else if (auto* auth = std::get_if<protocol::Auth>(&message)) {
        co_await on_auth(id, request, std::move(*auth));
    } else if (std::holds_alternative<protocol::Bye>(message)) {
        co_await on_bye(id);
    } else if (auto* join = std::get_if<protocol::Join>(&message)) {
        co_await on_join(id, request, std::move(*join));
    } else if (auto* leave = std::get_if<protocol::Leave>(&message)) {
        co_await on_leave(id, request, std::move(*leave));
    } else {
        fail(id, request, {ErrorCode::bad_request, "hello comes once, as the first message", 0, 0});
    }
    finish_request(id);
}

bool Gateway::may_look(SlotId id, RequestId request, std::span<const UserId> looked_at) {
    ClientConnection& connection = connections_.at(id);
    const std::size_t users = looked_at.size();
    const auto is_other = [&](const UserId& user) { return !(user == connection.user); };
    if (!connection.may_watch && std::ranges::any_of(looked_at, is_other)) {
        fail(id, request, forbidden());
        return false;
    }
    const TokenBucket::Rate rate{parts_.limits.lookups_per_second, parts_.limits.lookups_burst};
    const MonoTime now = parts_.clock.now();
    TokenBucket& bucket = connection.rarely().lookups;
    if (!bucket.take(rate, now, static_cast<double>(users))) {
        ++counters_.rate_limited;
        fail(id, request,
             {ErrorCode::rate_limited, "too many users looked up",
              bucket.wait(rate, now, static_cast<double>(users)).count(), 0});
        return false;
    }
    return true;
}

Task<bool> Gateway::on_watch(SlotId id, RequestId request, protocol::Watch watch) {
    if (!may_look(id, request, watch.users)) {
        co_return false;
    }
    WatchRequest wanted{id.slot, connections_.at(id).user, std::move(watch.users),
                        watch.mode == protocol::Watch::Mode::set};
    Result<std::vector<Seen>> seen = co_await parts_.shard.watches.watch(std::move(wanted));
    if (connections_.find(id) == nullptr) {
        co_return false;
    }
    if (!seen) {
        fail(id, request, seen.error());
        co_return false;
    }
    std::sort(watch.known.begin(), watch.known.end());
    std::vector<std::string> presences;
    std::size_t unchanged = 0;
    for (const Seen& one : *seen) {
        const PresenceView view = parts_.shard.reader.view(one);
        const std::pair<UserId, Version> held{one.user, view.version()};
        if (std::binary_search(watch.known.begin(), watch.known.end(), held) &&
            may_leave_out(one, view)) {
            ++unchanged;
        } else {
            presences.push_back(protocol::encode_presence(view));
        }
    }
    const std::vector<std::string_view> pieces(presences.begin(), presences.end());
    for (const std::string& part : protocol::encode_snapshot(
             request, pieces, unchanged, parts_.clock.wall_now(), parts_.limits.message_bytes)) {
        send(id, part);
    }
    co_return true;
}

Task<bool> Gateway::on_get(SlotId id, RequestId request, protocol::Get get) {
    if (!may_look(id, request, get.users)) {
        co_return false;
    }
    WatchRequest wanted{id.slot, connections_.at(id).user, std::move(get.users), false};
    Result<std::vector<Seen>> seen = co_await parts_.shard.watches.get(std::move(wanted));
    if (connections_.find(id) == nullptr) {
        co_return false;
    }
    if (!seen) {
        fail(id, request, seen.error());
        co_return false;
    }
    std::vector<std::string> presences;
    presences.reserve(seen->size());
    for (const Seen& one : *seen) {
        presences.push_back(protocol::encode_presence(parts_.shard.reader.view(one)));
    }
    const std::vector<std::string_view> pieces(presences.begin(), presences.end());
    for (const std::string& part : protocol::encode_snapshot(
             request, pieces, 0, parts_.clock.wall_now(), parts_.limits.message_bytes)) {
        send(id, part);
    }
    co_return true;
}

void Gateway::on_unwatch(SlotId id, RequestId request, const protocol::Unwatch& unwatch) {
    if (unwatch.all) {
        parts_.shard.watches.unwatch_all(id.slot);
    } else {
        parts_.shard.watches.unwatch(id.slot, unwatch.users);
    }
    send(id, protocol::encode_ack(request));
}

Task<bool> Gateway::on_status(SlotId id, RequestId request, protocol::StatusChange change) {
    const ClientConnection& connection = connections_.at(id);
    if (!connection.may_status) {
        fail(id, request, forbidden());
        co_return false;
    }
    const bool session_scope = change.session_scope;
    Result<StatusChange> wanted = protocol::resolve(std::move(change), parts_.clock.wall_now());
    if (!wanted) {
        fail(id, request, wanted.error());
        co_return false;
    }
    const SlotId session = connection.session;
    const UserId user = connection.user;
    PresenceService& service = parts_.shard.service;
    Task<Result<StatusOutcome>> changing =
        session_scope ? service.change_session_status(session, std::move(*wanted), true)
                      : service.change_status(user, std::move(*wanted), true);
    Result<StatusOutcome> outcome = co_await changing;
    if (!outcome) {
        fail(id, request, outcome.error());
        co_return false;
    }
    protocol::AckFields fields;
    if (outcome->applied_in > Millis{0}) {
        fields.applied_in = outcome->applied_in;
    }
    send(id, protocol::encode_ack(request, fields));
    co_return true;
}

Task<bool> Gateway::tell_rules(SlotId id, RequestId request) {
    const UserId user = connections_.at(id).user;
    Result<ProfileRef> profile = co_await parts_.shard.editor.profile(user);
    if (!profile) {
        fail(id, request, profile.error());
        co_return false;
    }
    const PrivacySettings set = *profile ? (*profile)->privacy : PrivacySettings{};
    const rules::PrivacyDefaults& defaults = parts_.config.privacy;
    for (const std::string& part : protocol::encode_privacy(
             request, set.online.value_or(defaults.online),
             set.last_seen.value_or(defaults.last_seen), parts_.limits.message_bytes)) {
        send(id, part);
    }
    co_return true;
}

Task<bool> Gateway::on_privacy(SlotId id, RequestId request, protocol::PrivacyChange change) {
    const ClientConnection& connection = connections_.at(id);
    if (change.rules.online || change.rules.last_seen) {
        if (!connection.may_privacy) {
            fail(id, request, forbidden());
            co_return false;
        }
        const UserId user = connection.user;
        Result<ProfileChange> changed =
            co_await parts_.shard.editor.set_privacy(user, std::move(change.rules));
        if (connections_.find(id) == nullptr) {
            co_return false;
        }
        if (!changed) {
            fail(id, request, changed.error());
            co_return false;
        }
    }
    const bool told = co_await tell_rules(id, request);
    co_return told;
}

void Gateway::answer_change(SlotId id, RequestId request, const Result<ProfileChange>& changed) {
    if (!changed) {
        fail(id, request, changed.error());
    } else {
        send(id, protocol::encode_ack(request));
    }
}

Task<bool> Gateway::on_block(SlotId id, RequestId request, std::vector<UserId> users, bool block) {
    const ClientConnection& connection = connections_.at(id);
    if (!connection.may_privacy) {
        fail(id, request, forbidden());
        co_return false;
    }
    const UserId user = connection.user;
    if (block && std::ranges::find(users, user) != users.end()) {
        fail(id, request,
             {ErrorCode::bad_request, "users holds the caller, who cannot be blocked", 0, 0});
        co_return false;
    }
    UserSetChange change;
    (block ? change.add : change.remove) = UserSet(std::move(users));
    Result<ProfileChange> changed =
        co_await parts_.shard.editor.change_blocks(user, std::move(change));
    answer_change(id, request, changed);
    co_return changed.has_value();
}

void Gateway::on_delivery(SlotId id, RequestId request, bool paused) {
    ClientConnection& connection = connections_.at(id);
    const bool wakes = connection.paused && !paused;
    connection.paused = paused;
    if (request) {
        send(id, protocol::encode_ack(request));
    }
    if (wakes && connections_.find(id) != nullptr && can_take(id.slot)) {
        catch_up(id, true);
    }
}

Task<bool> Gateway::on_auth(SlotId id, RequestId request, protocol::Auth auth) {
    Task<Result<TokenClaims>> verifying =
        parts_.tokens.verify_patiently(std::move(auth.token), parts_.loop);
    Result<TokenClaims> claims = co_await verifying;
    if (ClientConnection* const here = connections_.find(id);
        here == nullptr || here->stage == ClientConnection::Stage::closing) {
        co_return false;
    }
    if (!claims) {
        ++counters_.auth_refused;
        fail(id, request, claims.error());
        co_return false;
    }
    const UserId user = connections_.at(id).user;
    if (!(claims->user == user)) {
        ++counters_.auth_refused;
        close(id, CloseReason::token_other_user, true);
        co_return false;
    }
    Result<ProfileRef> profile = co_await parts_.shard.editor.profile(user);
    ClientConnection* connection = connections_.find(id);
    if (connection == nullptr) {
        co_return false;
    }
    if (!profile) {
        fail(id, request, profile.error());
        co_return false;
    }
    if (is_revoked(*profile, claims->issued_at)) {
        ++counters_.auth_refused;
        fail(id, request, {ErrorCode::unauthorized, "the token was refused", 0, 0});
        co_return false;
    }
    take_claims(*connection, *claims);
    if (!connection->may_status) {
        parts_.shard.service.drop_deferred(user);
    }
    parts_.shard.service.renew_token(connection->session, claims->issued_at);
    arm_token_timers(id, *claims);
    if (!connection->may_watch) {
        parts_.shard.watches.unwatch_others(id.slot, user);
    }
    leave_forbidden_rooms(id);
    protocol::AckFields fields;
    fields.expires_at = claims->expires_at;
    send(id, protocol::encode_ack(request, fields));
    co_return true;
}

Task<bool> Gateway::on_bye(SlotId id) {
    const SlotId session = connections_.at(id).session;
    connections_.at(id).session = {};
    co_await parts_.shard.service.end(session, Cause::goodbye);
    close(id, CloseReason::bye, false);
    co_return true;
}

}  // namespace presence::gateway
