#pragma once

#include "presence/ports/session_journal.h"
#include "presence/stores/sqlite/database.h"

namespace presence {

/// Open-session markers in the file that also holds the profiles. Completes on `home`, in the
/// order of the calls. What a crash of this process can lose is only what was not yet answered.
class SqliteJournal final : public SessionJournal {
public:
    SqliteJournal(sqlite::Database& database, Scheduler& home) : database_(database), home_(home) {}

    [[nodiscard]] Task<Result<JournalStart>> start(std::uint64_t floor) override;
    [[nodiscard]] Task<Result<bool>> write(std::vector<JournalEntry> entries, WallTime alive_at,
                                           std::uint64_t floor) override;

private:
    sqlite::Database& database_;
    Scheduler& home_;
};

}  // namespace presence
