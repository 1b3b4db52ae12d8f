#include "presence/stores/sqlite/sqlite_profile_store.h"

#include "presence/stores/sqlite/profile_rows.h"

#include <utility>

namespace presence {

using sqlite::Access;
using sqlite::Connection;
using sqlite::SqliteProfileTables;

Task<Result<std::vector<ProfileRef>>> SqliteProfileStore::load(std::vector<UserId> users) {
    return database_.call<std::vector<ProfileRef>>(
        home_, Access::read, [users = std::move(users)](Connection& connection) {
            std::vector<ProfileRef> profiles;
            profiles.reserve(users.size());
            for (const UserId& user : users) {
                profiles.push_back(sqlite::load_profile(connection, user));
            }
            return profiles;
        });
}

Task<Result<bool>> SqliteProfileStore::save_declared(UserId user, DeclaredState declared) {
    return database_.call<bool>(
        home_, Access::write,
        [user = std::move(user), declared = std::move(declared)](Connection& connection) {
            return sqlite::save_declared(connection, user, declared);
        });
}

Task<Result<ProfileChange>> SqliteProfileStore::save_privacy(UserId user,
                                                             PrivacySettings settings) {
    return database_.call<ProfileChange>(
        home_, Access::write,
        [user = std::move(user), settings = std::move(settings)](Connection& connection) {
            SqliteProfileTables tables(connection);
            return presence::save_privacy(tables, user, settings);
        });
}

Task<Result<ProfileChange>> SqliteProfileStore::change_contacts(UserId user, UserSetChange change,
                                                                std::size_t limit) {
    return database_.call<ProfileChange>(
        home_, Access::write,
        [user = std::move(user), change = std::move(change), limit](Connection& connection) {
            SqliteProfileTables tables(connection);
            return change_set(tables, user, NamedKind::contact, change, limit);
        });
}

Task<Result<ProfileChange>> SqliteProfileStore::change_blocks(UserId user, UserSetChange change,
                                                              std::size_t limit) {
    return database_.call<ProfileChange>(
        home_, Access::write,
        [user = std::move(user), change = std::move(change), limit](Connection& connection) {
            SqliteProfileTables tables(connection);
            return change_set(tables, user, NamedKind::block, change, limit);
        });
}

// A revocation or an erasure that a crash of the machine takes back would be a breach, so these
// two are on the disk before they are answered.

Task<Result<ProfileChange>> SqliteProfileStore::revoke(UserId user, WallTime before) {
    return database_.call<ProfileChange>(home_, Access::durable_write,
                                         [user = std::move(user), before](Connection& connection) {
                                             SqliteProfileTables tables(connection);
                                             return presence::revoke(tables, user, before);
                                         });
}

Task<Result<std::vector<UserId>>> SqliteProfileStore::erase(UserId user, WallTime at) {
    return database_.call<std::vector<UserId>>(
        home_, Access::durable_write, [user = std::move(user), at](Connection& connection) {
            return sqlite::erase(connection, user, at);
        });
}

Task<Result<bool>> SqliteProfileStore::save_last_seen(std::vector<LastSeenRow> rows) {
    return database_.call<bool>(home_, Access::write,
                                [rows = std::move(rows)](Connection& connection) {
                                    for (const LastSeenRow& row : rows) {
                                        sqlite::save_last_seen(connection, row);
                                    }
                                    return true;
                                });
}

}  // namespace presence
