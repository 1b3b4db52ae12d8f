// How streams and polls begin. What they are told is in reader_news.cc, how they end in
// reader_ends.cc.

#include "presence/api/readers.h"

#include "presence/core/records.h"
#include "presence/protocol/event_stream.h"
#include "presence/protocol/server_message.h"

#include <limits>

namespace presence::api {

namespace {

constexpr Millis kTimerTick{100};
/// How long clients wait before they connect again, unless they are told otherwise.
constexpr Millis kReconnectAfter{3'000};

Error draining() {
    return {ErrorCode::unavailable, "this node is restarting", 1000, 0};
}

Error client_left() {
    return {ErrorCode::unavailable, "the client has left", 0, 0};
}

Task<Result<bool>> take_place(Shard& home, UserId user, std::size_t users, bool stays) {
    Result<bool> looked = home.calls.take_lookups(user, users, home.limits, home.clock.now());
    if (!looked || !stays) {
        co_return looked;
    }
    co_return home.places.take(user, home.limits);
}

}  // namespace

Readers::Readers(const ApiParts& parts) : parts_(parts), timers_(kTimerTick, parts.clock.now()) {
    parts_.shard.watches.set_reader_sink(this);
    parts_.shard.readers = this;
}

Readers::~Readers() {
    parts_.shard.readers = nullptr;
    parts_.shard.watches.set_reader_sink(nullptr);
}

Task<Result<SlotId>> Readers::admit(ReaderRequest request, bool is_poll, bool stays) {
    if (draining_) {
        co_return draining();
    }
    NodeReaders::Place place;
    if (stays) {
        place = parts_.node_readers.take(parts_.limits.readers);
    }
    if (stays && !place) {
        ++counters_.refused;
        co_return Error{ErrorCode::unavailable, "this node has all the streams it can hold", 5000,
                        0};
    }
    const UserId user = request.claims.user;
    const std::size_t users = request.users.size();
    Shard& home = parts_.shards.home_of(user);
    Task<Result<bool>> taking = run_there<Result<bool>>(
        parts_.scheduler, home.scheduler,
        [&home, user, users, stays] { return take_place(home, user, users, stays); });
    Result<bool> taken = co_await taking;
    if (!taken) {
        co_return taken.error();
    }
    // Who was revoked meanwhile had no reader to be ended.
    UserId asked = user;
    const ProfileAnswer rules = co_await parts_.shard.cache.get(std::move(asked));
    const bool revoked = is_revoked(rules.profile, request.claims.issued_at);
    // A poll whose client has only closed its own side is still answered, but never waits.
    if (draining_ || revoked || (!is_poll && has_left(request.connection))) {
        if (stays) {
            give_back_place(user);
        }
        if (revoked) {
            ++counters_.refused;
            co_return Error{ErrorCode::unauthorized, "the token was revoked", 0, 0};
        }
        ++counters_.left_early;
        co_return draining_ ? draining() : client_left();
    }
    const SlotId id = readers_.create();
    Reader& reader = readers_.at(id);
    reader.place = std::move(place);
    reader.connection = request.connection;
    reader.user = user;
    reader.token_issued_at = request.claims.issued_at;
    if (request.claims.expires_at) {
        const Millis life = *request.claims.expires_at - parts_.clock.wall_now();
        reader.token_over = parts_.clock.now() + life + parts_.tokens.leeway();
        file(id, TimerKind::token_end, life + parts_.tokens.leeway());
    }
    if (is_poll) {
        reader.poll = std::make_unique<Poll>();
    }
    if (request.connection) {
        by_connection_[request.connection.value] = id;
    }
    by_user_[user].push_back(id);
    ++(is_poll ? open_.polls : open_.streams);
    ++(is_poll ? counters_.polls : counters_.streams);
    co_return id;
}

/// On success the reader is there; on any error it is closed.
Task<Result<std::vector<Seen>>> Readers::watch(SlotId id, std::vector<UserId> users) {
    const UserId user = readers_.at(id).user;
    WatchRequest wanted{id.slot | kHttpReader, user, std::move(users), true};
    Result<std::vector<Seen>> seen = co_await parts_.shard.watches.watch(std::move(wanted));
    const Reader* const reader = readers_.find(id);
    if (reader == nullptr) {
        co_return client_left();
    }
    if (!seen || reader->gone) {
        close(id);
        co_return seen ? Result<std::vector<Seen>>(client_left()) : std::move(seen);
    }
    co_return seen;
}

Task<Result<std::string>> Readers::open_stream(ReaderRequest request, std::uint64_t last_id) {
    std::vector<UserId> users = request.users;
    Result<SlotId> admitted = co_await admit(std::move(request), false, true);
    if (!admitted) {
        co_return admitted.error();
    }
    const SlotId id = *admitted;
    Result<std::vector<Seen>> seen = co_await watch(id, std::move(users));
    if (!seen) {
        co_return seen.error();
    }
    Reader& reader = readers_.at(id);
    reader.begun = true;
    reader.last_id = last_id + 1;
    std::vector<std::string> presences;
    presences.reserve(seen->size());
    for (const Seen& one : *seen) {
        presences.push_back(protocol::encode_presence(parts_.shard.reader.view(one)));
    }
    const std::vector<std::string_view> pieces(presences.begin(), presences.end());
    // An event is as long as it must be: clients of this road put no parts together.
    const std::vector<std::string> whole = protocol::encode_snapshot(
        std::nullopt, pieces, 0, parts_.clock.wall_now(), std::numeric_limits<std::size_t>::max());
    std::string bytes = protocol::encode_retry(kReconnectAfter);
    protocol::append_event(bytes, "snapshot", reader.last_id, whole.front());
    file(id, TimerKind::comment, kCommentEvery);
    co_return bytes;
}

Task<Readers::PollEnd> Readers::wait_for_news(SlotId id, Millis wait) {
    Reader& reader = readers_.at(id);
    reader.begun = true;
    file(id, TimerKind::poll_end, wait);
    Completion<PollEnd> ended([&](auto done) { reader.poll->done.emplace(std::move(done)); });
    PollEnd how = co_await ended;
    co_return how;
}

Task<Result<PollNews>> Readers::poll(ReaderRequest request, PollCursor held, Millis wait) {
    std::vector<UserId> users = request.users;
    Result<SlotId> admitted = co_await admit(std::move(request), true, wait > Millis{0});
    if (!admitted) {
        co_return admitted.error();
    }
    const SlotId id = *admitted;
    const net::ConnectionId connection = readers_.at(id).connection;
    std::vector<UserId> watched = users;
    Result<std::vector<Seen>> seen = co_await watch(id, std::move(watched));
    if (!seen) {
        co_return seen.error();
    }
    Poll& poll = *readers_.at(id).poll;
    poll.users = std::move(users);
    bool differs = false;
    for (const Seen& one : *seen) {
        const PresenceView view = parts_.shard.reader.view(one);
        poll.marks.push_back(mark_of(readers_.at(id).user, view));
        const bool is_news = !held.holds(poll.marks.back());
        poll.presences.push_back(is_news ? protocol::encode_presence(view) : std::string());
        differs = differs || is_news;
    }
    if (has_left(connection)) {
        ++counters_.left_early;
    } else if (!differs && wait > Millis{0}) {
        PollEnd how = co_await wait_for_news(id, wait);
        if (how) {
            close(id);
            co_return std::move(*how);
        }
    }
    PollNews news;
    for (std::string& presence : poll.presences) {
        if (!presence.empty()) {
            news.presences.push_back(std::move(presence));
        }
    }
    news.cursor = PollCursor::encode(std::move(poll.marks));
    close(id);
    co_return news;
}

bool Readers::has_left(net::ConnectionId connection) const {
    return connection && !pipe_->has_client(connection);
}

void Readers::give_back_place(const UserId& user) {
    Shard& home = parts_.shards.home_of(user);
    if (&home == &parts_.shard) {
        home.places.give_back(user);
    } else {
        home.scheduler.post([&home, user] { home.places.give_back(user); });
    }
}

}  // namespace presence::api
