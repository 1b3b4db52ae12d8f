// How streams and polls end: their client leaves or reads nothing, their token is over, the node is
// drained.

#include "presence/api/readers.h"
#include "presence/core/records.h"
#include "presence/protocol/event_stream.h"

#include <algorithm>

namespace presence::api {

namespace {

/// After a drain: sooner would only knock at a door that is still closed.
constexpr Millis kLeastAfterDrain{100};
/// A profile that could not be read is asked for again after that long.
constexpr Millis kRetry{1000};

}  // namespace

void Readers::close(SlotId id) {
    const Reader& reader = readers_.at(id);
    parts_.shard.watches.unwatch_all(id.slot | kHttpReader);
    by_connection_.erase(reader.connection.value);
    const auto of_user = by_user_.find(reader.user);
    std::erase(of_user->second, id);
    if (of_user->second.empty()) {
        by_user_.erase(of_user);
    }
    --(reader.poll ? open_.polls : open_.streams);
    if (reader.place) {
        give_back_place(reader.user);
    }
    readers_.destroy(id);
}

void Readers::end_poll(SlotId id, PollEnd how) {
    Poll& poll = *readers_.at(id).poll;
    if (poll.done) {
        auto done = std::move(*poll.done);
        poll.done.reset();
        done(std::move(how));  // It goes on from here, and closes itself.
    }
}

void Readers::end(SlotId id, std::string_view why, std::optional<Error> error) {
    Reader* const reader = readers_.find(id);
    if (reader == nullptr) {
        return;
    }
    if (!reader->begun) {
        reader->gone = true;  // Whoever opens it finds out.
        return;
    }
    if (reader->poll) {
        end_poll(id, std::move(error));
        return;
    }
    const net::ConnectionId connection = reader->connection;
    if (!reader->gone) {
        pipe_->send(connection, protocol::encode_comment(why));
    }
    close(id);
    pipe_->end(connection);
}

SlotId Readers::find(net::ConnectionId connection) const {
    const auto found = by_connection_.find(connection.value);
    return found == by_connection_.end() ? SlotId{} : found->second;
}

void Readers::on_lost(net::ConnectionId connection) {
    const SlotId id = find(connection);
    Reader* const reader = readers_.find(id);
    if (reader == nullptr) {
        return;
    }
    reader->gone = true;
    if (!reader->begun) {
        ++counters_.left_early;
    } else if (reader->poll) {
        ++counters_.left_early;
        end_poll(id, std::nullopt);
    } else {
        close(id);
    }
}

void Readers::on_half_closed(net::ConnectionId connection) {
    const SlotId id = find(connection);
    Reader* const reader = readers_.find(id);
    if (reader == nullptr) {
        return;
    }
    // Nearly always it has left. If not, it may still read what there is: a poll that does not wait
    // yet finds out before it does.
    if (!reader->poll) {
        reader->gone = true;
    } else if (reader->begun) {
        ++counters_.left_early;
        end_poll(id, std::nullopt);
    }
}

void Readers::on_drained(net::ConnectionId connection) {
    const SlotId id = find(connection);
    if (readers_.find(id) != nullptr && can_take(id.slot | kHttpReader)) {
        parts_.shard.watches.catch_up(id.slot | kHttpReader);
    }
}

std::vector<SlotId> Readers::readers_of(const UserId& user) const {
    const auto found = by_user_.find(user);
    return found == by_user_.end() ? std::vector<SlotId>() : found->second;
}

std::vector<UserId> Readers::users() const {
    std::vector<UserId> users;
    users.reserve(by_user_.size());
    for (const auto& [user, readers] : by_user_) {
        users.push_back(user);
    }
    return users;
}

void Readers::on_profile_changed(const UserId& user) {
    const std::vector<SlotId> readers = readers_of(user);
    if (readers.empty()) {
        return;
    }
    std::vector<std::uint32_t> viewing;
    for (const SlotId id : readers) {
        viewing.push_back(id.slot | kHttpReader);
    }
    parts_.shard.watches.reconsider_views(viewing);
    end_revoked(user);
}

Detached Readers::end_revoked(UserId user) {
    ProfileAnswer answer = co_await parts_.shard.cache.get(user);
    if (!answer.known) {
        parts_.shard.scheduler.after(kRetry, [this, user] {
            if (!readers_of(user).empty()) {
                end_revoked(user);
            }
        });
        co_return;
    }
    if (!answer.profile || !answer.profile->revoked_before) {
        co_return;
    }
    for (const SlotId id : readers_of(user)) {
        const Reader* const reader = readers_.find(id);
        if (reader != nullptr && is_revoked(answer.profile, reader->token_issued_at)) {
            end(id, "token_revoked", Error{ErrorCode::unauthorized, "the token was revoked", 0, 0});
        }
    }
}

OpenConnections Readers::connections() const {
    OpenConnections open = open_;
    open.web_sockets = pipe_ != nullptr ? pipe_->web_sockets() : 0;
    return open;
}

void Readers::end_readers(const UserId& user) {
    for (const SlotId id : readers_of(user)) {
        end(id, "erased");
    }
}

void Readers::drain(Millis window) {
    draining_ = true;
    std::vector<SlotId> all;
    readers_.for_each([&](SlotId id, Reader&) { all.push_back(id); });
    // Evenly over the window, this thread's between those of the others.
    const std::size_t threads = parts_.shards.all.size();
    const auto places = static_cast<std::int64_t>(all.size() * threads);
    const Millis span = std::max(window - kLeastAfterDrain, Millis{0});
    for (std::size_t i = 0; i < all.size(); ++i) {
        const Reader* const reader = readers_.find(all[i]);
        if (reader == nullptr) {
            continue;
        }
        if (!reader->poll && reader->begun && !reader->gone) {
            const auto place = static_cast<std::int64_t>(i * threads + parts_.index + 1);
            const Millis after = kLeastAfterDrain + span * place / places;
            pipe_->send(reader->connection, protocol::encode_retry(after));
        }
        end(all[i], "restarting");
    }
}

void Readers::file(SlotId id, TimerKind kind, Millis delay) {
    timers_.file({id, kind}, parts_.clock.now() + delay);
}

void Readers::tick() {
    const MonoTime now = parts_.clock.now();
    timers_.advance(now, [&](const Timer& timer, std::uint32_t) { visit(timer, now); });
}

void Readers::visit(const Timer& timer, MonoTime now) {
    const SlotId id = timer.reader;
    Reader* const reader = readers_.find(id);
    if (reader == nullptr) {
        return;
    }
    switch (timer.kind) {
        case TimerKind::comment:
            file(id, TimerKind::comment, kCommentEvery);
            if (!pipe_->blocked_since(reader->connection)) {
                write(id, protocol::encode_comment("alive"));
            }
            return;
        case TimerKind::token_end:
            if (now < reader->token_over) {
                file(id, TimerKind::token_end, reader->token_over - now);
            } else {
                end(id, "token_expired");
            }
            return;
        case TimerKind::poll_end:
            end_poll(id, std::nullopt);
            return;
        case TimerKind::slow: {
            reader->slow_check = false;
            const auto since = pipe_->blocked_since(reader->connection);
            if (!since) {
                return;
            }
            if (now - *since < parts_.limits.slow_reader) {
                reader->slow_check = true;
                file(id, TimerKind::slow, *since + parts_.limits.slow_reader - now);
                return;
            }
            ++counters_.closed_slow;
            const net::ConnectionId connection = reader->connection;
            close(id);
            pipe_->abort(connection);
            return;
        }
    }
}

}  // namespace presence::api
