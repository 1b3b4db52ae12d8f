#include "presence/core/transition_memory.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace presence {

namespace {

/// Large enough that little is lost at the seams, small enough that what goes at once is little.
constexpr std::size_t kChunkBytes = std::size_t{32} << 10;
constexpr std::size_t kLeastChunks = 8;

constexpr std::uint8_t kDevices = 1;
constexpr std::uint8_t kCustom = 2;
constexpr std::uint8_t kRules = 4;

Status own_status(const Presence& presence) {
    return presence.doubts(presence.own) ? Status::unknown : presence.own.status;
}

Status shown_status(const Presence& presence) {
    return presence.doubts(presence.shown) ? Status::unknown : presence.shown.status;
}

/// Others' places in the order of activity move with every report of one of them.
bool differ(const Session& a, Session b) {
    b.active_rank = a.active_rank;
    return !(a == b);
}

}  // namespace

/// One line of the log as bytes; the names of user and session follow it. Never leaves the process.
struct TransitionMemory::Line {
    std::int64_t at_ms = 0;
    std::uint64_t shown_version = 0;
    std::uint8_t cause = 0;
    std::uint8_t own_before = 0;
    std::uint8_t own_after = 0;
    std::uint8_t shown_before = 0;
    std::uint8_t shown_after = 0;
    std::uint8_t changed = 0;
    std::uint8_t user_bytes = 0;  ///< Ids have 128 bytes at most, those of sessions 133.
    std::uint8_t session_bytes = 0;
};

SessionId session_concerned(const UserRecord& before, const UserRecord& after) {
    const Session* concerned = nullptr;
    const auto take = [&](const Session& session) {
        const bool first = concerned == nullptr;
        concerned = &session;
        return first;
    };
    for (const Session& session : after.sessions) {
        const auto old = std::ranges::find(before.sessions, session.id, &Session::id);
        if ((old == before.sessions.end() || differ(*old, session)) && !take(session)) {
            return {};
        }
    }
    for (const Session& session : before.sessions) {
        const bool gone =
            std::ranges::find(after.sessions, session.id, &Session::id) == after.sessions.end();
        if (gone && !take(session)) {
            return {};
        }
    }
    return concerned == nullptr ? SessionId() : concerned->id;
}

TransitionMemory::TransitionMemory(const Clock& clock, const Limits& limits, CoreCounters& counters)
    : clock_(clock), limits_(limits), counters_(counters), since_(clock.wall_now()) {}

void TransitionMemory::note(const UserId& user, Cause cause, NodeId node, const UserRecord& before,
                            const UserRecord& after) {
    const Presence& old_one = before.presence;
    const Presence& now = after.presence;
    Line line;
    line.cause = static_cast<std::uint8_t>(cause);
    line.shown_version = now.shown_version.value;
    line.own_before = static_cast<std::uint8_t>(own_status(old_one));
    line.own_after = static_cast<std::uint8_t>(own_status(now));
    line.shown_before = static_cast<std::uint8_t>(shown_status(old_one));
    line.shown_after = static_cast<std::uint8_t>(shown_status(now));
    line.changed =
        static_cast<std::uint8_t>((old_one.own.devices == now.own.devices ? 0 : kDevices) |
                                  (same(old_one.own.custom, now.own.custom) ? 0 : kCustom));
    const bool same_to_all = line.changed == 0 && line.own_before == line.own_after &&
                             line.shown_before == line.shown_after &&
                             old_one.shown_version == now.shown_version;
    if (!same_to_all) {  // Else somebody declared what shows once they are there.
        append(line, node, user, session_concerned(before, after));
    }
}

void TransitionMemory::note_rules(const UserId& user, NodeId node) {
    Line line;
    line.cause = static_cast<std::uint8_t>(Cause::privacy);
    line.changed = kRules;
    append(line, node, user, {});
}

void TransitionMemory::append(Line line, NodeId node, const UserId& user,
                              const SessionId& session) {
    constexpr std::size_t kMostBytes = std::numeric_limits<std::uint8_t>::max();
    const std::string_view user_name(user.text);
    const std::string_view session_name(session.text);
    if (user_name.size() > kMostBytes || session_name.size() > kMostBytes) {
        return;  // No id is that long.
    }
    const std::size_t bytes = sizeof(Line) + user_name.size() + session_name.size();
    const WallTime wall = clock_.wall_now();
    make_room(bytes, clock_.now());
    if (bytes_ + bytes > limits_.transition_memory) {
        since_ = wall;
        ++counters_.transitions_forgotten;
        return;
    }
    line.at_ms = wall.ms();
    line.user_bytes = static_cast<std::uint8_t>(user_name.size());
    line.session_bytes = static_cast<std::uint8_t>(session_name.size());
    std::array<char, sizeof(Line)> head{};
    std::memcpy(head.data(), &line, sizeof(Line));
    Chunk& last = chunk_for(bytes, node);
    last.lines.append(head.data(), sizeof(Line)).append(user_name).append(session_name);
    last.newest = clock_.now();
    last.newest_wall = wall;
    ++last.count;
    bytes_ += bytes;
}

TransitionMemory::Chunk& TransitionMemory::chunk_for(std::size_t bytes, NodeId node) {
    const std::size_t most = std::min(kChunkBytes, limits_.transition_memory / kLeastChunks);
    if (chunks_.empty() || chunks_.back().node != node ||
        chunks_.back().lines.size() + bytes > most) {
        chunks_.emplace_back();
        chunks_.back().node = node;
        chunks_.back().lines.reserve(std::max(most, bytes));
    }
    return chunks_.back();
}

void TransitionMemory::make_room(std::size_t bytes, MonoTime now) {
    while (!chunks_.empty()) {
        const Chunk& oldest = chunks_.front();
        const bool aged = now - oldest.newest >= kKept;
        if (!aged && bytes_ + bytes <= limits_.transition_memory) {
            return;
        }
        if (!aged) {
            since_ = oldest.newest_wall;
            counters_.transitions_forgotten += oldest.count;
        }
        bytes_ -= oldest.lines.size();
        chunks_.pop_front();
    }
}

template <class Chunks, class Visit>
void TransitionMemory::for_each(Chunks& chunks, const UserId& user, Visit&& visit) {
    const std::string_view name(user.text);
    for (auto& chunk : chunks) {
        const std::string_view lines(chunk.lines);
        std::size_t position = 0;
        while (position < lines.size()) {
            Line line;
            std::memcpy(&line, lines.data() + position, sizeof(Line));
            if (lines.substr(position + sizeof(Line), line.user_bytes) == name) {
                visit(chunk, position, line);
            }
            position += sizeof(Line) + line.user_bytes + line.session_bytes;
        }
    }
}

void TransitionMemory::forget(const UserId& user) {
    for_each(chunks_, user, [](Chunk& chunk, std::size_t position, const Line& line) {
        const std::size_t names = std::size_t{line.user_bytes} + line.session_bytes;
        chunk.lines.replace(position + sizeof(Line), names, names, '\0');
    });
}

Past TransitionMemory::of(const UserId& user) const {
    Past past;
    const WallTime oldest = clock_.wall_now() - kKept;
    past.since = std::max(since_, oldest);
    for_each(chunks_, user, [&](const Chunk& chunk, std::size_t position, const Line& line) {
        const std::size_t session_at = position + sizeof(Line) + line.user_bytes;
        PastTransition one;
        one.at = WallTime::from_ms(line.at_ms);
        one.cause = name(static_cast<Cause>(line.cause));
        one.node = chunk.node;
        one.session = SessionId(chunk.lines.substr(session_at, line.session_bytes));
        one.before = {static_cast<Status>(line.own_before), static_cast<Status>(line.shown_before)};
        one.after = {static_cast<Status>(line.own_after), static_cast<Status>(line.shown_after)};
        one.shown_version = Version{line.shown_version};
        one.devices_changed = (line.changed & kDevices) != 0;
        one.custom_changed = (line.changed & kCustom) != 0;
        one.rules_changed = (line.changed & kRules) != 0;
        if (one.at >= oldest) {
            past.transitions.push_back(std::move(one));
        }
    });
    if (past.transitions.size() > Past::kMost) {
        past.transitions.erase(past.transitions.begin(),
                               past.transitions.end() - std::ptrdiff_t{Past::kMost});
        past.since = std::max(past.since, past.transitions.front().at);
    }
    return past;
}

}  // namespace presence
