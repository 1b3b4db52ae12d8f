#include "presence/app/timed_sessions.h"

namespace presence::app {

Task<Result<std::vector<UserRecordRef>>> TimedSessions::load(std::vector<UserId> users) {
    const Timed timed(times_.reads);
    Task<Result<std::vector<UserRecordRef>>> loading = store_->load(std::move(users));
    Result<std::vector<UserRecordRef>> records = co_await loading;
    co_return records;
}

Task<Result<std::vector<CommitOutcome>>> TimedSessions::commit_many(std::vector<Commit> commits) {
    const Timed timed(times_.commits);
    Task<Result<std::vector<CommitOutcome>>> committing = store_->commit_many(std::move(commits));
    Result<std::vector<CommitOutcome>> outcomes = co_await committing;
    co_return outcomes;
}

}  // namespace presence::app
