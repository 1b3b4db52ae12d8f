#pragma once

#include "presence/base/clock.h"
#include "presence/core/counters.h"
#include "presence/core/limits.h"
#include "presence/model/past.h"
#include "presence/model/presence.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace presence {

/// What this thread has settled in the last hour, so that `explain` can say why somebody was shown
/// like this a while ago. Of the users whose home is this thread.
///
/// A log and no table: each settle that changes a face writes some fifty bytes at its end, and its
/// oldest part goes as a whole, by age or at `limits.transition_memory`. A user costs nothing
/// beyond that, and a question reads all of it, which takes a few milliseconds at the most. One
/// thread.
class TransitionMemory {
public:
    static constexpr Millis kKept{3'600'000};

    TransitionMemory(const Clock& clock, const Limits& limits, CoreCounters& counters);

    /// A change of `user` was committed, or stands on this node alone. What nobody could see is
    /// not remembered.
    void note(const UserId& user, Cause cause, NodeId node, const UserRecord& before,
              const UserRecord& after);
    /// Rules, contacts or blocks of `user` were changed here.
    void note_rules(const UserId& user, NodeId node);
    /// The user was erased: so is this.
    void forget(const UserId& user);

    /// Another node has gone, and what it remembered with it.
    void lose_others(WallTime until) { since_ = std::max(since_, until); }

    /// The newest Past::kMost of the last hour.
    [[nodiscard]] Past of(const UserId& user) const;

    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

private:
    /// A part of the log that goes as a whole.
    struct Chunk {
        std::string lines;
        NodeId node;  ///< By which this process went.
        MonoTime newest;
        WallTime newest_wall;
        std::uint64_t count = 0;
    };
    struct Line;

    void append(Line line, NodeId node, const UserId& user, const SessionId& session);
    void make_room(std::size_t bytes, MonoTime now);
    [[nodiscard]] Chunk& chunk_for(std::size_t bytes, NodeId node);
    /// Calls `visit(chunk, position, line)` for each line about `user`, oldest first.
    template <class Chunks, class Visit>
    static void for_each(Chunks& chunks, const UserId& user, Visit&& visit);

    const Clock& clock_;
    const Limits& limits_;
    CoreCounters& counters_;
    std::deque<Chunk> chunks_;
    std::size_t bytes_ = 0;
    WallTime since_;  ///< Nothing that came later was dropped.
};

/// Whose doing the step from `before` to `after` was: the session that came, went or changed. Empty
/// where it was none, or several.
[[nodiscard]] SessionId session_concerned(const UserRecord& before, const UserRecord& after);

}  // namespace presence
