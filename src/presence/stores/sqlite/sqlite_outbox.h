#pragma once

#include "presence/base/clock.h"
#include "presence/ports/webhook_outbox.h"
#include "presence/stores/sqlite/database.h"

namespace presence {

/// The outbox in a SQLite file. One object a thread, all on one Database; completes on `home`.
class SqliteOutbox final : public WebhookOutbox {
public:
    SqliteOutbox(sqlite::Database& database, const Clock& clock, Scheduler& home)
        : database_(database), clock_(clock), home_(home) {}

    [[nodiscard]] Task<Result<bool>> append(std::vector<OutboxEvent> events) override;
    [[nodiscard]] Task<Result<std::vector<OutboxBatch>>> claim(OutboxClaim claim) override;
    [[nodiscard]] Task<Result<bool>> delivered(std::string batch) override;
    [[nodiscard]] Task<Result<bool>> retry(std::string batch, Millis after) override;
    [[nodiscard]] Task<Result<bool>> give_up(std::string batch, std::string error) override;
    [[nodiscard]] Task<Result<bool>> forget(std::string target) override;
    [[nodiscard]] Task<Result<DeadLetters>> dead_letters(std::optional<std::int64_t> after,
                                                         std::size_t most) override;
    [[nodiscard]] Task<Result<OutboxCounts>> counts() override;

private:
    sqlite::Database& database_;
    const Clock& clock_;
    Scheduler& home_;
};

}  // namespace presence
