#pragma once

#include "presence/ports/profile_store.h"
#include "presence/ports/profile_tables.h"
#include "presence/stores/postgres/database.h"

namespace presence {

/// Profiles in PostgreSQL. One object a thread, all on one Database; completes on `home`.
class PostgresProfileStore final : public ProfileStore {
public:
    PostgresProfileStore(postgres::Database& database, Scheduler& home)
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
        return database_.counters().writes_refused;
    }

private:
    [[nodiscard]] Task<Result<ProfileChange>> change(UserId user, NamedKind kind,
                                                     UserSetChange change, std::size_t limit);

    postgres::Database& database_;
    Scheduler& home_;
};

}  // namespace presence
