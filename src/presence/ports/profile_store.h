#pragma once

#include "presence/base/result.h"
#include "presence/base/task.h"
#include "presence/model/privacy.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace presence {

/// One end of a user's presence, for the database to keep.
struct LastSeenRow {
    UserId user;
    std::optional<WallTime> last_seen;  ///< The store keeps the greater of this and its own.
    Version own_version;                ///< Likewise.
    Version shown_version;              ///< Likewise.
    WallTime written_at;                ///< A row older than the erasure of its user is dropped.
};

/// A change to a set of users: replaced as a whole, or some added and some removed.
struct UserSetChange {
    std::optional<UserSet> replace;
    UserSet add;
    UserSet remove;
};

/// What a change of rules, contacts, blocks or revocation left behind.
struct ProfileChange {
    std::uint64_t revision = 0;  ///< The profile's revision from now on.
    bool changed = false;        ///< False: it already stood like that; nothing was written.
};

/// The durable memory: declared status, privacy, contacts, blocks, last seen, revocations.
///
/// One object a thread; calls never block it and complete on it. Each call is one transaction.
/// Adapters: stores/memory (tests, and `database.url = memory:`), stores/sqlite,
/// stores/postgres. Each passes tests/contract/profile_store_contract.h.
/// @retval ErrorCode::unavailable     The database did not take it; nothing was changed.
/// @retval ErrorCode::limit_exceeded  A set would grow past its limit; nothing was changed.
class ProfileStore {
public:
    virtual ~ProfileStore() = default;

    /// The profiles of `users`, in that order; null where nothing is stored.
    [[nodiscard]] virtual Task<Result<std::vector<ProfileRef>>> load(std::vector<UserId> users) = 0;

    /// Replaces what the user declared if `declared.revision` is greater than the stored one.
    /// False: it was not.
    [[nodiscard]] virtual Task<Result<bool>> save_declared(UserId user, DeclaredState declared) = 0;

    /// Sets the rules that are given and leaves the others.
    [[nodiscard]] virtual Task<Result<ProfileChange>> save_privacy(UserId user,
                                                                   PrivacySettings settings) = 0;
    /// @param limit  Most users the set may hold afterwards.
    [[nodiscard]] virtual Task<Result<ProfileChange>> change_contacts(UserId user,
                                                                      UserSetChange change,
                                                                      std::size_t limit) = 0;
    [[nodiscard]] virtual Task<Result<ProfileChange>> change_blocks(UserId user,
                                                                    UserSetChange change,
                                                                    std::size_t limit) = 0;
    /// Never moves the mark back.
    [[nodiscard]] virtual Task<Result<ProfileChange>> revoke(UserId user, WallTime before) = 0;

    /// Ends of presences, many in one transaction.
    [[nodiscard]] virtual Task<Result<bool>> save_last_seen(std::vector<LastSeenRow> rows) = 0;

    /// Forgets all about the user, and takes the user out of others' contacts and blocks and rules.
    /// Keeps only the time of the erasure, so that older rows still on their way are dropped, and
    /// the versions and the revocation mark, so that neither goes back.
    /// @return The users whose rules, contacts or blocks named the erased one.
    [[nodiscard]] virtual Task<Result<std::vector<UserId>>> erase(UserId user, WallTime at) = 0;

    /// Transactions of writes that the database refused as `unavailable`, of all threads, since the
    /// start: one that answers and has no room, say, is told by nothing else.
    [[nodiscard]] virtual std::uint64_t writes_refused() const = 0;
};

}  // namespace presence
