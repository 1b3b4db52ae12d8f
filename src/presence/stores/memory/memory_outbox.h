#pragma once

#include "presence/base/clock.h"
#include "presence/ports/webhook_outbox.h"
#include "presence/stores/memory/faults.h"

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace presence {

/// An outbox in memory: for tests, and for `database.url = memory:`. Shared by the MemoryOutboxes
/// of all threads.
class MemoryOutboxState {
public:
    explicit MemoryOutboxState(const Clock& clock) : clock_(clock) {}

    StoreFaults faults;

private:
    friend class MemoryOutbox;

    struct Event {
        OutboxEvent event;
        std::string batch;  ///< Empty: in none.
    };
    struct Batch {
        std::string target;
        int attempts = 0;
        WallTime due;
        WallTime first;
    };

    [[nodiscard]] OutboxBatch taken(const std::string& id, Millis lease);
    [[nodiscard]] bool form(const OutboxClaim& claim, const std::string& id);
    [[nodiscard]] std::vector<std::string> remove(const std::string& id);

    const Clock& clock_;
    std::mutex mutex_;
    std::deque<Event> events_;
    std::map<std::string, Batch> batches_;
    std::deque<std::pair<std::int64_t, DeadLetter>> dead_;
    std::int64_t last_dead_ = 0;
};

/// Completes at once.
class MemoryOutbox final : public WebhookOutbox {
public:
    explicit MemoryOutbox(MemoryOutboxState& state) : state_(state) {}

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
    MemoryOutboxState& state_;
};

}  // namespace presence
