#include "presence/app/durable.h"

#include "presence/stores/postgres/postgres_outbox.h"
#include "presence/stores/postgres/postgres_profile_store.h"
#include "presence/stores/sqlite/sqlite_journal.h"
#include "presence/stores/sqlite/sqlite_outbox.h"
#include "presence/stores/sqlite/sqlite_profile_store.h"

#include <utility>

namespace presence::app {

Result<bool> Durable::open(const NodeConfig& config) {
    if (!config.database_path.empty()) {
        Result<DataLock> locked = DataLock::take(config.database_path + ".lock");
        if (!locked) {
            return locked.error();
        }
        lock_ = std::move(*locked);
        Result<std::unique_ptr<sqlite::Database>> opened =
            sqlite::Database::open({.path = config.database_path});
        if (!opened) {
            return opened.error();
        }
        sqlite_ = std::move(*opened);
    }
    if (!config.spool_path.empty()) {
        Result<std::unique_ptr<spool::SpoolFile>> opened = spool::SpoolFile::open(
            {.path = config.spool_path, .limit = config.limits.last_seen_spool});
        if (!opened) {
            return opened.error();
        }
        spool_ = std::make_unique<SpoolThread>(std::move(*opened));
    }
    if (!config.postgres_url.empty()) {
        postgres_ = std::make_unique<postgres::Database>(
            postgres::DatabaseConfig{.connection = {.url = config.postgres_url},
                                     .connections = config.postgres_connections});
    }
    return true;
}

std::unique_ptr<ProfileStore> Durable::profiles_on(Scheduler& home) {
    if (postgres_) {
        return std::make_unique<PostgresProfileStore>(*postgres_, home);
    }
    if (sqlite_) {
        return std::make_unique<SqliteProfileStore>(*sqlite_, home);
    }
    return std::make_unique<MemoryProfileStore>(memory_profiles_, &home);
}

std::unique_ptr<WebhookOutbox> Durable::outbox_on(Scheduler& home) {
    if (postgres_) {
        return std::make_unique<PostgresOutbox>(*postgres_, home);
    }
    if (sqlite_) {
        return std::make_unique<SqliteOutbox>(*sqlite_, clock_, home);
    }
    return std::make_unique<MemoryOutbox>(memory_outbox_);
}

std::unique_ptr<LastSeenSpool> Durable::spool_on(Scheduler& home) {
    return spool_ ? std::make_unique<FileSpool>(*spool_, home) : nullptr;
}

std::unique_ptr<SessionJournal> Durable::journal_on(Scheduler& home, bool keeps) {
    if (sqlite_ && keeps) {
        return std::make_unique<SqliteJournal>(*sqlite_, home);
    }
    return std::make_unique<MemoryJournal>(memory_journal_);
}

void Durable::stop() {
    if (postgres_) {
        postgres_->stop();
    }
    if (spool_) {
        spool_->stop();
    }
    if (sqlite_) {
        sqlite_->stop();
    }
}

}  // namespace presence::app
