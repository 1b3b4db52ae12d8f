#include "presence/stores/postgres/postgres_profile_store.h"

#include "presence/stores/postgres/profile_rows.h"

#include <utility>

namespace presence {

using postgres::Connection;
using postgres::Durability;
using postgres::PostgresProfileTables;

Task<Result<std::vector<ProfileRef>>> PostgresProfileStore::load(std::vector<UserId> users) {
    return database_.load(home_, std::move(users));
}

Task<Result<bool>> PostgresProfileStore::save_declared(UserId user, DeclaredState declared) {
    return database_.call<bool>(
        home_, Durability::as_configured,
        [user = std::move(user), declared = std::move(declared)](Connection& connection) {
            return postgres::save_declared(connection, user, declared);
        });
}

Task<Result<ProfileChange>> PostgresProfileStore::save_privacy(UserId user,
                                                               PrivacySettings settings) {
    return database_.call<ProfileChange>(
        home_, Durability::as_configured,
        [user = std::move(user), settings = std::move(settings)](Connection& connection) {
            PostgresProfileTables tables(connection, user);
            return presence::save_privacy(tables, user, settings);
        });
}

Task<Result<ProfileChange>> PostgresProfileStore::change(UserId user, NamedKind kind,
                                                         UserSetChange change, std::size_t limit) {
    return database_.call<ProfileChange>(
        home_, Durability::as_configured,
        [user = std::move(user), kind, change = std::move(change), limit](Connection& connection) {
            PostgresProfileTables tables(connection, user);
            return change_set(tables, user, kind, change, limit);
        });
}

Task<Result<ProfileChange>> PostgresProfileStore::change_contacts(UserId user, UserSetChange change,
                                                                  std::size_t limit) {
    return this->change(std::move(user), NamedKind::contact, std::move(change), limit);
}

Task<Result<ProfileChange>> PostgresProfileStore::change_blocks(UserId user, UserSetChange change,
                                                                std::size_t limit) {
    return this->change(std::move(user), NamedKind::block, std::move(change), limit);
}

// A revocation or an erasure that a crash of the database takes back would be a breach.

Task<Result<ProfileChange>> PostgresProfileStore::revoke(UserId user, WallTime before) {
    return database_.call<ProfileChange>(home_, Durability::on_disk,
                                         [user = std::move(user), before](Connection& connection) {
                                             PostgresProfileTables tables(connection, user);
                                             return presence::revoke(tables, user, before);
                                         });
}

Task<Result<std::vector<UserId>>> PostgresProfileStore::erase(UserId user, WallTime at) {
    return database_.call<std::vector<UserId>>(
        home_, Durability::on_disk, [user = std::move(user), at](Connection& connection) {
            lock_for_erasure(connection);
            const PostgresProfileTables locked(connection, user);
            return postgres::erase(connection, user, at);
        });
}

Task<Result<bool>> PostgresProfileStore::save_last_seen(std::vector<LastSeenRow> rows) {
    return database_.call<bool>(home_, Durability::as_configured,
                                [rows = std::move(rows)](Connection& connection) {
                                    postgres::save_last_seen(connection, rows);
                                    return true;
                                });
}

}  // namespace presence
