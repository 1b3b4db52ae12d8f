#include "presence/stores/sqlite/database.h"

#include "presence/base/log.h"
#include "presence/stores/sqlite/schema.h"

#include <fmt/format.h>

#include <algorithm>

namespace presence::sqlite {

Result<std::unique_ptr<Database>> Database::open(DatabaseConfig config) {
    Result<std::unique_ptr<Connection>> connection =
        Connection::open(config.path, config.busy_timeout);
    if (!connection) {
        return connection.error();
    }
    Result<std::int64_t> found = migrate(**connection);
    if (!found) {
        Error error = found.error();
        error.message = fmt::format("{}: {}", config.path, error.message);
        return error;
    }
    if (*found != known_schema()) {
        log::info("database_migrated", "{} from schema {} to {}", config.path, *found,
                  known_schema());
    }
    return std::unique_ptr<Database>(new Database(std::move(config), std::move(*connection)));
}

Database::Database(DatabaseConfig config, std::unique_ptr<Connection> connection)
    : config_(std::move(config)), connection_(std::move(connection)), worker_([this] { work(); }) {}

void Database::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
    if (worker_.joinable()) {
        worker_.join();
    }
}

std::size_t Database::waiting() const {
    const std::lock_guard lock(mutex_);
    return queue_.size();
}

void Database::submit(std::unique_ptr<Job> job) {
    const char* refusal = nullptr;
    {
        const std::lock_guard lock(mutex_);
        if (stopping_) {
            refusal = "the database is closed";
        } else if (queue_.size() >= config_.queue) {
            refusal = "too many calls wait for the database";
        } else {
            queue_.push_back(std::move(job));
        }
    }
    if (refusal == nullptr) {
        changed_.notify_one();
        return;
    }
    constexpr std::int64_t kRetryAfterMs = 1000;
    job->fail(
        {ErrorCode::unavailable, refusal, kRetryAfterMs, static_cast<std::int64_t>(config_.queue)});
    job->finish();
}

void Database::work() {
    while (true) {
        Jobs jobs = take_group();
        if (jobs.empty()) {
            break;
        }
        run_group(jobs);
        for (const std::unique_ptr<Job>& job : jobs) {
            job->finish();
        }
    }
    connection_.reset();
}

/// The neighbouring jobs at the head of the queue that are all reads or all writes. None: stop.
Database::Jobs Database::take_group() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !queue_.empty() || stopping_; });
    Jobs jobs;
    while (!queue_.empty() && jobs.size() < config_.group &&
           (jobs.empty() || jobs.front()->writes() == queue_.front()->writes())) {
        jobs.push_back(std::move(queue_.front()));
        queue_.pop_front();
    }
    return jobs;
}

void Database::run_group(Jobs& jobs) {
    if (!ready()) {
        writes_refused_ += jobs.front()->writes() ? 1U : 0U;
        constexpr std::int64_t kRetryAfterMs = 1000;
        for (const std::unique_ptr<Job>& job : jobs) {
            job->fail({ErrorCode::unavailable, "the database cannot be opened", kRetryAfterMs, 0});
        }
        return;
    }
    const std::span<const std::unique_ptr<Job>> all(jobs);
    if (!run_in_transaction(all) && all.size() > 1) {
        for (std::size_t index = 0; index < all.size() && ready(); ++index) {
            static_cast<void>(run_in_transaction(all.subspan(index, 1)));
        }
    }
}

bool Database::ready() {
    if (connection_ && connection_->worn_out()) {
        connection_.reset();
    }
    if (!connection_) {
        Result<std::unique_ptr<Connection>> opened =
            Connection::open(config_.path, config_.busy_timeout);
        if (!opened) {
            note(opened.error());
            return false;
        }
        // Whoever moved the file away may have put an empty or an older one in its place.
        Result<std::int64_t> found = migrate(**opened);
        if (!found) {
            note(found.error());
            return false;
        }
        connection_ = std::move(*opened);
    }
    return true;
}

bool Database::run_in_transaction(std::span<const std::unique_ptr<Job>> jobs) {
    const bool writes = jobs.front()->writes();
    const std::uint64_t noted = failures_;
    const bool durable = std::any_of(jobs.begin(), jobs.end(), [](const auto& job) {
        return job->access() == Access::durable_write;
    });
    if (durable) {
        connection_->execute("PRAGMA synchronous = FULL");
    }
    connection_->execute(writes ? "BEGIN IMMEDIATE" : "BEGIN");
    std::optional<Error> lost = connection_->take_failure();
    const bool begun = !lost.has_value();
    for (std::size_t index = 0; index < jobs.size() && !lost; ++index) {
        run_in_savepoint(*jobs[index]);
        if (!connection_->in_transaction()) {
            lost =
                Error{ErrorCode::unavailable, "the transaction was undone by a failure", 1000, 0};
        }
    }
    if (!lost) {
        connection_->execute("COMMIT");
        lost = connection_->take_failure();
        if (lost) {
            note(*lost);
            roll_back();
        }
    } else if (!begun) {
        note(*lost);
    }
    if (lost) {
        for (const std::unique_ptr<Job>& job : jobs) {
            if (!job->failed()) {  // Else its own failure says more.
                job->fail(*lost);
            }
        }
    } else if (writes) {
        ++commits_;
    }
    if (durable) {
        connection_->execute("PRAGMA synchronous = NORMAL");
        static_cast<void>(connection_->take_failure());
    }
    writes_refused_ += writes && noted != failures_ ? 1U : 0U;
    // Reads go on where writes fail, so only a whole transaction of writes shows that it is over.
    if (!lost && writes && failing_ && noted == failures_) {
        failing_ = false;
        log::warning("database_back", "{} works again", config_.path);
    }
    // One that could not even begin need not be tried job by job.
    return !lost || !begun;
}

void Database::run_in_savepoint(Job& job) {
    if (job.writes()) {
        connection_->execute("SAVEPOINT job");
    }
    job.run(*connection_);
    if (std::optional<Error> failure = connection_->take_failure()) {
        note(*failure);
        job.fail(*std::move(failure));
    }
    if (!job.writes() || !connection_->in_transaction()) {
        return;
    }
    connection_->execute(job.failed() ? "ROLLBACK TO job; RELEASE job" : "RELEASE job");
    if (std::optional<Error> failure = connection_->take_failure()) {
        note(*failure);
        job.fail(*std::move(failure));
        roll_back();
    }
}

void Database::roll_back() {
    if (connection_->in_transaction()) {
        connection_->execute("ROLLBACK");
        static_cast<void>(connection_->take_failure());
    }
}

void Database::note(const Error& failure) {
    if (failure.code != ErrorCode::unavailable) {
        log::error("database_mistake", "{}", failure.message);
        return;
    }
    ++failures_;
    if (!failing_) {
        failing_ = true;
        log::warning("database_unavailable", "{}: {}", config_.path, failure.message);
    }
}

}  // namespace presence::sqlite
