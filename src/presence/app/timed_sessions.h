#pragma once

#include "presence/base/latency.h"
#include "presence/ports/session_store.h"

#include <memory>
#include <utility>
#include <vector>

namespace presence::app {

/// How long a thread's calls of the session store took, answered or not.
struct StoreTimes {
    LatencyHistogram reads;
    LatencyHistogram commits;
};

/// Measures the session store of one thread, whichever it is. One thread.
class TimedSessions final : public SessionStore {
public:
    TimedSessions(std::unique_ptr<SessionStore> store, StoreTimes& times)
        : store_(std::move(store)), times_(times) {}

    void set_node(NodeId node) override { store_->set_node(node); }
    void watch_losses(LossWatch& watch) override { store_->watch_losses(watch); }
    [[nodiscard]] Task<Result<std::vector<UserRecordRef>>> load(std::vector<UserId> users) override;
    [[nodiscard]] Task<Result<std::vector<CommitOutcome>>> commit_many(
        std::vector<Commit> commits) override;
    [[nodiscard]] Task<Result<bool>> drop_ends(std::vector<LastSeenRow> written) override {
        return store_->drop_ends(std::move(written));
    }
    [[nodiscard]] Task<Result<bool>> erase(UserId user) override {
        return store_->erase(std::move(user));
    }

private:
    std::unique_ptr<SessionStore> store_;
    StoreTimes& times_;
};

}  // namespace presence::app
