#pragma once

#include "presence/ports/profile_store.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace presence {

/// Why a user is named by another; the numbers stand in databases.
enum class NamedKind : std::uint8_t { contact = 1, block = 2, online_rule = 3, last_seen_rule = 4 };
inline constexpr std::size_t kNamedKinds = 4;

/// Gathers named users while a profile is read.
class NamedUsers {
public:
    /// A kind that this release does not know is left out.
    void add(std::int64_t kind, UserId user);
    /// Into lists and rules. A rule that the profile lacks stays absent.
    void give_to(Profile& profile) &&;

private:
    std::array<std::vector<UserId>, kNamedKinds> by_kind_;
};

/// The tables of a ProfileStore in a SQL database, within one transaction in which nobody else
/// changes the user. What is done with them is the same in every database and stands below; a
/// failure of the database is the caller's to look for afterwards.
class ProfileTables {
public:
    virtual ~ProfileTables() = default;

    /// 0 where there is no profile.
    [[nodiscard]] virtual std::uint64_t revision(const UserId& user) = 0;
    /// Raises the revision, and makes the profile if there is none.
    [[nodiscard]] virtual std::uint64_t raise_revision(const UserId& user) = 0;
    /// The audiences of the rules; which users these name is named_users's to tell.
    [[nodiscard]] virtual PrivacySettings audiences(const UserId& user) = 0;
    [[nodiscard]] virtual UserSet named_users(const UserId& owner, NamedKind kind) = 0;
    [[nodiscard]] virtual std::optional<WallTime> revoked_before(const UserId& user) = 0;

    // The profile is there already.
    /// @param rule  NamedKind::online_rule or NamedKind::last_seen_rule.
    virtual void write_audience(const UserId& user, NamedKind rule, std::string_view word) = 0;
    virtual void write_named_users(const UserId& owner, NamedKind kind, const UserSet& removed,
                                   const UserSet& added) = 0;
    virtual void write_revoked_before(const UserId& user, WallTime before) = 0;
};

// The calls of ProfileStore.

[[nodiscard]] ProfileChange save_privacy(ProfileTables& tables, const UserId& user,
                                         const PrivacySettings& settings);
/// @retval ErrorCode::limit_exceeded  The set would grow past `limit`.
[[nodiscard]] Result<ProfileChange> change_set(ProfileTables& tables, const UserId& user,
                                               NamedKind kind, const UserSetChange& change,
                                               std::size_t limit);
[[nodiscard]] ProfileChange revoke(ProfileTables& tables, const UserId& user, WallTime before);

}  // namespace presence
