#pragma once

#include "presence/ports/session_journal.h"
#include "presence/stores/memory/faults.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace presence {

/// What would stand on a disk: give the same one to the next MemoryJournal to play a restart.
struct MemoryJournalState {
    std::map<std::pair<UserId, SessionId>, Session> open;
    std::optional<WallTime> last_alive;
    std::uint64_t version_floor = 0;
    StoreFaults faults;
};

/// A journal in memory: for tests, and for `database.url = memory:`, where each start is a first
/// one. Completes at once, unless told to be slow.
class MemoryJournal final : public SessionJournal {
public:
    /// @param for_delays  Needed only where `faults.set_delay` is used.
    explicit MemoryJournal(MemoryJournalState& state, Scheduler* for_delays = nullptr)
        : state_(state), scheduler_(for_delays) {}

    [[nodiscard]] Task<Result<JournalStart>> start(std::uint64_t floor) override;
    [[nodiscard]] Task<Result<bool>> write(std::vector<JournalEntry> entries, WallTime alive_at,
                                           std::uint64_t floor) override;

private:
    MemoryJournalState& state_;
    Scheduler* scheduler_;
};

}  // namespace presence
