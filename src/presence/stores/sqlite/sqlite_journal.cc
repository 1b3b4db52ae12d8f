#include "presence/stores/sqlite/sqlite_journal.h"

#include "presence/model/words.h"
#include "presence/stores/sqlite/custom_status_columns.h"

#include <algorithm>
#include <utility>

namespace presence {

namespace {

using sqlite::Access;
using sqlite::Connection;
using sqlite::Statement;

Session session_at(const Statement& read, int first) {
    Session session;
    session.id = SessionId(read.text(first));
    session.epoch = Epoch{static_cast<std::uint64_t>(read.integer(first + 1))};
    const std::string_view hash = read.blob(first + 2);
    std::copy_n(hash.begin(), std::min(hash.size(), session.resume_hash.size()),
                session.resume_hash.begin());
    session.device.kind = device_kind_from(read.text(first + 3));
    session.device.name = read.text(first + 4);
    session.connected_at = WallTime::from_ms(read.integer(first + 5));
    session.grace_until = read.time(first + 6);
    session.closed_at = WallTime::from_ms(read.integer(first + 7));
    session.custom = sqlite::custom_at(read, first + 8);
    session.declared = declared_from(read.text(first + 11));
    session.declared_until = read.time(first + 12);
    session.active_rank = static_cast<std::uint32_t>(read.integer(first + 13));
    session.counts = read.integer(first + 14) != 0;
    session.idle = read.integer(first + 15) != 0;
    session.beats_until = read.time(first + 16);
    return session;
}

void put(Connection& connection, const UserId& user, const Session& session) {
    Statement write = connection.use(
        "INSERT OR REPLACE INTO open_sessions (user, id, epoch, resume_hash, device_kind, "
        "device_name, connected_ms, grace_until_ms, closed_ms, custom_text, custom_emoji, "
        "custom_until_ms, declared_status, declared_until_ms, active_rank, counts, idle, "
        "beats_until_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    write.bind(user.text)
        .bind(session.id.text)
        .bind(static_cast<std::int64_t>(session.epoch.value))
        .bind_blob(session.resume_hash.data(), session.resume_hash.size())
        .bind(wire_name(session.device.kind))
        .bind(session.device.name)
        .bind(session.connected_at.ms())
        .bind(session.grace_until)
        .bind(session.closed_at.ms());
    sqlite::bind_custom(write, session.custom);
    write.bind(wire_name(session.declared))
        .bind(session.declared_until)
        .bind(std::int64_t{session.active_rank})
        .bind(std::int64_t{session.counts})
        .bind(std::int64_t{session.idle})
        .bind(session.beats_until);
    write.run();
}

void remove(Connection& connection, const UserId& user, const SessionId& id) {
    Statement write = connection.use("DELETE FROM open_sessions WHERE user = ? AND id = ?");
    write.bind(user.text).bind(id.text);
    write.run();
}

JournalStart begin_life(Connection& connection, std::uint64_t floor) {
    JournalStart start;
    {
        Statement read = connection.use("SELECT last_alive_ms, version_floor FROM journal");
        if (read.row()) {
            start.last_alive = read.time(0);
            start.version_floor = static_cast<std::uint64_t>(read.integer(1));
        }
    }
    start.version_floor = std::max(start.version_floor, floor) + kJournalFloorStep;
    {
        Statement write = connection.use("UPDATE journal SET version_floor = ?");
        write.bind(static_cast<std::int64_t>(start.version_floor));
        write.run();
    }
    Statement read = connection.use(
        "SELECT user, id, epoch, resume_hash, device_kind, device_name, connected_ms, "
        "grace_until_ms, closed_ms, custom_text, custom_emoji, custom_until_ms, declared_status, "
        "declared_until_ms, active_rank, counts, idle, beats_until_ms FROM open_sessions "
        "ORDER BY user, id");
    while (read.row()) {
        start.open.push_back({UserId(read.text(0)), session_at(read, 1)});
    }
    return start;
}

}  // namespace

Task<Result<JournalStart>> SqliteJournal::start(std::uint64_t floor) {
    return database_.call<JournalStart>(
        home_, Access::durable_write,
        [floor](Connection& connection) { return begin_life(connection, floor); });
}

Task<Result<bool>> SqliteJournal::write(std::vector<JournalEntry> entries, WallTime alive_at,
                                        std::uint64_t floor) {
    return database_.call<bool>(
        home_, Access::write,
        [entries = std::move(entries), alive_at, floor](Connection& connection) {
            for (const JournalEntry& entry : entries) {
                if (entry.session) {
                    put(connection, entry.user, *entry.session);
                } else {
                    remove(connection, entry.user, entry.id);
                }
            }
            Statement write = connection.use(
                "UPDATE journal SET last_alive_ms = ?, version_floor = max(version_floor, ?)");
            write.bind(alive_at.ms()).bind(static_cast<std::int64_t>(floor));
            write.run();
            return true;
        });
}

}  // namespace presence
