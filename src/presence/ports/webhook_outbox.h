#pragma once

#include "presence/base/ids.h"
#include "presence/base/result.h"
#include "presence/base/task.h"
#include "presence/base/time.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace presence {

/// The subject of events of a user, and of those of a room: they may have the same names.
[[nodiscard]] inline std::string subject_of(const UserId& user) {
    return "user:" + user.text;
}
[[nodiscard]] inline std::string subject_of(const RoomId& room) {
    return "room:" + room.text;
}

/// One event on its way to one receiver.
struct OutboxEvent {
    std::string target;   ///< The URL.
    std::string subject;  ///< Events of one subject go to a target one after the other.
    std::string body;     ///< The event as JSON; the same at every attempt.
};

/// Events that travel together. A batch once formed stays as it is until it was delivered or given
/// up: the same id, the same bytes at every attempt.
struct OutboxBatch {
    std::string id;
    std::string target;
    std::vector<std::string> bodies;  ///< In order.
    int attempt = 1;                  ///< This one, counted from 1.
    Millis age{0};                    ///< Since the first attempt.
};

struct OutboxClaim {
    std::string target;
    std::vector<std::string> new_ids;  ///< For new batches: at most so many are formed.
    std::size_t most_events = 100;     ///< In one batch.
    /// A claim that was not reported on within that comes back: its claimer has died.
    Millis lease{60'000};
};

/// A batch that was given up.
struct DeadLetter {
    std::string id;
    std::string target;
    std::vector<std::string> bodies;
    int attempts = 0;
    WallTime at;
    std::string error;
};

struct DeadLetters {
    std::vector<DeadLetter> letters;   ///< Oldest first.
    std::optional<std::int64_t> next;  ///< Where to go on; empty: there are no more.
};

struct OutboxCounts {
    std::size_t waiting = 0;  ///< Events, those in batches included.
    std::size_t dead = 0;     ///< Batches.
};

/// The durable queue of webhooks, shared by all nodes: each event is sent by one of them, and those
/// of a node that was killed by another.
///
/// One object a thread; calls never block and complete on the calling thread; each is one
/// transaction. Adapters: stores/memory, stores/sqlite, stores/postgres. Each passes
/// tests/contract/webhook_outbox_contract.h.
/// @retval ErrorCode::unavailable  The store did not take it; nothing was changed.
class WebhookOutbox {
public:
    virtual ~WebhookOutbox() = default;

    [[nodiscard]] virtual Task<Result<bool>> append(std::vector<OutboxEvent> events) = 0;

    /// Batches of `target` that are due: first those to be tried again, then new ones of the oldest
    /// events whose subjects are in no other batch. Each is given to one claimer until its lease
    /// is over.
    [[nodiscard]] virtual Task<Result<std::vector<OutboxBatch>>> claim(OutboxClaim claim) = 0;

    /// It has arrived, and is forgotten.
    [[nodiscard]] virtual Task<Result<bool>> delivered(std::string batch) = 0;
    /// It is due again after that time.
    [[nodiscard]] virtual Task<Result<bool>> retry(std::string batch, Millis after) = 0;
    /// It becomes a dead letter, and its subjects are free. The oldest dead letters over
    /// kMostDeadLetters go.
    [[nodiscard]] virtual Task<Result<bool>> give_up(std::string batch, std::string error) = 0;
    static constexpr std::size_t kMostDeadLetters = 10'000;

    /// Forgets all that is on its way to `target`; dead letters stay.
    [[nodiscard]] virtual Task<Result<bool>> forget(std::string target) = 0;

    /// @param after  DeadLetters::next of the page before; empty: from the oldest on.
    [[nodiscard]] virtual Task<Result<DeadLetters>> dead_letters(std::optional<std::int64_t> after,
                                                                 std::size_t most) = 0;
    [[nodiscard]] virtual Task<Result<OutboxCounts>> counts() = 0;
};

}  // namespace presence
