#pragma once

#include "presence/ports/profile_store.h"
#include "presence/ports/profile_tables.h"
#include "presence/stores/postgres/connection.h"

#include <boost/unordered/unordered_flat_map.hpp>

#include <span>
#include <vector>

namespace presence::postgres {

/// The tables of profiles, inside a transaction of the caller's.
class PostgresProfileTables final : public ProfileTables {
public:
    /// Locks out others who change `user` in steps, on any node, until the transaction ends.
    PostgresProfileTables(Connection& connection, const UserId& user);

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

using ProfilesByUser = boost::unordered_flat_map<UserId, ProfileRef, IdHash, IdEqual>;

// What else the profile store does to the tables.

/// An erasure touches rows of many users, in no order: while it runs, nobody else writes any, as
/// the two would wait for each other. To the end of the transaction; first thing in it.
void lock_for_erasure(Connection& connection);

/// Those of `users` that have a profile; all of one moment.
[[nodiscard]] ProfilesByUser load_profiles(Connection& connection, std::span<const UserId> users);
[[nodiscard]] bool save_declared(Connection& connection, const UserId& user,
                                 const DeclaredState& declared);
void save_last_seen(Connection& connection, std::span<const LastSeenRow> rows);
[[nodiscard]] std::vector<UserId> erase(Connection& connection, const UserId& user, WallTime at);

}  // namespace presence::postgres
