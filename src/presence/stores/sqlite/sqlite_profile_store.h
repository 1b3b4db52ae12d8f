#pragma once

#include "presence/ports/profile_store.h"
#include "presence/stores/sqlite/database.h"

namespace presence {

/// Profiles in a SQLite file. One object a thread, all on one Database; completes on `home`, in
/// the order of the calls.
class SqliteProfileStore final : public ProfileStore {
public:
    SqliteProfileStore(sqlite::Database& database, Scheduler& home)
        : database_(database), home_(home) {}

    [[nodiscard]] Task<Result<std::vector<ProfileRef>>> load(std::vector<UserId> users) override;
    [[nodiscard]] Task<Result<bool>> save_declared(UserId user, DeclaredState declared) override;
    [[nodiscard]] Task<Result<ProfileChange>> save_privacy(UserId user,
                                                           PrivacySettings settings) override;
    [[nodiscard]] Task<Result<ProfileChange>> change_contacts(UserId user, UserSetChange change,
                                                              std::size_t limit) override;
    [[nodiscard]] Task<Result<ProfileChange>> change_blocks(UserId user, UserSetChange change,
                                                            std::size_t limit) override;
    [[nodiscard]] Task<Result<ProfileChange>> revoke(UserId user, WallTime before) override;
    [[nodiscard]] Task<Result<bool>> save_last_seen(std::vector<LastSeenRow> rows) override;
    [[nodiscard]] Task<Result<std::vector<UserId>>> erase(UserId user, WallTime at) override;
    [[nodiscard]] std::uint64_t writes_refused() const override {
        return database_.writes_refused();
    }

private:
    sqlite::Database& database_;
    Scheduler& home_;
};

}  // namespace presence
