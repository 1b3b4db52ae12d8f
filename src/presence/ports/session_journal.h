#pragma once

#include "presence/base/result.h"
#include "presence/base/task.h"
#include "presence/model/session.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace presence {

/// A session that was open when it was last written down.
struct OpenSession {
    UserId user;
    Session session;
};

/// One line of the journal: a session was opened or changed, or (empty) has ended.
struct JournalEntry {
    UserId user;
    SessionId id;
    std::optional<Session> session;
};

/// What a start finds of the life before it.
struct JournalStart {
    std::vector<OpenSession> open;       ///< Sessions that nobody ended.
    std::optional<WallTime> last_alive;  ///< When that life last showed itself.
    std::uint64_t version_floor = 0;     ///< All versions told from now on are above it.
};

/// What `start` adds to the version floor: more than one life can use up above the floor that it
/// wrote down last.
inline constexpr std::uint64_t kJournalFloorStep = std::uint64_t{1} << 20;

/// Open-session markers of a node that keeps its sessions in its own memory, so that a crash loses
/// neither who was online nor until when (DESIGN rule 19), and sessions can be resumed after a
/// restart. One object a process; used from one thread; completes on it.
/// Adapters: stores/sqlite, stores/memory. Each passes tests/contract/session_journal_contract.h.
class SessionJournal {
public:
    virtual ~SessionJournal() = default;

    /// Reads what the life before left, and begins a new one: the returned version floor is
    /// max(stored floor, `floor`) + kJournalFloorStep and is stored before this completes.
    [[nodiscard]] virtual Task<Result<JournalStart>> start(std::uint64_t floor) = 0;

    /// Writes a batch, in order, and that the node was alive at `alive_at`, in one transaction.
    /// `floor` raises the stored version floor if it is greater.
    [[nodiscard]] virtual Task<Result<bool>> write(std::vector<JournalEntry> entries,
                                                   WallTime alive_at, std::uint64_t floor) = 0;
};

}  // namespace presence
