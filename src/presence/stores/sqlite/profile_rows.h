#pragma once

#include "presence/ports/profile_store.h"
#include "presence/stores/sqlite/connection.h"

#include <cstdint>
#include <vector>

namespace presence::sqlite {

/// Why a user is named by another; the numbers stand in the database.
enum class NamedKind : std::uint8_t { contact = 1, block = 2, online_rule = 3, last_seen_rule = 4 };

// What the profile store does to the tables, each inside a transaction of the caller's, who looks
// for a failure of the connection afterwards.

[[nodiscard]] ProfileRef load_profile(Connection& connection, const UserId& user);
[[nodiscard]] bool save_declared(Connection& connection, const UserId& user,
                                 const DeclaredState& declared);
[[nodiscard]] ProfileChange save_privacy(Connection& connection, const UserId& user,
                                         const PrivacySettings& settings);
/// @retval ErrorCode::limit_exceeded  The set would grow past `limit`.
[[nodiscard]] Result<ProfileChange> change_set(Connection& connection, const UserId& user,
                                               NamedKind kind, const UserSetChange& change,
                                               std::size_t limit);
[[nodiscard]] ProfileChange revoke(Connection& connection, const UserId& user, WallTime before);
void save_last_seen(Connection& connection, const LastSeenRow& row);
[[nodiscard]] std::vector<UserId> erase(Connection& connection, const UserId& user, WallTime at);

}  // namespace presence::sqlite
