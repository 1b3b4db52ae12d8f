#pragma once

#include "presence/ports/profile_store.h"
#include "presence/ports/profile_tables.h"
#include "presence/stores/sqlite/connection.h"

#include <cstdint>
#include <vector>

namespace presence::sqlite {

/// The tables of profiles, inside a transaction of the caller's.
class SqliteProfileTables final : public ProfileTables {
public:
    explicit SqliteProfileTables(Connection& connection) : connection_(connection) {}

    [[nodiscard]] std::uint64_t revision(const UserId& user) override;
    [[nodiscard]] std::uint64_t raise_revision(const UserId& user) override;
    [[nodiscard]] PrivacySettings audiences(const UserId& user) override;
    [[nodiscard]] UserSet named_users(const UserId& owner, NamedKind kind) override;
    [[nodiscard]] std::optional<WallTime> revoked_before(const UserId& user) override;
    void write_audience(const UserId& user, NamedKind rule, std::string_view word) override;
    void write_named_users(const UserId& owner, NamedKind kind, const UserSet& removed,
                           const UserSet& added) override;
    void write_revoked_before(const UserId& user, WallTime before) override;

private:
    Connection& connection_;
};

// What else the profile store does to the tables, likewise.

[[nodiscard]] ProfileRef load_profile(Connection& connection, const UserId& user);
[[nodiscard]] bool save_declared(Connection& connection, const UserId& user,
                                 const DeclaredState& declared);
void save_last_seen(Connection& connection, const LastSeenRow& row);
[[nodiscard]] std::vector<UserId> erase(Connection& connection, const UserId& user, WallTime at);

}  // namespace presence::sqlite
