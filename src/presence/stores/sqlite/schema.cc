#include "presence/stores/sqlite/schema.h"

#include <fmt/format.h>

#include <array>

namespace presence::sqlite {

namespace {

/// Step i leads from schema i to i + 1. A step that was ever released is never changed.
///
/// Ids are TEXT and compared byte for byte (BINARY, the default). Times are milliseconds of the
/// Unix epoch. Enumerations are their words on the wire, so that their numbers may change.
constexpr std::array<const char*, 3> kSteps{R"sql(
CREATE TABLE profiles (
    user               TEXT NOT NULL PRIMARY KEY,
    declared_status    TEXT NOT NULL DEFAULT 'auto',
    declared_until_ms  INTEGER,
    custom_text        TEXT,        -- NULL: no custom status
    custom_emoji       TEXT,
    custom_until_ms    INTEGER,
    declared_revision  INTEGER NOT NULL DEFAULT 0,
    online_rule        TEXT,        -- NULL: never set, the configured default is in force
    last_seen_rule     TEXT,
    last_seen_ms       INTEGER,
    own_version        INTEGER NOT NULL DEFAULT 0,
    shown_version      INTEGER NOT NULL DEFAULT 0,
    revoked_before_ms  INTEGER,
    revision           INTEGER NOT NULL DEFAULT 0,
    erased_ms          INTEGER      -- rows written until then are void
) STRICT, WITHOUT ROWID;

CREATE TABLE named_users (
    owner  TEXT NOT NULL REFERENCES profiles (user),
    kind   INTEGER NOT NULL CHECK (kind BETWEEN 1 AND 4),  -- see NamedKind
    user   TEXT NOT NULL,
    PRIMARY KEY (owner, kind, user)
) STRICT, WITHOUT ROWID;

CREATE INDEX named_users_by_user ON named_users (user);

CREATE TABLE open_sessions (
    user               TEXT NOT NULL,
    id                 TEXT NOT NULL,
    epoch              INTEGER NOT NULL,
    resume_hash        BLOB NOT NULL,
    device_kind        TEXT NOT NULL,
    device_name        TEXT NOT NULL,
    connected_ms       INTEGER NOT NULL,
    grace_until_ms     INTEGER,
    closed_ms          INTEGER NOT NULL,
    custom_text        TEXT,
    custom_emoji       TEXT,
    custom_until_ms    INTEGER,
    declared_status    TEXT NOT NULL,
    declared_until_ms  INTEGER,
    active_rank        INTEGER NOT NULL,
    counts             INTEGER NOT NULL,
    idle               INTEGER NOT NULL,
    PRIMARY KEY (user, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE journal (
    only           INTEGER NOT NULL PRIMARY KEY CHECK (only = 1),
    last_alive_ms  INTEGER,
    version_floor  INTEGER NOT NULL DEFAULT 0
) STRICT;

INSERT INTO journal (only) VALUES (1);
)sql",
                                            R"sql(
ALTER TABLE open_sessions ADD COLUMN beats_until_ms INTEGER;  -- NULL: it had a connection
)sql",
                                            R"sql(
CREATE TABLE webhook_events (
    seq      INTEGER PRIMARY KEY AUTOINCREMENT,
    target   TEXT NOT NULL,
    subject  TEXT NOT NULL,
    body     TEXT NOT NULL,
    batch    TEXT               -- NULL: in none yet
) STRICT;

CREATE INDEX webhook_events_waiting ON webhook_events (target, seq) WHERE batch IS NULL;
CREATE INDEX webhook_events_busy ON webhook_events (target, subject) WHERE batch IS NOT NULL;
CREATE INDEX webhook_events_by_batch ON webhook_events (batch, seq) WHERE batch IS NOT NULL;

CREATE TABLE webhook_batches (
    id        TEXT NOT NULL PRIMARY KEY,
    target    TEXT NOT NULL,
    attempts  INTEGER NOT NULL DEFAULT 0,
    first_ms  INTEGER NOT NULL,
    due_ms    INTEGER NOT NULL  -- while it is being sent: the end of the lease
) STRICT, WITHOUT ROWID;

CREATE INDEX webhook_batches_due ON webhook_batches (target, due_ms);

CREATE TABLE webhook_dead (
    number    INTEGER PRIMARY KEY AUTOINCREMENT,
    id        TEXT NOT NULL,
    target    TEXT NOT NULL,
    attempts  INTEGER NOT NULL,
    dead_ms   INTEGER NOT NULL,
    error     TEXT NOT NULL,
    bodies    TEXT NOT NULL     -- one a line
) STRICT;
)sql"};

std::int64_t stored_schema(Connection& connection) {
    Statement statement = connection.use("PRAGMA user_version");
    return statement.row() ? statement.integer(0) : 0;
}

}  // namespace

std::int64_t known_schema() {
    return static_cast<std::int64_t>(kSteps.size());
}

Result<std::int64_t> migrate(Connection& connection) {
    // Looked at before the lock: a start does not wait for whoever else is writing.
    std::int64_t found = stored_schema(connection);
    if (!connection.failed() && found != known_schema()) {
        connection.execute("BEGIN IMMEDIATE");
        found = stored_schema(connection);
        for (std::int64_t step = found; step < known_schema(); ++step) {
            connection.execute(kSteps.at(static_cast<std::size_t>(step)));
        }
        if (found < known_schema()) {
            connection.execute(fmt::format("PRAGMA user_version = {}", known_schema()).c_str());
        }
        connection.execute("COMMIT");
    }
    if (std::optional<Error> failure = connection.take_failure()) {
        if (connection.in_transaction()) {
            connection.execute("ROLLBACK");
            static_cast<void>(connection.take_failure());
        }
        failure->message = "cannot bring the database up to date: " + failure->message;
        return *std::move(failure);
    }
    if (found > known_schema()) {
        return Error{ErrorCode::conflict,
                     fmt::format("the database has schema {}, this release knows schemas up to {}: "
                                 "it was written by a newer release",
                                 found, known_schema()),
                     0, 0};
    }
    return found;
}

}  // namespace presence::sqlite
