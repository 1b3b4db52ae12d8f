#pragma once

#include "presence/base/result.h"
#include "presence/base/task.h"
#include "presence/ports/profile_store.h"

#include <cstddef>
#include <vector>

namespace presence {

/// Where ends of presences wait that the database did not take, so that neither its outage nor a
/// crash of ours loses one. First in, first out; a crash may bring rows back that were dropped,
/// which does no harm, as the database keeps the greater.
///
/// One object a thread, all on one spool; calls never block and complete on the calling thread.
/// Adapters: stores/spool (a file), stores/memory (tests). Each passes
/// tests/contract/last_seen_spool_contract.h.
class LastSeenSpool {
public:
    virtual ~LastSeenSpool() = default;

    /// Adds rows; when it completes, they outlive this process and the machine.
    /// @retval ErrorCode::limit_exceeded  It is full; none was added.
    /// @retval ErrorCode::unavailable     They could not be written; none was added.
    [[nodiscard]] virtual Task<Result<bool>> append(std::vector<LastSeenRow> rows) = 0;

    /// The oldest rows, `most` at most. They stay.
    [[nodiscard]] virtual Task<Result<std::vector<LastSeenRow>>> oldest(std::size_t most) = 0;

    /// Takes out the `count` oldest rows.
    [[nodiscard]] virtual Task<Result<bool>> drop(std::size_t count) = 0;

    /// Rows in it. Any thread.
    [[nodiscard]] virtual std::size_t waiting() const = 0;
};

}  // namespace presence
