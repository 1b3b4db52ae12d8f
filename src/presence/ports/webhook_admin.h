#pragma once

#include "presence/base/scheduler.h"
#include "presence/base/task.h"
#include "presence/ports/webhook_outbox.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace presence {

/// How one receiver stands, as this node knows it.
struct WebhookTargetFacts {
    std::string url;
    bool stopped = false;         ///< It answered 410: nothing is sent to it any more.
    std::uint64_t delivered = 0;  ///< Batches, since the start of this node.
    std::uint64_t failed = 0;     ///< Attempts, likewise.
    std::string last_error;       ///< Of the last attempt that failed; empty: none has.
};

struct WebhookFacts {
    std::vector<WebhookTargetFacts> targets;
    OutboxCounts outbox;
};

/// What came of one test call.
struct WebhookTrial {
    std::string url;
    bool delivered = false;
    int status = 0;     ///< 0: there was no answer.
    std::string error;  ///< Empty: none.
};

/// What back ends may ask about webhooks. Any thread; completes on `home`.
class WebhookAdmin {
public:
    virtual ~WebhookAdmin() = default;
    [[nodiscard]] virtual Task<Result<WebhookFacts>> facts(Scheduler& home) = 0;
    [[nodiscard]] virtual Task<Result<DeadLetters>> dead_letters(Scheduler& home,
                                                                 std::optional<std::int64_t> after,
                                                                 std::size_t most) = 0;
    /// Sends an event `test` to each receiver, once, past the outbox.
    [[nodiscard]] virtual Task<Result<std::vector<WebhookTrial>>> test(Scheduler& home) = 0;
};

}  // namespace presence
