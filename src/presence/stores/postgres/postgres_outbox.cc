#include "presence/stores/postgres/postgres_outbox.h"

#include "presence/ports/outbox_bodies.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace presence {

using postgres::Connection;
using postgres::Durability;
using postgres::Parameters;
using postgres::Rows;

namespace {

std::int64_t number(std::size_t count) {
    return static_cast<std::int64_t>(count);
}

void append_all(Connection& connection, const std::vector<OutboxEvent>& events) {
    std::vector<std::string_view> targets;
    std::vector<std::string_view> subjects;
    std::vector<std::string_view> bodies;
    for (const OutboxEvent& event : events) {
        targets.push_back(event.target);
        subjects.push_back(event.subject);
        bodies.push_back(event.body);
    }
    connection.run(
        "INSERT INTO presenced.webhook_events (target, subject, body) "
        "SELECT t, s, b FROM unnest($1, $2, $3) WITH ORDINALITY AS n (t, s, b, place) "
        "ORDER BY place",
        Parameters().texts(targets).texts(subjects).texts(bodies));
}

/// Batches that another attempt is due for; those that another node is just taking are its.
std::vector<std::string> due_batches(Connection& connection, const OutboxClaim& claim) {
    const Rows rows = connection.run(
        "SELECT id FROM presenced.webhook_batches "
        "WHERE target = $1 AND due_ms <= presenced.now_ms() ORDER BY due_ms, id LIMIT $2 "
        "FOR UPDATE SKIP LOCKED",
        Parameters().text(claim.target).integer(number(claim.new_ids.size())));
    std::vector<std::string> ids;
    for (int row = 0; row < rows.size(); ++row) {
        ids.emplace_back(rows.text(row, 0));
    }
    return ids;
}

/// False: there is nothing that a new batch could hold.
bool form(Connection& connection, const OutboxClaim& claim, const std::string& id) {
    const Rows rows = connection.run(
        "UPDATE presenced.webhook_events SET batch = $1 WHERE seq IN ("
        "SELECT seq FROM presenced.webhook_events e WHERE target = $2 AND batch IS NULL "
        "AND NOT EXISTS (SELECT 1 FROM presenced.webhook_events b WHERE b.target = e.target "
        "AND b.subject = e.subject AND b.batch IS NOT NULL) ORDER BY seq LIMIT $3)",
        Parameters().text(id).text(claim.target).integer(number(claim.most_events)));
    if (rows.affected() == 0) {
        return false;
    }
    connection.run(
        "INSERT INTO presenced.webhook_batches (id, target, first_ms, due_ms) "
        "VALUES ($1, $2, presenced.now_ms(), presenced.now_ms())",
        Parameters().text(id).text(claim.target));
    return true;
}

OutboxBatch take(Connection& connection, const std::string& id, Millis lease) {
    OutboxBatch batch;
    batch.id = id;
    const Rows taken = connection.run(
        "UPDATE presenced.webhook_batches SET attempts = attempts + 1, "
        "due_ms = presenced.now_ms() + $2 WHERE id = $1 "
        "RETURNING target, attempts, presenced.now_ms() - first_ms",
        Parameters().text(id).integer(lease.count()));
    if (!taken.empty()) {
        batch.target = taken.text(0, 0);
        batch.attempt = static_cast<int>(taken.integer(0, 1));
        batch.age = Millis{taken.integer(0, 2)};
    }
    const Rows rows =
        connection.run("SELECT body FROM presenced.webhook_events WHERE batch = $1 ORDER BY seq",
                       Parameters().text(id));
    for (int row = 0; row < rows.size(); ++row) {
        batch.bodies.emplace_back(rows.text(row, 0));
    }
    return batch;
}

std::vector<OutboxBatch> claim_some(Connection& connection, const OutboxClaim& claim) {
    std::vector<OutboxBatch> given;
    for (const std::string& id : due_batches(connection, claim)) {
        given.push_back(take(connection, id, claim.lease));
    }
    if (given.size() == claim.new_ids.size()) {
        return given;
    }
    // One node at a time forms batches of a target: two would each see the other's subjects free.
    connection.run("SELECT pg_advisory_xact_lock(727081555, hashtext($1))",
                   Parameters().text(claim.target));
    for (const std::string& id : claim.new_ids) {
        if (given.size() == claim.new_ids.size() || !form(connection, claim, id)) {
            break;
        }
        given.push_back(take(connection, id, claim.lease));
    }
    return given;
}

void remove(Connection& connection, std::string_view batch) {
    connection.run("DELETE FROM presenced.webhook_events WHERE batch = $1",
                   Parameters().text(batch));
    connection.run("DELETE FROM presenced.webhook_batches WHERE id = $1", Parameters().text(batch));
}

void bury(Connection& connection, const std::string& batch, const std::string& error) {
    connection.run(
        "INSERT INTO presenced.webhook_dead (id, target, attempts, dead_ms, error, bodies) "
        "SELECT id, target, attempts, presenced.now_ms(), $2, (SELECT string_agg(body, E'\\n' "
        "ORDER BY seq) FROM presenced.webhook_events WHERE batch = $1) "
        "FROM presenced.webhook_batches WHERE id = $1",
        Parameters().text(batch).text(error));
    remove(connection, batch);
    connection.run(
        "DELETE FROM presenced.webhook_dead "
        "WHERE number <= (SELECT max(number) FROM presenced.webhook_dead) - $1",
        Parameters().integer(number(WebhookOutbox::kMostDeadLetters)));
}

DeadLetters read_dead(Connection& connection, std::int64_t after, std::size_t most) {
    const Rows rows = connection.run(
        "SELECT number, id, target, attempts, dead_ms, error, bodies FROM presenced.webhook_dead "
        "WHERE number > $1 ORDER BY number LIMIT $2",
        Parameters().integer(after).integer(number(most + 1)));
    DeadLetters page;
    const int shown = std::min(rows.size(), static_cast<int>(most));
    for (int row = 0; row < shown; ++row) {
        page.letters.push_back(
            {std::string(rows.text(row, 1)), std::string(rows.text(row, 2)),
             split_bodies(rows.text(row, 6)), static_cast<int>(rows.integer(row, 3)),
             WallTime::from_ms(rows.integer(row, 4)), std::string(rows.text(row, 5))});
    }
    if (rows.size() > shown) {
        page.next = rows.integer(shown - 1, 0);
    }
    return page;
}

}  // namespace

Task<Result<bool>> PostgresOutbox::append(std::vector<OutboxEvent> events) {
    return database_.call<bool>(home_, Durability::as_configured,
                                [events = std::move(events)](Connection& connection) {
                                    append_all(connection, events);
                                    return true;
                                });
}

Task<Result<std::vector<OutboxBatch>>> PostgresOutbox::claim(OutboxClaim claim) {
    return database_.call<std::vector<OutboxBatch>>(
        home_, Durability::as_configured, [claim = std::move(claim)](Connection& connection) {
            return claim_some(connection, claim);
        });
}

Task<Result<bool>> PostgresOutbox::delivered(std::string batch) {
    return database_.call<bool>(home_, Durability::as_configured,
                                [batch = std::move(batch)](Connection& connection) {
                                    remove(connection, batch);
                                    return true;
                                });
}

Task<Result<bool>> PostgresOutbox::retry(std::string batch, Millis after) {
    return database_.call<bool>(
        home_, Durability::as_configured,
        [batch = std::move(batch), after](Connection& connection) {
            connection.run(
                "UPDATE presenced.webhook_batches SET due_ms = presenced.now_ms() + $2 "
                "WHERE id = $1",
                Parameters().text(batch).integer(after.count()));
            return true;
        });
}

Task<Result<bool>> PostgresOutbox::give_up(std::string batch, std::string error) {
    return database_.call<bool>(
        home_, Durability::as_configured,
        [batch = std::move(batch), error = std::move(error)](Connection& connection) {
            bury(connection, batch, error);
            return true;
        });
}

Task<Result<bool>> PostgresOutbox::forget(std::string target) {
    return database_.call<bool>(
        home_, Durability::as_configured, [target = std::move(target)](Connection& connection) {
            connection.run("DELETE FROM presenced.webhook_events WHERE target = $1",
                           Parameters().text(target));
            connection.run("DELETE FROM presenced.webhook_batches WHERE target = $1",
                           Parameters().text(target));
            return true;
        });
}

Task<Result<DeadLetters>> PostgresOutbox::dead_letters(std::optional<std::int64_t> after,
                                                       std::size_t most) {
    return database_.call<DeadLetters>(home_, Durability::as_configured,
                                       [after, most](Connection& connection) {
                                           return read_dead(connection, after.value_or(0), most);
                                       });
}

Task<Result<OutboxCounts>> PostgresOutbox::counts() {
    return database_.call<OutboxCounts>(
        home_, Durability::as_configured, [](Connection& connection) {
            const Rows rows = connection.run(
                "SELECT (SELECT count(*) FROM presenced.webhook_events), "
                "(SELECT count(*) FROM presenced.webhook_dead)");
            return rows.empty() ? OutboxCounts{}
                                : OutboxCounts{static_cast<std::size_t>(rows.integer(0, 0)),
                                               static_cast<std::size_t>(rows.integer(0, 1))};
        });
}

}  // namespace presence
