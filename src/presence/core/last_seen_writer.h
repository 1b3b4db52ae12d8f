#pragma once

#include "presence/base/scheduler.h"
#include "presence/base/task.h"
#include "presence/core/counters.h"
#include "presence/core/journal_writer.h"
#include "presence/core/limits.h"
#include "presence/core/owed_ends.h"
#include "presence/ports/last_seen_spool.h"
#include "presence/ports/profile_store.h"

#include <boost/unordered/unordered_flat_map.hpp>

#include <list>
#include <vector>

namespace presence {

/// Collects the ends of presences and writes them in batches, at most one statement a second.
/// A row stays queued until the database or, while that is away, the spool has taken it; a newer
/// one of the same user takes its place. Only then does the journal hear of the sessions that ended
/// with it, so that a crash in between finds them still open, and the end is not lost. One thread.
class LastSeenWriter {
public:
    /// @param journal  Null: this node keeps none.
    /// @param spool    Null: rows stay in memory while the database is away.
    /// @param owed     Hears what the database has; null: nobody else needs to know.
    LastSeenWriter(Scheduler& scheduler, ProfileStore& store, const Limits& limits,
                   CoreCounters& counters, JournalSink* journal = nullptr,
                   LastSeenSpool* spool = nullptr, OwedEnds* owed = nullptr)
        : scheduler_(scheduler),
          store_(store),
          limits_(limits),
          counters_(counters),
          journal_(journal),
          spool_(spool),
          owed_(owed) {}

    /// @param ended  What the journal is to hear once the row is written.
    void note(LastSeenRow row, std::vector<JournalEntry> ended = {});

    /// Writes what is queued now. False: neither database nor spool took it, and it stays queued.
    [[nodiscard]] Task<bool> flush();

    /// What the database is not known to have of this thread, and where `spooled` of the whole node
    /// what waits in the spool. The newest of a user is the greatest; there may be older ones.
    [[nodiscard]] Task<std::vector<LastSeenRow>> owed(bool spooled) const;

    [[nodiscard]] std::size_t queued() const noexcept { return queue_.size() + in_flight_; }

private:
    struct Queued {
        LastSeenRow row;
        std::vector<JournalEntry> ended;
    };

    void arm();
    void tell_journal(std::vector<JournalEntry> ended);
    /// False: neither database nor spool took them.
    [[nodiscard]] Task<bool> save(std::vector<LastSeenRow> rows);
    Detached flush_later();

    Scheduler& scheduler_;
    ProfileStore& store_;
    const Limits& limits_;
    CoreCounters& counters_;
    JournalSink* journal_;
    LastSeenSpool* spool_;
    OwedEnds* owed_;
    boost::unordered_flat_map<UserId, Queued, IdHash, IdEqual> queue_;
    std::list<std::vector<Queued>> writing_;
    std::size_t in_flight_ = 0;
    bool armed_ = false;
    bool failing_ = false;  ///< For one log line each way.
};

}  // namespace presence
