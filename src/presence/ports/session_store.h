#pragma once

#include "presence/base/result.h"
#include "presence/base/task.h"
#include "presence/model/presence.h"

#include <cstdint>
#include <span>
#include <vector>

namespace presence {

/// How a commit ended.
enum class CommitOutcome : std::uint8_t {
    committed,
    conflict,  ///< Someone committed first: read again, settle again.
};

/// The shared, fast, forgetful memory of who is attached and what they look like. It keeps
/// records and compares counters; what a record means is decided in `rules` and `core` alone.
///
/// One object a thread; calls complete on the calling thread. Adapters: stores/memory (one
/// process; complete at once). Each passes tests/contract/session_store_contract.h.
class SessionStore {
public:
    virtual ~SessionStore() = default;

    /// The records of `users`, in that order; null where there is none.
    /// @retval ErrorCode::unavailable  Nobody can tell: show `unknown`, never offline.
    [[nodiscard]] virtual Task<Result<std::vector<UserRecordRef>>> load(
        std::vector<UserId> users) = 0;

    /// Replaces the record of `user` if its commit counter still is `expected` (0: there is none),
    /// and in the same step publishes `event` if one is given. `record->commit` must be larger
    /// than `expected`.
    ///
    /// A record with no sessions is dropped once `keep` has passed since its last commit; one with
    /// sessions stays.
    /// @retval ErrorCode::unavailable  Whether it was written is unknown.
    [[nodiscard]] virtual Task<Result<CommitOutcome>> commit(UserId user, std::uint64_t expected,
                                                             UserRecordRef record, Millis keep,
                                                             PresenceEventRef event) = 0;

    /// Removes the record of `user` whatever it holds. For the erasure of a user.
    [[nodiscard]] virtual Task<Result<bool>> erase(UserId user) = 0;
};

}  // namespace presence
