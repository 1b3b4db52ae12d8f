#include "presence/stores/postgres/schema.h"

#include <fmt/format.h>

#include <array>

namespace presence::postgres {

namespace {

struct Step {
    const char* sql;
    /// The oldest schema whose releases can work with what this step makes. Steps add tables and
    /// columns with defaults, so that neighbouring releases run side by side (DESIGN rule 37).
    std::int64_t usable_from;
};

/// Step i leads from schema i to i + 1. A step that was ever released is never changed.
///
/// All stands in a schema of its own, `presenced`, so that the database can be shared. Ids are
/// compared byte for byte: their collation is "C" whatever the database's own is. Times are
/// milliseconds of the Unix epoch, as a time zone can do nothing to a number. Enumerations are
/// their words on the wire.
constexpr std::array kSteps{Step{R"sql(
CREATE TABLE presenced.profiles (
    user_id            text COLLATE "C" PRIMARY KEY,
    declared_status    text NOT NULL DEFAULT 'auto',
    declared_until_ms  bigint,
    custom_text        text,        -- NULL: no custom status
    custom_emoji       text,
    custom_until_ms    bigint,
    declared_revision  bigint NOT NULL DEFAULT 0,
    online_rule        text,        -- NULL: never set, the configured default is in force
    last_seen_rule     text,
    last_seen_ms       bigint,
    noted_ms           bigint,      -- when the row with it was written down
    own_version        bigint NOT NULL DEFAULT 0,
    shown_version      bigint NOT NULL DEFAULT 0,
    revoked_before_ms  bigint,
    revision           bigint NOT NULL DEFAULT 0,
    erased_ms          bigint       -- rows written down until then are void
) WITH (fillfactor = 85);           -- most updates are of last_seen_ms, which no index holds

CREATE TABLE presenced.named_users (
    owner  text COLLATE "C" NOT NULL,
    kind   smallint NOT NULL CHECK (kind BETWEEN 1 AND 4),  -- see NamedKind
    named  text COLLATE "C" NOT NULL,
    PRIMARY KEY (owner, kind, named)
);

CREATE INDEX named_users_by_named ON presenced.named_users (named);
)sql",
                                 1},
                            Step{R"sql(
CREATE FUNCTION presenced.now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS
    'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint';

CREATE TABLE presenced.webhook_events (
    seq      bigserial PRIMARY KEY,
    target   text NOT NULL,
    subject  text COLLATE "C" NOT NULL,
    body     text NOT NULL,
    batch    text               -- NULL: in none yet
);

CREATE INDEX webhook_events_waiting ON presenced.webhook_events (target, seq) WHERE batch IS NULL;
CREATE INDEX webhook_events_busy ON presenced.webhook_events (target, subject)
    WHERE batch IS NOT NULL;
CREATE INDEX webhook_events_by_batch ON presenced.webhook_events (batch, seq)
    WHERE batch IS NOT NULL;

CREATE TABLE presenced.webhook_batches (
    id        text PRIMARY KEY,
    target    text NOT NULL,
    attempts  bigint NOT NULL DEFAULT 0,
    first_ms  bigint NOT NULL,
    due_ms    bigint NOT NULL   -- while it is being sent: the end of the lease
);

CREATE INDEX webhook_batches_due ON presenced.webhook_batches (target, due_ms);

CREATE TABLE presenced.webhook_dead (
    number    bigserial PRIMARY KEY,
    id        text NOT NULL,
    target    text NOT NULL,
    attempts  bigint NOT NULL,
    dead_ms   bigint NOT NULL,
    error     text NOT NULL,
    bodies    text NOT NULL     -- one a line
);
)sql",
                                 1}};

/// Nodes that migrate exclude each other by it; any number that no other program uses.
constexpr const char* kLock = "SELECT pg_advisory_xact_lock(7270815540346581092)";

constexpr Millis kMostForSteps{3'600'000};

struct Stored {
    std::int64_t schema = 0;
    std::int64_t usable_from = 0;
};

Stored stored_schema(Connection& connection) {
    // A look-up that is fine where nothing of ours exists yet.
    const Rows there = connection.run(
        "SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n "
        "ON n.oid = c.relnamespace WHERE n.nspname = 'presenced' AND c.relname = 'schema_version'");
    if (there.empty()) {
        return {};
    }
    const Rows rows = connection.run("SELECT schema, usable_from FROM presenced.schema_version");
    return rows.empty() ? Stored{} : Stored{rows.integer(0, 0), rows.integer(0, 1)};
}

void make_namespace(Connection& connection) {
    // IF NOT EXISTS asks for the right to create even where there is nothing to do.
    const Rows there =
        connection.run("SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = 'presenced'");
    if (there.empty()) {
        connection.execute("CREATE SCHEMA presenced");
    }
    connection.execute(
        "CREATE TABLE presenced.schema_version (schema bigint NOT NULL, usable_from bigint NOT "
        "NULL); INSERT INTO presenced.schema_version VALUES (0, 0)");
}

/// In a transaction, under the lock.
void take_steps(Connection& connection, std::int64_t found) {
    connection.execute("SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0");
    if (found == 0) {
        make_namespace(connection);
    }
    std::int64_t usable_from = 0;
    for (std::int64_t step = found; step < known_schema(); ++step) {
        const Step& next = kSteps.at(static_cast<std::size_t>(step));
        connection.execute(next.sql);
        usable_from = next.usable_from;
    }
    connection.execute(fmt::format("UPDATE presenced.schema_version SET schema = {}, "
                                   "usable_from = greatest(usable_from, {})",
                                   known_schema(), usable_from)
                           .c_str());
}

}  // namespace

std::int64_t known_schema() {
    return static_cast<std::int64_t>(kSteps.size());
}

Result<std::int64_t> migrate(Connection& connection) {
    Stored found = stored_schema(connection);
    if (!connection.failed() && found.schema < known_schema()) {
        connection.execute("BEGIN");
        static_cast<void>(connection.run(kLock));
        found = stored_schema(connection);
        if (!connection.failed() && found.schema < known_schema()) {
            const Millis patience = connection.set_patience(kMostForSteps);
            take_steps(connection, found.schema);
            connection.set_patience(patience);
        }
        connection.execute("COMMIT");
    }
    if (std::optional<Error> failure = connection.take_failure()) {
        connection.execute("ROLLBACK");
        static_cast<void>(connection.take_failure());
        failure->code = ErrorCode::unavailable;
        failure->message = "cannot bring the database up to date: " + failure->message;
        return *std::move(failure);
    }
    if (found.usable_from > known_schema()) {
        return Error{ErrorCode::unavailable,
                     fmt::format("the database has schema {}, which needs a release that knows "
                                 "schema {}; this one knows schemas up to {}",
                                 found.schema, found.usable_from, known_schema()),
                     0, 0};
    }
    return found.schema;
}

}  // namespace presence::postgres
