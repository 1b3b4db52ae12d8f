#include "presence/stores/sqlite/profile_rows.h"

#include "presence/model/words.h"
#include "presence/ports/webhook_outbox.h"
#include "presence/stores/sqlite/custom_status_columns.h"

#include <array>
#include <optional>
#include <utility>

namespace presence::sqlite {

namespace {

std::int64_t number(NamedKind kind) {
    return static_cast<std::int64_t>(kind);
}
std::int64_t number(Version version) {
    return static_cast<std::int64_t>(version.value);
}
std::uint64_t counter(const Statement& statement, int column) {
    return static_cast<std::uint64_t>(statement.integer(column));
}

std::optional<PrivacyRule> rule_at(const Statement& read, int column) {
    return read.null(column)
               ? std::nullopt
               : std::optional(PrivacyRule{audience_from(read.text(column)), UserSet()});
}

}  // namespace

std::uint64_t SqliteProfileTables::revision(const UserId& user) {
    Statement read = connection_.use("SELECT revision FROM profiles WHERE user = ?");
    read.bind(user.text);
    return read.row() ? counter(read, 0) : 0;
}

std::uint64_t SqliteProfileTables::raise_revision(const UserId& user) {
    {
        Statement write = connection_.use(
            "INSERT INTO profiles (user, revision) VALUES (?, 1) "
            "ON CONFLICT (user) DO UPDATE SET revision = revision + 1");
        write.bind(user.text);
        write.run();
    }
    return revision(user);
}

PrivacySettings SqliteProfileTables::audiences(const UserId& user) {
    Statement read =
        connection_.use("SELECT online_rule, last_seen_rule FROM profiles WHERE user = ?");
    read.bind(user.text);
    return read.row() ? PrivacySettings{rule_at(read, 0), rule_at(read, 1)} : PrivacySettings();
}

UserSet SqliteProfileTables::named_users(const UserId& owner, NamedKind kind) {
    Statement read =
        connection_.use("SELECT user FROM named_users WHERE owner = ? AND kind = ? ORDER BY user");
    read.bind(owner.text).bind(number(kind));
    std::vector<UserId> users;
    while (read.row()) {
        users.emplace_back(read.text(0));
    }
    return UserSet(std::move(users));
}

std::optional<WallTime> SqliteProfileTables::revoked_before(const UserId& user) {
    Statement read = connection_.use("SELECT revoked_before_ms FROM profiles WHERE user = ?");
    read.bind(user.text);
    return read.row() ? read.time(0) : std::nullopt;
}

void SqliteProfileTables::write_audience(const UserId& user, NamedKind rule,
                                         std::string_view word) {
    Statement write = connection_.use(
        rule == NamedKind::online_rule ? "UPDATE profiles SET online_rule = ? WHERE user = ?"
                                       : "UPDATE profiles SET last_seen_rule = ? WHERE user = ?");
    write.bind(word).bind(user.text);
    write.run();
}

void SqliteProfileTables::write_named_users(const UserId& owner, NamedKind kind,
                                            const UserSet& removed, const UserSet& added) {
    for (const UserId& user : removed.users()) {
        Statement write =
            connection_.use("DELETE FROM named_users WHERE owner = ? AND kind = ? AND user = ?");
        write.bind(owner.text).bind(number(kind)).bind(user.text);
        write.run();
    }
    for (const UserId& user : added.users()) {
        Statement write =
            connection_.use("INSERT INTO named_users (owner, kind, user) VALUES (?, ?, ?)");
        write.bind(owner.text).bind(number(kind)).bind(user.text);
        write.run();
    }
}

void SqliteProfileTables::write_revoked_before(const UserId& user, WallTime before) {
    Statement write = connection_.use("UPDATE profiles SET revoked_before_ms = ? WHERE user = ?");
    write.bind(before.ms()).bind(user.text);
    write.run();
}

ProfileRef load_profile(Connection& connection, const UserId& user) {
    auto profile = make_ref<Profile>();
    {
        Statement read = connection.use(
            "SELECT declared_status, declared_until_ms, custom_text, custom_emoji, "
            "custom_until_ms, declared_revision, online_rule, last_seen_rule, last_seen_ms, "
            "own_version, shown_version, revoked_before_ms, revision FROM profiles WHERE user = ?");
        read.bind(user.text);
        if (!read.row()) {
            return nullptr;
        }
        profile->declared = {declared_from(read.text(0)), read.time(1), custom_at(read, 2),
                             counter(read, 5)};
        profile->privacy.online = rule_at(read, 6);
        profile->privacy.last_seen = rule_at(read, 7);
        profile->last_seen = read.time(8);
        profile->own_version = Version{counter(read, 9)};
        profile->shown_version = Version{counter(read, 10)};
        profile->revoked_before = read.time(11);
        profile->revision = counter(read, 12);
    }
    if (profile->revision == 0) {
        return profile;  // Whoever named anybody has a revision.
    }
    NamedUsers named;
    Statement read = connection.use("SELECT kind, user FROM named_users WHERE owner = ?");
    read.bind(user.text);
    while (read.row()) {
        named.add(read.integer(0), UserId(read.text(1)));
    }
    std::move(named).give_to(*profile);
    return profile;
}

bool save_declared(Connection& connection, const UserId& user, const DeclaredState& declared) {
    if (declared.revision == 0) {
        return false;
    }
    {
        Statement write = connection.use(
            "INSERT INTO profiles (user, declared_status, declared_until_ms, custom_text, "
            "custom_emoji, custom_until_ms, declared_revision) VALUES (?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (user) DO UPDATE SET declared_status = excluded.declared_status, "
            "declared_until_ms = excluded.declared_until_ms, custom_text = excluded.custom_text, "
            "custom_emoji = excluded.custom_emoji, custom_until_ms = excluded.custom_until_ms, "
            "declared_revision = excluded.declared_revision "
            "WHERE excluded.declared_revision > profiles.declared_revision");
        write.bind(user.text).bind(wire_name(declared.status)).bind(declared.expires_at);
        bind_custom(write, declared.custom);
        write.bind(static_cast<std::int64_t>(declared.revision));
        write.run();
    }
    return connection.changed_rows() > 0;
}

void save_last_seen(Connection& connection, const LastSeenRow& row) {
    Statement write = connection.use(
        "INSERT INTO profiles (user, last_seen_ms, own_version, shown_version) "
        "VALUES (?1, ?2, ?3, ?4) ON CONFLICT (user) DO UPDATE SET "
        "own_version = max(own_version, excluded.own_version), "
        "shown_version = max(shown_version, excluded.shown_version), "
        "last_seen_ms = CASE "
        "    WHEN excluded.last_seen_ms IS NULL OR erased_ms >= ?5 THEN last_seen_ms "
        "    ELSE max(coalesce(last_seen_ms, excluded.last_seen_ms), excluded.last_seen_ms) END");
    write.bind(row.user.text)
        .bind(row.last_seen)
        .bind(number(row.own_version))
        .bind(number(row.shown_version))
        .bind(row.written_at.ms());
    write.run();
}

namespace {

/// Webhooks that have not arrived tell what the user had set. What stays is the word that an erased
/// user went offline: the one end without a time; and that they left a room, where it is the last
/// of them there: receivers may have been told that they came.
void erase_events(Connection& connection, const UserId& user) {
    {
        Statement write = connection.use(
            "DELETE FROM webhook_events WHERE subject = ?1 AND NOT (json_valid(body) AND "
            "json_extract(body, '$.type') IS 'user.offline' AND "
            "json_extract(body, '$.lastSeenAt') IS NULL)");
        write.bind(subject_of(user));
        write.run();
    }
    {
        Statement write = connection.use(
            "DELETE FROM webhook_events WHERE subject >= 'room:' AND subject < 'room;' "
            "AND json_valid(body) AND json_extract(body, '$.userId') = ?1 AND NOT "
            "(json_extract(body, '$.type') IS 'room.left' AND seq = (SELECT max(later.seq) "
            "FROM webhook_events later WHERE later.target = webhook_events.target AND "
            "later.subject = webhook_events.subject AND json_valid(later.body) AND "
            "json_extract(later.body, '$.userId') = ?1))");
        write.bind(user.text);
        write.run();
    }
    {
        Statement write = connection.use(
            "UPDATE webhook_dead SET bodies = (SELECT coalesce(group_concat(value, char(10)), '') "
            "FROM (SELECT value FROM json_each('[' || replace(bodies, char(10), ',') || ']') "
            "WHERE json_extract(value, '$.userId') IS NOT ?1 ORDER BY key)) "
            "WHERE EXISTS (SELECT 1 FROM json_each('[' || replace(bodies, char(10), ',') || ']') "
            "WHERE json_extract(value, '$.userId') = ?1)");
        write.bind(user.text);
        write.run();
    }
    constexpr std::array<const char*, 2> kEmpty{
        "DELETE FROM webhook_batches WHERE NOT EXISTS "
        "(SELECT 1 FROM webhook_events WHERE batch = webhook_batches.id)",
        "DELETE FROM webhook_dead WHERE bodies = ''"};
    for (const char* const sql : kEmpty) {
        Statement write = connection.use(sql);
        write.run();
    }
}

}  // namespace

std::vector<UserId> erase(Connection& connection, const UserId& user, WallTime at) {
    erase_events(connection, user);
    {
        Statement write = connection.use("DELETE FROM named_users WHERE owner = ?");
        write.bind(user.text);
        write.run();
    }
    {
        Statement write = connection.use(
            "INSERT INTO profiles (user, revision, declared_revision, erased_ms) "
            "VALUES (?1, 1, 1, ?2) ON CONFLICT (user) DO UPDATE SET declared_status = 'auto', "
            "declared_until_ms = NULL, custom_text = NULL, custom_emoji = NULL, "
            "custom_until_ms = NULL, declared_revision = declared_revision + 1, "
            "online_rule = NULL, last_seen_rule = NULL, last_seen_ms = NULL, "
            "revision = revision + 1, erased_ms = max(coalesce(erased_ms, ?2), ?2)");
        write.bind(user.text).bind(at.ms());
        write.run();
    }
    std::vector<UserId> owners;
    {
        Statement read =
            connection.use("SELECT DISTINCT owner FROM named_users WHERE user = ? ORDER BY owner");
        read.bind(user.text);
        while (read.row()) {
            owners.emplace_back(read.text(0));
        }
    }
    SqliteProfileTables tables(connection);
    for (const UserId& owner : owners) {
        static_cast<void>(tables.raise_revision(owner));
    }
    Statement write = connection.use("DELETE FROM named_users WHERE user = ?");
    write.bind(user.text);
    write.run();
    return owners;
}

}  // namespace presence::sqlite
