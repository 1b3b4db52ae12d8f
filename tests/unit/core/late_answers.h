#pragma once

#include "presence/ports/session_store.h"
#include "presence/stores/memory/faults.h"

#include <utility>
#include <vector>

namespace presence::testing {

/// A store that reads at once and answers late, as one behind a network does: what it says may be
/// outdated when it arrives. (`StoreFaults::set_delay` reads late, and so always says the newest.)
class LateAnswers final : public SessionStore {
public:
    LateAnswers(SessionStore& below, Scheduler& scheduler) : below_(below), scheduler_(scheduler) {}

    std::vector<std::vector<UserId>> asked;  ///< What was read, a read each.

    void set_lateness(Millis lateness) { lateness_ = lateness; }

    [[nodiscard]] Task<Result<std::vector<UserRecordRef>>> load(
        std::vector<UserId> users) override {
        asked.push_back(users);
        Result<std::vector<UserRecordRef>> loaded = co_await below_.load(std::move(users));
        if (lateness_ > Millis{0}) {
            co_await wait_for(scheduler_, lateness_);
        }
        co_return loaded;
    }
    void set_node(NodeId node) override { below_.set_node(node); }
    void watch_losses(LossWatch& watch) override { below_.watch_losses(watch); }
    [[nodiscard]] Task<Result<std::vector<CommitOutcome>>> commit_many(
        std::vector<Commit> commits) override {
        return below_.commit_many(std::move(commits));
    }
    [[nodiscard]] Task<Result<bool>> drop_ends(std::vector<LastSeenRow> written) override {
        return below_.drop_ends(std::move(written));
    }
    [[nodiscard]] Task<Result<bool>> erase(UserId user) override {
        return below_.erase(std::move(user));
    }

private:
    SessionStore& below_;
    Scheduler& scheduler_;
    Millis lateness_{0};
};

}  // namespace presence::testing
