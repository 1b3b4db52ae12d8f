#pragma once

#include "presence/base/result.h"
#include "presence/base/task.h"
#include "presence/model/presence.h"
#include "presence/ports/profile_store.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace presence {

/// How a commit ended.
enum class CommitOutcome : std::uint8_t {
    committed,
    conflict,  ///< Someone committed first: read again, settle again.
    fenced,    ///< Others have settled this node's death: it may write no more under that name.
    unknown,   ///< Its answer was lost, though others came: read again.
};

/// Loaded in the place of a record that is there and cannot be read: it is damaged, or of a newer
/// release. Nothing follows from it but that nobody can tell. Known by its address.
[[nodiscard]] inline const UserRecordRef& unreadable_record() {
    static const UserRecordRef record = make_ref<UserRecord>();
    return record;
}

/// A record that is to take the place of another.
struct Commit {
    UserId user;
    std::uint64_t expected = 0;  ///< Commit counter of the record it was made from; 0: of none.
    UserRecordRef record;        ///< Its commit counter is larger.
    Millis keep{0};              ///< A record without sessions is dropped that long after this.
    PresenceEventRef event;      ///< Published in the same step; null: nothing is told.
    /// An end of presence that the database is yet to have. In the same step it takes its place
    /// among those owed by the node that commits; a node that is alone owes none.
    std::optional<LastSeenRow> ended{};
};

/// How much a reader of the store knows of what that has lost (Membership::losses), and who is to
/// hear where a read met more: then what is missing may be what was lost, and nobody can tell
/// (DESIGN rule 31). One thread's.
struct LossWatch {
    std::uint64_t known = 0;
    std::uint64_t met = 0;
    std::function<void()> found;  ///< Called before the read completes; none: nobody is to hear.

    void meet(std::uint64_t losses) {
        met = losses > met ? losses : met;
        if (losses > known && found) {
            found();
        }
    }
    [[nodiscard]] bool is_behind() const noexcept { return met > known; }
};

/// The shared, fast, forgetful memory of who is attached and what they look like. It keeps
/// records and compares counters; what a record means is decided in `rules` and `core` alone.
///
/// One object a thread; calls complete on the calling thread. Adapters: stores/memory (one
/// process; complete at once), stores/redis. Each passes tests/contract/session_store_contract.h.
class SessionStore {
public:
    virtual ~SessionStore() = default;

    /// In whose name is committed from now on; without it in that of a node that is alone, which
    /// nobody fences.
    virtual void set_node(NodeId node) = 0;

    /// Who reads by this object; outlives it. Told by each read of how many losses its answer
    /// depends.
    virtual void watch_losses(LossWatch& watch) = 0;

    /// The records of `users`, in that order; null where there is none, unreadable_record() where
    /// there is one that says nothing.
    /// @retval ErrorCode::unavailable  Nobody can tell: show `unknown`, never offline.
    [[nodiscard]] virtual Task<Result<std::vector<UserRecordRef>>> load(
        std::vector<UserId> users) = 0;

    /// Replaces each user's record if it still is the one expected, and publishes the event in the
    /// same step; each by itself: one outcome each, in that order. A record with sessions stays. A
    /// store at the end of a wire needs one command a partition for it.
    /// @retval ErrorCode::unavailable  No answer came: what was written is unknown.
    [[nodiscard]] virtual Task<Result<std::vector<CommitOutcome>>> commit_many(
        std::vector<Commit> commits) = 0;

    /// The same for one.
    [[nodiscard]] Task<Result<CommitOutcome>> commit(Commit commit) {
        std::vector<Commit> one;
        one.push_back(std::move(commit));
        Result<std::vector<CommitOutcome>> outcomes = co_await commit_many(std::move(one));
        if (!outcomes) {
            co_return outcomes.error();
        }
        co_return outcomes->front();
    }

    /// The database has these, or newer ones: this node owes them no more. What is owed and newer
    /// stays.
    [[nodiscard]] virtual Task<Result<bool>> drop_ends(std::vector<LastSeenRow> written) = 0;

    /// Removes the record of `user` whatever it holds. For the erasure of a user.
    [[nodiscard]] virtual Task<Result<bool>> erase(UserId user) = 0;
};

}  // namespace presence
