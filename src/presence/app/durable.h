#pragma once

#include "presence/app/data_lock.h"
#include "presence/app/node.h"
#include "presence/ports/last_seen_spool.h"
#include "presence/ports/profile_store.h"
#include "presence/ports/session_journal.h"
#include "presence/stores/memory/memory_journal.h"
#include "presence/stores/memory/memory_outbox.h"
#include "presence/stores/memory/memory_profiles.h"
#include "presence/stores/postgres/database.h"
#include "presence/stores/spool/file_spool.h"
#include "presence/stores/sqlite/database.h"

#include <memory>

namespace presence::app {

/// Everything of a node that outlives it: databases, spool, and the lock on its data folder; and
/// the ports on them, one for each thread.
class Durable {
public:
    explicit Durable(const Clock& clock) : clock_(clock), memory_outbox_(clock) {}

    /// Opens what the configuration names. A PostgreSQL server need not be there yet.
    [[nodiscard]] Result<bool> open(const NodeConfig& config);

    // Ports that complete on `home`. They must go before this.
    [[nodiscard]] std::unique_ptr<ProfileStore> profiles_on(Scheduler& home);
    [[nodiscard]] std::unique_ptr<WebhookOutbox> outbox_on(Scheduler& home);
    /// Null: ends of presences wait in memory.
    [[nodiscard]] std::unique_ptr<LastSeenSpool> spool_on(Scheduler& home);
    /// @param keeps  False: sessions outlive the process elsewhere, so nothing is written down.
    [[nodiscard]] std::unique_ptr<SessionJournal> journal_on(Scheduler& home, bool keeps);

    // For metrics; null where there is none.
    [[nodiscard]] const sqlite::Database* sqlite() const noexcept { return sqlite_.get(); }
    [[nodiscard]] const postgres::Database* postgres() const noexcept { return postgres_.get(); }

    /// Finishes what was handed in, and closes. Blocks.
    void stop();

private:
    const Clock& clock_;
    DataLock lock_;
    std::unique_ptr<sqlite::Database> sqlite_;
    std::unique_ptr<postgres::Database> postgres_;
    std::unique_ptr<SpoolThread> spool_;
    MemoryProfiles memory_profiles_;
    MemoryJournalState memory_journal_;
    MemoryOutboxState memory_outbox_;
};

}  // namespace presence::app
