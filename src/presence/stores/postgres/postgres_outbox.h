#pragma once

#include "presence/ports/webhook_outbox.h"
#include "presence/stores/postgres/database.h"

namespace presence {

/// The outbox in PostgreSQL, shared by all nodes. Leases and waits are measured on the database's
/// clock, so that the nodes' own may differ. One object a thread, all on one Database; completes
/// on `home`.
class PostgresOutbox final : public WebhookOutbox {
public:
    PostgresOutbox(postgres::Database& database, Scheduler& home)
        : database_(database), home_(home) {}

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
    postgres::Database& database_;
    Scheduler& home_;
};

}  // namespace presence
