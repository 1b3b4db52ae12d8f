#include "presence/stores/sqlite/profile_rows.h"

#include "presence/ports/user_set_change.h"
#include "presence/stores/sqlite/words.h"

#include <array>
#include <optional>
#include <utility>

namespace presence::sqlite {

namespace {

constexpr std::size_t kNamedKinds = 4;

std::int64_t number(NamedKind kind) {
    return static_cast<std::int64_t>(kind);
}
std::int64_t number(Version version) {
    return static_cast<std::int64_t>(version.value);
}
std::uint64_t counter(const Statement& statement, int column) {
    return static_cast<std::uint64_t>(statement.integer(column));
}

std::uint64_t revision_of(Connection& connection, const UserId& user) {
    Statement read = connection.use("SELECT revision FROM profiles WHERE user = ?");
    read.bind(user.text);
    return read.row() ? counter(read, 0) : 0;
}

/// Raises the revision, and makes the profile if there is none.
ProfileChange raise_revision(Connection& connection, const UserId& user) {
    {
        Statement write = connection.use(
            "INSERT INTO profiles (user, revision) VALUES (?, 1) "
            "ON CONFLICT (user) DO UPDATE SET revision = revision + 1");
        write.bind(user.text);
        write.run();
    }
    return {revision_of(connection, user), true};
}

ProfileChange unchanged(Connection& connection, const UserId& user) {
    return {revision_of(connection, user), false};
}

UserSet load_set(Connection& connection, const UserId& owner, NamedKind kind) {
    Statement read =
        connection.use("SELECT user FROM named_users WHERE owner = ? AND kind = ? ORDER BY user");
    read.bind(owner.text).bind(number(kind));
    std::vector<UserId> users;
    while (read.row()) {
        users.emplace_back(read.text(0));
    }
    return UserSet(std::move(users));
}

void write_set(Connection& connection, const UserId& owner, NamedKind kind, const UserSet& before,
               const UserSet& after) {
    for (const UserId& user : before.users()) {
        if (!after.contains(user)) {
            Statement write =
                connection.use("DELETE FROM named_users WHERE owner = ? AND kind = ? AND user = ?");
            write.bind(owner.text).bind(number(kind)).bind(user.text);
            write.run();
        }
    }
    for (const UserId& user : after.users()) {
        if (!before.contains(user)) {
            Statement write =
                connection.use("INSERT INTO named_users (owner, kind, user) VALUES (?, ?, ?)");
            write.bind(owner.text).bind(number(kind)).bind(user.text);
            write.run();
        }
    }
}

std::optional<PrivacyRule> rule_at(const Statement& read, int column) {
    return read.null(column)
               ? std::nullopt
               : std::optional(PrivacyRule{audience_from(read.text(column)), UserSet()});
}

/// The rules of a user with the users that they name.
PrivacySettings load_privacy(Connection& connection, const UserId& user) {
    PrivacySettings privacy;
    {
        Statement read =
            connection.use("SELECT online_rule, last_seen_rule FROM profiles WHERE user = ?");
        read.bind(user.text);
        if (read.row()) {
            privacy.online = rule_at(read, 0);
            privacy.last_seen = rule_at(read, 1);
        }
    }
    if (privacy.online) {
        privacy.online->users = load_set(connection, user, NamedKind::online_rule);
    }
    if (privacy.last_seen) {
        privacy.last_seen->users = load_set(connection, user, NamedKind::last_seen_rule);
    }
    return privacy;
}

void write_rule(Connection& connection, const UserId& user, NamedKind kind,
                const std::optional<PrivacyRule>& before, const PrivacyRule& after) {
    Statement write = connection.use(kind == NamedKind::online_rule
                                         ? "UPDATE profiles SET online_rule = ? WHERE user = ?"
                                         : "UPDATE profiles SET last_seen_rule = ? WHERE user = ?");
    write.bind(wire_name(after.audience)).bind(user.text);
    write.run();
    write_set(connection, user, kind, before ? before->users : UserSet(), after.users);
}

}  // namespace

ProfileRef load_profile(Connection& connection, const UserId& user) {
    auto profile = std::make_shared<Profile>();
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
    std::array<std::vector<UserId>, kNamedKinds> sets;
    Statement read = connection.use("SELECT kind, user FROM named_users WHERE owner = ?");
    read.bind(user.text);
    while (read.row()) {
        sets.at(static_cast<std::size_t>(read.integer(0) - 1)).emplace_back(read.text(1));
    }
    const auto taken = [&sets](NamedKind kind) {
        return UserSet(std::move(sets.at(static_cast<std::size_t>(number(kind) - 1))));
    };
    profile->contacts = taken(NamedKind::contact);
    profile->blocks = taken(NamedKind::block);
    if (profile->privacy.online) {
        profile->privacy.online->users = taken(NamedKind::online_rule);
    }
    if (profile->privacy.last_seen) {
        profile->privacy.last_seen->users = taken(NamedKind::last_seen_rule);
    }
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

ProfileChange save_privacy(Connection& connection, const UserId& user,
                           const PrivacySettings& settings) {
    const PrivacySettings before = load_privacy(connection, user);
    const bool online = settings.online && settings.online != before.online;
    const bool last_seen = settings.last_seen && settings.last_seen != before.last_seen;
    if (!online && !last_seen) {
        return unchanged(connection, user);
    }
    const ProfileChange change = raise_revision(connection, user);
    if (online) {
        write_rule(connection, user, NamedKind::online_rule, before.online, *settings.online);
    }
    if (last_seen) {
        write_rule(connection, user, NamedKind::last_seen_rule, before.last_seen,
                   *settings.last_seen);
    }
    return change;
}

Result<ProfileChange> change_set(Connection& connection, const UserId& user, NamedKind kind,
                                 const UserSetChange& change, std::size_t limit) {
    const UserSet before = load_set(connection, user, kind);
    const UserSet after = changed_by(before, change);
    if (!within_limit(before, after, limit)) {
        return set_too_large(limit);
    }
    if (before == after) {
        return unchanged(connection, user);
    }
    const ProfileChange changed = raise_revision(connection, user);
    write_set(connection, user, kind, before, after);
    return changed;
}

ProfileChange revoke(Connection& connection, const UserId& user, WallTime before) {
    {
        Statement read = connection.use("SELECT revoked_before_ms FROM profiles WHERE user = ?");
        read.bind(user.text);
        if (read.row() && read.time(0) >= before) {
            return unchanged(connection, user);
        }
    }
    const ProfileChange change = raise_revision(connection, user);
    Statement write = connection.use("UPDATE profiles SET revoked_before_ms = ? WHERE user = ?");
    write.bind(before.ms()).bind(user.text);
    write.run();
    return change;
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

std::vector<UserId> erase(Connection& connection, const UserId& user, WallTime at) {
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
    for (const UserId& owner : owners) {
        static_cast<void>(raise_revision(connection, owner));
    }
    Statement write = connection.use("DELETE FROM named_users WHERE user = ?");
    write.bind(user.text);
    write.run();
    return owners;
}

}  // namespace presence::sqlite
