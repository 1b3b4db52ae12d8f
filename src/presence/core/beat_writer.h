#pragma once

#include "presence/base/clock.h"
#include "presence/base/scheduler.h"
#include "presence/base/task.h"
#include "presence/core/counters.h"
#include "presence/core/limits.h"
#include "presence/core/node_view.h"
#include "presence/ports/beat_mirror.h"

#include <boost/unordered/unordered_flat_map.hpp>

#include <algorithm>
#include <cstddef>

namespace presence {

/// Collects signs of life for the BeatMirror: a user is written at most once in kBetweenBeats, and
/// many users in one go, one go at a time. A sign that could not be written is not kept, as the
/// next one says the same. One thread.
class BeatWriter {
public:
    /// Whoever shows life more often than that is written that often.
    static constexpr Millis kBetweenBeats{5'000};

    /// @param interval  HeartbeatConfig::interval: what comes half an interval later is always
    ///                  written, or keys would go between two beats where the ttl is short.
    BeatWriter(Scheduler& scheduler, const Clock& clock, BeatMirror& mirror, const NodeView& nodes,
               const Limits& limits, CoreCounters& counters, Millis interval)
        : scheduler_(scheduler),
          clock_(clock),
          mirror_(mirror),
          nodes_(nodes),
          limits_(limits),
          counters_(counters),
          between_(std::min(kBetweenBeats, interval / 2)) {}

    /// The user showed life at `at`.
    void alive(const UserId& user, WallTime at);
    /// Everybody is told that the user is offline.
    void gone(const UserId& user);

    /// Users about whom something is to be written or was a moment ago.
    [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

private:
    struct Entry {
        WallTime at;
        MonoTime next_at;  ///< Not written again before that.
        bool fresh = false;
        bool gone = false;
    };

    [[nodiscard]] Entry* entry_of(const UserId& user);
    void arm();
    Detached flush();

    Scheduler& scheduler_;
    const Clock& clock_;
    BeatMirror& mirror_;
    const NodeView& nodes_;
    const Limits& limits_;
    CoreCounters& counters_;
    Millis between_;
    boost::unordered_flat_map<UserId, Entry, IdHash, IdEqual> entries_;
    bool armed_ = false;
};

}  // namespace presence
