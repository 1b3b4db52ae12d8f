#include "presence/stores/postgres/profile_rows.h"

#include "presence/model/words.h"
#include "presence/ports/webhook_outbox.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace presence::postgres {

namespace {

std::int64_t number(NamedKind kind) {
    return static_cast<std::int64_t>(kind);
}
std::int64_t number(Version version) {
    return static_cast<std::int64_t>(version.value);
}
std::uint64_t counter(const Rows& rows, int row, int column) {
    return static_cast<std::uint64_t>(rows.integer(row, column));
}

std::optional<PrivacyRule> rule_at(const Rows& rows, int row, int column) {
    return rows.null(row, column)
               ? std::nullopt
               : std::optional(PrivacyRule{audience_from(rows.text(row, column)), UserSet()});
}

CustomStatusRef custom_at(const Rows& rows, int row, int first) {
    if (rows.null(row, first)) {
        return nullptr;
    }
    return make_ref<CustomStatus>(CustomStatus{std::string(rows.text(row, first)),
                                               std::string(rows.text(row, first + 1)),
                                               rows.time(row, first + 2)});
}

void lock_against_erasure(Connection& connection) {
    connection.run("SELECT pg_advisory_xact_lock_shared(727081556)", Parameters());
}

}  // namespace

void lock_for_erasure(Connection& connection) {
    connection.run("SELECT pg_advisory_xact_lock(727081556)", Parameters());
}

PostgresProfileTables::PostgresProfileTables(Connection& connection, const UserId& user)
    : connection_(connection) {
    lock_against_erasure(connection);
    // A row cannot be locked before it exists. Two users whose hashes are the same wait for each
    // other, which harms nobody.
    connection.run("SELECT pg_advisory_xact_lock(727081554, hashtext($1))",
                   Parameters().text(user.text));
}

std::uint64_t PostgresProfileTables::revision(const UserId& user) {
    const Rows rows = connection_.run("SELECT revision FROM presenced.profiles WHERE user_id = $1",
                                      Parameters().text(user.text));
    return rows.empty() ? 0 : counter(rows, 0, 0);
}

std::uint64_t PostgresProfileTables::raise_revision(const UserId& user) {
    const Rows rows = connection_.run(
        "INSERT INTO presenced.profiles AS p (user_id, revision) VALUES ($1, 1) "
        "ON CONFLICT (user_id) DO UPDATE SET revision = p.revision + 1 RETURNING revision",
        Parameters().text(user.text));
    return rows.empty() ? 0 : counter(rows, 0, 0);
}

PrivacySettings PostgresProfileTables::audiences(const UserId& user) {
    const Rows rows = connection_.run(
        "SELECT online_rule, last_seen_rule FROM presenced.profiles WHERE user_id = $1",
        Parameters().text(user.text));
    return rows.empty() ? PrivacySettings()
                        : PrivacySettings{rule_at(rows, 0, 0), rule_at(rows, 0, 1)};
}

UserSet PostgresProfileTables::named_users(const UserId& owner, NamedKind kind) {
    const Rows rows =
        connection_.run("SELECT named FROM presenced.named_users WHERE owner = $1 AND kind = $2",
                        Parameters().text(owner.text).integer(number(kind)));
    std::vector<UserId> users;
    users.reserve(static_cast<std::size_t>(rows.size()));
    for (int row = 0; row < rows.size(); ++row) {
        users.emplace_back(rows.text(row, 0));
    }
    return UserSet(std::move(users));
}

std::optional<WallTime> PostgresProfileTables::revoked_before(const UserId& user) {
    const Rows rows =
        connection_.run("SELECT revoked_before_ms FROM presenced.profiles WHERE user_id = $1",
                        Parameters().text(user.text));
    return rows.empty() ? std::nullopt : rows.time(0, 0);
}

void PostgresProfileTables::write_audience(const UserId& user, NamedKind rule,
                                           std::string_view word) {
    connection_.run(rule == NamedKind::online_rule
                        ? "UPDATE presenced.profiles SET online_rule = $1 WHERE user_id = $2"
                        : "UPDATE presenced.profiles SET last_seen_rule = $1 WHERE user_id = $2",
                    Parameters().text(word).text(user.text));
}

void PostgresProfileTables::write_named_users(const UserId& owner, NamedKind kind,
                                              const UserSet& removed, const UserSet& added) {
    if (!removed.empty()) {
        connection_.run(
            "DELETE FROM presenced.named_users WHERE owner = $1 AND kind = $2 AND named = ANY($3)",
            Parameters().text(owner.text).integer(number(kind)).users(removed.users()));
    }
    if (!added.empty()) {
        connection_.run(
            "INSERT INTO presenced.named_users (owner, kind, named) "
            "SELECT $1, $2, added FROM unnest($3) AS added ON CONFLICT DO NOTHING",
            Parameters().text(owner.text).integer(number(kind)).users(added.users()));
    }
}

void PostgresProfileTables::write_revoked_before(const UserId& user, WallTime before) {
    connection_.run("UPDATE presenced.profiles SET revoked_before_ms = $1 WHERE user_id = $2",
                    Parameters().integer(before.ms()).text(user.text));
}

ProfilesByUser load_profiles(Connection& connection, std::span<const UserId> users) {
    // One statement sees one moment: lists and rules are those of the revision beside them.
    const Rows rows = connection.run(
        "SELECT user_id, 0 AS kind, NULL::text[] AS named, declared_status, declared_until_ms, "
        "custom_text, custom_emoji, custom_until_ms, declared_revision, online_rule, "
        "last_seen_rule, last_seen_ms, own_version, shown_version, revoked_before_ms, revision "
        "FROM presenced.profiles WHERE user_id = ANY($1) "
        "UNION ALL SELECT owner, kind, array_agg(named), NULL, NULL, NULL, NULL, NULL, NULL, "
        "NULL, NULL, NULL, NULL, NULL, NULL, NULL "
        "FROM presenced.named_users WHERE owner = ANY($1) GROUP BY owner, kind",
        Parameters().users(users));
    struct Found {
        Ref<Profile> profile;
        NamedUsers named;
    };
    boost::unordered_flat_map<UserId, Found, IdHash, IdEqual> all;
    for (int row = 0; row < rows.size(); ++row) {
        Found& found = all[UserId(rows.text(row, 0))];
        const std::int64_t kind = rows.integer(row, 1);
        if (kind != 0) {
            for (const std::string_view named : read_texts(rows.bytes(row, 2))) {
                found.named.add(kind, UserId(named));
            }
            continue;
        }
        found.profile = make_ref<Profile>();
        Profile& profile = *found.profile;
        profile.declared = {declared_from(rows.text(row, 3)), rows.time(row, 4),
                            custom_at(rows, row, 5), counter(rows, row, 8)};
        profile.privacy = {rule_at(rows, row, 9), rule_at(rows, row, 10)};
        profile.last_seen = rows.time(row, 11);
        profile.own_version = Version{counter(rows, row, 12)};
        profile.shown_version = Version{counter(rows, row, 13)};
        profile.revoked_before = rows.time(row, 14);
        profile.revision = counter(rows, row, 15);
    }
    ProfilesByUser profiles;
    for (auto& [user, found] : all) {
        if (found.profile) {
            std::move(found.named).give_to(*found.profile);
            profiles.emplace(user, std::move(found.profile));
        }
    }
    return profiles;
}

bool save_declared(Connection& connection, const UserId& user, const DeclaredState& declared) {
    if (declared.revision == 0) {
        return false;
    }
    Parameters parameters;
    parameters.text(user.text).text(wire_name(declared.status)).time(declared.expires_at);
    if (declared.custom) {
        parameters.text(declared.custom->text)
            .text(declared.custom->emoji)
            .time(declared.custom->expires_at);
    } else {
        parameters.null_text().null_text().time(std::nullopt);
    }
    parameters.integer(static_cast<std::int64_t>(declared.revision));
    const Rows rows = connection.run(
        "INSERT INTO presenced.profiles AS p (user_id, declared_status, declared_until_ms, "
        "custom_text, custom_emoji, custom_until_ms, declared_revision) "
        "VALUES ($1, $2, $3, $4, $5, $6, $7) "
        "ON CONFLICT (user_id) DO UPDATE SET declared_status = excluded.declared_status, "
        "declared_until_ms = excluded.declared_until_ms, custom_text = excluded.custom_text, "
        "custom_emoji = excluded.custom_emoji, custom_until_ms = excluded.custom_until_ms, "
        "declared_revision = excluded.declared_revision "
        "WHERE excluded.declared_revision > p.declared_revision",
        parameters);
    return rows.affected() > 0;
}

namespace {

/// No user twice: a statement must not touch a row twice.
void save_distinct(Connection& connection, std::span<const LastSeenRow> rows) {
    std::vector<UserId> users;
    std::vector<std::optional<std::int64_t>> last_seen;
    std::vector<std::optional<std::int64_t>> own;
    std::vector<std::optional<std::int64_t>> shown;
    std::vector<std::optional<std::int64_t>> noted;
    for (const LastSeenRow& row : rows) {
        users.push_back(row.user);
        last_seen.push_back(row.last_seen ? std::optional(row.last_seen->ms()) : std::nullopt);
        own.emplace_back(number(row.own_version));
        shown.emplace_back(number(row.shown_version));
        noted.emplace_back(row.written_at.ms());
    }
    connection.run(
        "INSERT INTO presenced.profiles AS p "
        "(user_id, last_seen_ms, own_version, shown_version, noted_ms) "
        "SELECT * FROM unnest($1, $2, $3, $4, $5) "
        "ON CONFLICT (user_id) DO UPDATE SET "
        "own_version = greatest(p.own_version, excluded.own_version), "
        "shown_version = greatest(p.shown_version, excluded.shown_version), "
        "noted_ms = greatest(p.noted_ms, excluded.noted_ms), "
        "last_seen_ms = CASE WHEN p.erased_ms >= excluded.noted_ms THEN p.last_seen_ms "
        "ELSE greatest(p.last_seen_ms, excluded.last_seen_ms) END",
        Parameters().users(users).integers(last_seen).integers(own).integers(shown).integers(
            noted));
}

}  // namespace

void save_last_seen(Connection& connection, std::span<const LastSeenRow> rows) {
    lock_against_erasure(connection);
    // In the order of the ids, so that two nodes with the same users do not wait for each other.
    std::vector<LastSeenRow> left(rows.begin(), rows.end());
    std::ranges::stable_sort(left, {}, &LastSeenRow::user);
    while (!left.empty()) {
        std::vector<LastSeenRow> now;
        std::vector<LastSeenRow> later;
        for (LastSeenRow& row : left) {
            const bool again = !now.empty() && now.back().user == row.user;
            (again ? later : now).push_back(std::move(row));
        }
        save_distinct(connection, now);
        left = std::move(later);
    }
}

namespace {

/// Webhooks that have not arrived tell what the user had set. What stays is the word that an erased
/// user went offline: the one end without a time; and that they left a room, where it is the last
/// of them there: receivers may have been told that they came.
void erase_events(Connection& connection, const UserId& user) {
    connection.run(
        "DELETE FROM presenced.webhook_events WHERE subject = $1 AND NOT "
        "(coalesce(body::json->>'type', '') = 'user.offline' "
        "AND body::json->>'lastSeenAt' IS NULL)",
        Parameters().text(subject_of(user)));
    connection.run(
        "DELETE FROM presenced.webhook_events e WHERE subject >= 'room:' AND subject < 'room;' "
        "AND body::json->>'userId' = $1 AND NOT (body::json->>'type' = 'room.left' AND NOT EXISTS "
        "(SELECT 1 FROM presenced.webhook_events later WHERE later.target = e.target AND "
        "later.subject = e.subject AND later.seq > e.seq AND later.body::json->>'userId' = $1))",
        Parameters().text(user.text));
    connection.run(
        "DELETE FROM presenced.webhook_batches b WHERE NOT EXISTS "
        "(SELECT 1 FROM presenced.webhook_events e WHERE e.batch = b.id)");
    connection.run(
        "UPDATE presenced.webhook_dead d SET bodies = coalesce((SELECT "
        "string_agg(line, E'\\n' ORDER BY place) "
        "FROM regexp_split_to_table(d.bodies, E'\\n') WITH ORDINALITY AS l (line, place) "
        "WHERE line::json->>'userId' IS DISTINCT FROM $1), '') "
        "WHERE EXISTS (SELECT 1 FROM regexp_split_to_table(d.bodies, E'\\n') AS l (line) "
        "WHERE line::json->>'userId' = $1)",
        Parameters().text(user.text));
    connection.run("DELETE FROM presenced.webhook_dead WHERE bodies = ''");
}

}  // namespace

std::vector<UserId> erase(Connection& connection, const UserId& user, WallTime at) {
    erase_events(connection, user);
    connection.run("DELETE FROM presenced.named_users WHERE owner = $1",
                   Parameters().text(user.text));
    connection.run(
        "INSERT INTO presenced.profiles AS p (user_id, revision, declared_revision, erased_ms) "
        "VALUES ($1, 1, 1, $2) ON CONFLICT (user_id) DO UPDATE SET declared_status = 'auto', "
        "declared_until_ms = NULL, custom_text = NULL, custom_emoji = NULL, "
        "custom_until_ms = NULL, declared_revision = p.declared_revision + 1, "
        "online_rule = NULL, last_seen_rule = NULL, last_seen_ms = NULL, "
        "revision = p.revision + 1, erased_ms = greatest(p.erased_ms, excluded.erased_ms)",
        Parameters().text(user.text).integer(at.ms()));
    const Rows rows =
        connection.run("DELETE FROM presenced.named_users WHERE named = $1 RETURNING owner",
                       Parameters().text(user.text));
    std::vector<UserId> owners;
    for (int row = 0; row < rows.size(); ++row) {
        owners.emplace_back(rows.text(row, 0));
    }
    std::vector<UserId> distinct = UserSet(std::move(owners)).users();
    if (!distinct.empty()) {
        connection.run(
            "UPDATE presenced.profiles SET revision = revision + 1 WHERE user_id = ANY($1)",
            Parameters().users(distinct));
    }
    return distinct;
}

}  // namespace presence::postgres
