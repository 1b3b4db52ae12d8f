#pragma once

#include "presence/base/scheduler.h"
#include "presence/ports/session_store.h"
#include "presence/stores/redis/client.h"
#include "presence/stores/redis/keys.h"
#include "presence/stores/redis/lives.h"

#include <vector>

namespace presence {

/// User records in Redis: one string a user, compared and written by one script that also keeps the
/// indices of the nodes and publishes on the user's channel, all in the same slot. One object a
/// thread; completes on `home`.
///
/// Each key has a TTL, renewed by each commit. One with sessions lives at least kWithSessions, so
/// that the first node up after a long outage can settle what it finds; whoever keeps sessions has
/// to commit them again more often than that.
class RedisSessionStore final : public SessionStore {
public:
    static constexpr Millis kWithSessions = std::chrono::hours{26};
    /// An index outlives the records that it names.
    static constexpr Millis kIndexStays = std::chrono::hours{48};

    RedisSessionStore(redis::Client& client, const redis::Keys& keys, const redis::Lives& lives,
                      Scheduler& home)
        : client_(client), keys_(keys), lives_(lives), home_(home) {}

    void set_node(NodeId node) override { node_ = node; }
    void watch_losses(LossWatch& watch) override { losses_ = &watch; }
    [[nodiscard]] Task<Result<std::vector<UserRecordRef>>> load(std::vector<UserId> users) override;
    [[nodiscard]] Task<Result<std::vector<CommitOutcome>>> commit_many(
        std::vector<Commit> commits) override;
    [[nodiscard]] Task<Result<bool>> drop_ends(std::vector<LastSeenRow> written) override;
    [[nodiscard]] Task<Result<bool>> erase(UserId user) override;

private:
    struct Writing;
    struct Reading;
    [[nodiscard]] std::vector<Reading> readings_for(const std::vector<UserId>& users) const;
    void meet_losses(const Reading& reading, const redis::ReplyView& values);
    [[nodiscard]] std::vector<Writing> writings_for(const std::vector<Commit>& commits) const;

    redis::Client& client_;
    const redis::Keys& keys_;
    const redis::Lives& lives_;
    Scheduler& home_;
    NodeId node_;
    LossWatch* losses_ = nullptr;
};

}  // namespace presence
