#include "presence/stores/sqlite/sqlite_outbox.h"

#include "presence/ports/outbox_bodies.h"

#include <algorithm>
#include <utility>

namespace presence {

using sqlite::Access;
using sqlite::Connection;
using sqlite::Statement;

namespace {

std::vector<std::string> bodies_of(Connection& connection, std::string_view batch) {
    Statement read = connection.use("SELECT body FROM webhook_events WHERE batch = ? ORDER BY seq");
    read.bind(batch);
    std::vector<std::string> bodies;
    while (read.row()) {
        bodies.emplace_back(read.text(0));
    }
    return bodies;
}

std::vector<std::string> due_batches(Connection& connection, const OutboxClaim& claim,
                                     WallTime now) {
    Statement read = connection.use(
        "SELECT id FROM webhook_batches WHERE target = ? AND due_ms <= ? ORDER BY due_ms, id "
        "LIMIT ?");
    read.bind(claim.target).bind(now.ms()).bind(static_cast<std::int64_t>(claim.new_ids.size()));
    std::vector<std::string> ids;
    while (read.row()) {
        ids.emplace_back(read.text(0));
    }
    return ids;
}

/// False: there is nothing that a new batch could hold.
bool form(Connection& connection, const OutboxClaim& claim, const std::string& id, WallTime now) {
    {
        Statement write = connection.use(
            "UPDATE webhook_events SET batch = ?1 WHERE seq IN (SELECT seq FROM webhook_events e "
            "WHERE target = ?2 AND batch IS NULL AND NOT EXISTS (SELECT 1 FROM webhook_events b "
            "WHERE b.target = e.target AND b.subject = e.subject AND b.batch IS NOT NULL) "
            "ORDER BY seq LIMIT ?3)");
        write.bind(id).bind(claim.target).bind(static_cast<std::int64_t>(claim.most_events));
        write.run();
    }
    if (connection.failed() || connection.changed_rows() == 0) {
        return false;
    }
    Statement write = connection.use(
        "INSERT INTO webhook_batches (id, target, first_ms, due_ms) VALUES (?1, ?2, ?3, ?3)");
    write.bind(id).bind(claim.target).bind(now.ms());
    write.run();
    return true;
}

OutboxBatch take(Connection& connection, const std::string& id, WallTime now, Millis lease) {
    {
        Statement write = connection.use(
            "UPDATE webhook_batches SET attempts = attempts + 1, due_ms = ?1 WHERE id = ?2");
        write.bind((now + lease).ms()).bind(id);
        write.run();
    }
    OutboxBatch batch{id, "", bodies_of(connection, id)};
    Statement read =
        connection.use("SELECT target, attempts, first_ms FROM webhook_batches WHERE id = ?");
    read.bind(id);
    if (read.row()) {
        batch.target = read.text(0);
        batch.attempt = static_cast<int>(read.integer(1));
        batch.age = now - WallTime::from_ms(read.integer(2));
    }
    return batch;
}

void remove(Connection& connection, std::string_view batch) {
    {
        Statement write = connection.use("DELETE FROM webhook_events WHERE batch = ?");
        write.bind(batch);
        write.run();
    }
    Statement write = connection.use("DELETE FROM webhook_batches WHERE id = ?");
    write.bind(batch);
    write.run();
}

void bury(Connection& connection, const std::string& batch, const std::string& error,
          WallTime now) {
    const std::string bodies = joined_bodies(bodies_of(connection, batch));
    {
        Statement write = connection.use(
            "INSERT INTO webhook_dead (id, target, attempts, dead_ms, error, bodies) "
            "SELECT id, target, attempts, ?1, ?2, ?3 FROM webhook_batches WHERE id = ?4");
        write.bind(now.ms()).bind(error).bind(bodies).bind(batch);
        write.run();
    }
    remove(connection, batch);
    Statement trim = connection.use(
        "DELETE FROM webhook_dead WHERE number <= (SELECT max(number) FROM webhook_dead) - ?");
    trim.bind(static_cast<std::int64_t>(WebhookOutbox::kMostDeadLetters));
    trim.run();
}

DeadLetters read_dead(Connection& connection, std::int64_t after, std::size_t most) {
    Statement read = connection.use(
        "SELECT number, id, target, attempts, dead_ms, error, bodies FROM webhook_dead "
        "WHERE number > ? ORDER BY number LIMIT ?");
    read.bind(after).bind(static_cast<std::int64_t>(most + 1));
    DeadLetters page;
    while (read.row()) {
        if (page.letters.size() == most) {
            return page;
        }
        page.letters.push_back({std::string(read.text(1)), std::string(read.text(2)),
                                split_bodies(read.text(6)), static_cast<int>(read.integer(3)),
                                WallTime::from_ms(read.integer(4)), std::string(read.text(5))});
        page.next = read.integer(0);
    }
    page.next.reset();
    return page;
}

}  // namespace

Task<Result<bool>> SqliteOutbox::append(std::vector<OutboxEvent> events) {
    return database_.call<bool>(
        home_, Access::write, [events = std::move(events)](Connection& connection) {
            for (const OutboxEvent& event : events) {
                Statement write = connection.use(
                    "INSERT INTO webhook_events (target, subject, body) VALUES (?, ?, ?)");
                write.bind(event.target).bind(event.subject).bind(event.body);
                write.run();
            }
            return true;
        });
}

Task<Result<std::vector<OutboxBatch>>> SqliteOutbox::claim(OutboxClaim claim) {
    return database_.call<std::vector<OutboxBatch>>(
        home_, Access::write,
        [claim = std::move(claim), now = clock_.wall_now()](Connection& connection) {
            std::vector<OutboxBatch> given;
            for (const std::string& id : due_batches(connection, claim, now)) {
                given.push_back(take(connection, id, now, claim.lease));
            }
            for (const std::string& id : claim.new_ids) {
                if (given.size() == claim.new_ids.size() || !form(connection, claim, id, now)) {
                    break;
                }
                given.push_back(take(connection, id, now, claim.lease));
            }
            return given;
        });
}

Task<Result<bool>> SqliteOutbox::delivered(std::string batch) {
    return database_.call<bool>(home_, Access::write,
                                [batch = std::move(batch)](Connection& connection) {
                                    remove(connection, batch);
                                    return true;
                                });
}

Task<Result<bool>> SqliteOutbox::retry(std::string batch, Millis after) {
    return database_.call<bool>(
        home_, Access::write,
        [batch = std::move(batch), due = clock_.wall_now() + after](Connection& connection) {
            Statement write = connection.use("UPDATE webhook_batches SET due_ms = ? WHERE id = ?");
            write.bind(due.ms()).bind(batch);
            write.run();
            return true;
        });
}

Task<Result<bool>> SqliteOutbox::give_up(std::string batch, std::string error) {
    return database_.call<bool>(home_, Access::write,
                                [batch = std::move(batch), error = std::move(error),
                                 now = clock_.wall_now()](Connection& connection) {
                                    bury(connection, batch, error, now);
                                    return true;
                                });
}

Task<Result<bool>> SqliteOutbox::forget(std::string target) {
    return database_.call<bool>(
        home_, Access::write, [target = std::move(target)](Connection& connection) {
            {
                Statement write = connection.use("DELETE FROM webhook_events WHERE target = ?");
                write.bind(target);
                write.run();
            }
            Statement write = connection.use("DELETE FROM webhook_batches WHERE target = ?");
            write.bind(target);
            write.run();
            return true;
        });
}

Task<Result<DeadLetters>> SqliteOutbox::dead_letters(std::optional<std::int64_t> after,
                                                     std::size_t most) {
    return database_.call<DeadLetters>(home_, Access::read, [after, most](Connection& connection) {
        return read_dead(connection, after.value_or(0), most);
    });
}

Task<Result<OutboxCounts>> SqliteOutbox::counts() {
    return database_.call<OutboxCounts>(home_, Access::read, [](Connection& connection) {
        Statement read = connection.use(
            "SELECT (SELECT count(*) FROM webhook_events), (SELECT count(*) FROM webhook_dead)");
        return read.row() ? OutboxCounts{static_cast<std::size_t>(read.integer(0)),
                                         static_cast<std::size_t>(read.integer(1))}
                          : OutboxCounts{};
    });
}

}  // namespace presence
