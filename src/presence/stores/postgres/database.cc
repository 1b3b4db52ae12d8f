#include "presence/stores/postgres/database.h"

#include "presence/base/backoff.h"
#include "presence/base/log.h"
#include "presence/stores/postgres/profile_rows.h"
#include "presence/stores/postgres/schema.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <span>

namespace presence::postgres {

namespace {

constexpr std::int64_t kRetryAfterMs = 1000;

Error unavailable(std::string message) {
    return {ErrorCode::unavailable, std::move(message), kRetryAfterMs, 0};
}

/// What callers hear of a failure: the server's own words, which name places, are for the log.
Error told(const Error& failure) {
    return {failure.code,
            failure.code == ErrorCode::unavailable ? "the database does not answer"
                                                   : "the database did not take it",
            failure.retry_after_ms, failure.limit};
}

}  // namespace

/// A read of profiles; several become one statement.
class Database::Load final : public Call<std::vector<ProfileRef>> {
public:
    Load(Scheduler& home, std::vector<UserId> users, Done done)
        : Call(home, Durability::as_configured, nullptr, std::move(done)),
          users_(std::move(users)) {}
    [[nodiscard]] Load* as_load() override { return this; }
    void run(Connection& connection) override {
        succeed(in_order(load_profiles(connection, users_)));
    }
    void take(const ProfilesByUser& found) { succeed(in_order(found)); }
    [[nodiscard]] const std::vector<UserId>& users() const { return users_; }

private:
    [[nodiscard]] std::vector<ProfileRef> in_order(const ProfilesByUser& found) const {
        std::vector<ProfileRef> profiles;
        profiles.reserve(users_.size());
        for (const UserId& user : users_) {
            const auto one = found.find(user);
            profiles.push_back(one == found.end() ? nullptr : one->second);
        }
        return profiles;
    }

    std::vector<UserId> users_;
};

Database::Database(DatabaseConfig config)
    : config_(std::move(config)), place_(place_of(config_.connection.url)) {
    for (std::size_t i = 0; i < config_.connections; ++i) {
        workers_.push_back(std::make_unique<Worker>());
    }
    for (std::size_t i = 0; i < workers_.size(); ++i) {
        workers_[i]->thread = std::thread([this, i] { work(i); });
    }
}

void Database::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
    for (const auto& worker : workers_) {
        if (worker->thread.joinable()) {
            worker->thread.join();
        }
    }
    fail_all(unavailable("the database is closed"));
}

std::size_t Database::waiting() const {
    const std::lock_guard lock(mutex_);
    return queue_.size();
}

Task<Result<std::vector<ProfileRef>>> Database::load(Scheduler& home, std::vector<UserId> users) {
    using Answer = Completion<Result<std::vector<ProfileRef>>>;
    Answer completion([&](Answer::Done done) {
        submit(std::make_unique<Load>(home, std::move(users), std::move(done)));
    });
    Result<std::vector<ProfileRef>> result = co_await completion;
    co_return result;
}

void Database::submit(std::unique_ptr<Job> job) {
    ++counters_.calls;
    const char* refusal = nullptr;
    {
        const std::lock_guard lock(mutex_);
        if (stopping_) {
            refusal = "the database is closed";
        } else if (away_) {
            refusal = "the database is away";
        } else if (queue_.size() >= config_.queue) {
            refusal = "too many calls wait for the database";
            ++counters_.refused;
        } else {
            queue_.push_back(std::move(job));
        }
    }
    if (refusal == nullptr) {
        changed_.notify_all();  // One alone might be a worker that has no connection.
        return;
    }
    job->fail(unavailable(refusal));
    job->finish();
}

void Database::work(std::size_t index) {
    Worker& worker = *workers_[index];
    while (wait_for_work(index)) {
        if (worker.connection && !worker.connection->usable()) {
            disconnect(worker);
        }
        if (!worker.connection) {
            connect(worker);
            continue;
        }
        Jobs jobs = take_jobs();
        if (jobs.empty()) {  // Another worker was quicker, or there was nothing to do for long.
            look_after(worker);
            continue;
        }
        worker.look_at = clock_.now() + config_.look_every;
        if (!run(*worker.connection, jobs) && put_back(jobs)) {
            continue;
        }
        for (const std::unique_ptr<Job>& job : jobs) {
            job->finish();
        }
    }
    if (worker.connection) {
        disconnect(worker);
    }
}

void Database::look_after(Worker& worker) {
    const MonoTime now = clock_.now();
    if (now < worker.look_at) {
        return;
    }
    worker.look_at = now + config_.look_every;
    static_cast<void>(worker.connection->run("SELECT 1"));
    if (const std::optional<Error> failure = worker.connection->take_failure()) {
        note(*failure);
        disconnect(worker);
    }
}

/// The first worker connects as soon as it may and looks for a server that is away; the others
/// follow when there is more to do than those who are connected have taken.
bool Database::wait_for_work(std::size_t index) {
    Worker& worker = *workers_[index];
    std::unique_lock lock(mutex_);
    while (true) {
        if (!queue_.empty() && worker.connection) {
            return true;
        }
        if (stopping_) {
            // Whoever is connected finishes what waits. Where nobody is yet, the first worker tries
            // once: what was handed in before it came about is not refused for that.
            return index == 0 && !queue_.empty() && connected_ == 0 && !away_;
        }
        const bool may_connect =
            !worker.connection && (index == 0 || (connected_ > 0 && !queue_.empty()));
        const MonoTime now = clock_.now();
        if (may_connect && now >= worker.retry_at) {
            return true;
        }
        if (worker.connection && now >= worker.look_at) {
            return true;
        }
        if (may_connect || worker.connection) {
            changed_.wait_for(lock, (may_connect ? worker.retry_at : worker.look_at) - now);
        } else {
            changed_.wait(lock);
        }
    }
}

Result<std::unique_ptr<Connection>> Database::open_connection() {
    Result<std::unique_ptr<Connection>> opened = Connection::open(config_.connection);
    if (!opened) {
        return opened;
    }
    // Whoever restored the database may have put back an empty or an older one.
    Result<std::int64_t> found = migrate(**opened);
    if (!found) {
        return found.error();
    }
    if (*found < known_schema()) {
        log::info("database_migrated", "{} from schema {} to {}", place_, *found, known_schema());
    }
    return opened;
}

void Database::connect(Worker& worker) {
    Result<std::unique_ptr<Connection>> opened = open_connection();
    if (opened) {
        ++counters_.connects;
        worker.failed_attempts = 0;
        {
            const std::lock_guard lock(mutex_);
            worker.connection = std::move(*opened);
            worker.look_at = clock_.now() + config_.look_every;
            away_ = false;
            ++connected_;
        }
        note_success();
        changed_.notify_all();
        return;
    }
    ++counters_.connect_failures;
    note(opened.error());
    ++worker.failed_attempts;
    worker.retry_at =
        clock_.now() + config_.retry_first +
        backoff(worker.random, worker.failed_attempts, config_.retry_first, config_.retry_most);
    {
        const std::lock_guard lock(mutex_);
        if (connected_ > 0) {
            return;  // Others work on.
        }
        away_ = true;
    }
    fail_all(opened.error());
}

void Database::disconnect(Worker& worker) {
    std::unique_ptr<Connection> closing;
    const std::lock_guard lock(mutex_);
    closing = std::move(worker.connection);
    worker.retry_at = clock_.now();
    --connected_;
}

/// The job at the head of the queue, and if that reads profiles, its neighbours that do so too.
Database::Jobs Database::take_jobs() {
    const std::lock_guard lock(mutex_);
    Jobs jobs;
    std::size_t users = 0;
    while (!queue_.empty()) {
        Load* const load = queue_.front()->as_load();
        users += load == nullptr ? 0 : load->users().size();
        if (!jobs.empty() && (load == nullptr || users > config_.users_in_a_read)) {
            break;
        }
        jobs.push_back(std::move(queue_.front()));
        queue_.pop_front();
        if (load == nullptr) {
            break;
        }
    }
    return jobs;
}

bool Database::put_back(Jobs& jobs) {
    const std::lock_guard lock(mutex_);
    for (const std::unique_ptr<Job>& job : jobs) {
        if (stopping_ || !job->note_put_back()) {
            return false;
        }
    }
    counters_.put_back += jobs.size();
    queue_.insert(queue_.begin(), std::make_move_iterator(jobs.begin()),
                  std::make_move_iterator(jobs.end()));
    return true;
}

bool Database::run(Connection& connection, Jobs& jobs) {
    return jobs.front()->as_load() != nullptr ? run_reads(connection, jobs)
                                              : run_in_transaction(connection, *jobs.front());
}

bool Database::run_reads(Connection& connection, Jobs& jobs) {
    std::vector<UserId> users;
    for (const std::unique_ptr<Job>& job : jobs) {
        const std::vector<UserId>& asked = job->as_load()->users();
        users.insert(users.end(), asked.begin(), asked.end());
    }
    ++counters_.statements_of_reads;
    const ProfilesByUser found = load_profiles(connection, users);
    const std::optional<Error> failure = connection.take_failure();
    if (failure) {
        note(*failure);
    } else {
        note_success();
    }
    for (const std::unique_ptr<Job>& job : jobs) {
        if (failure) {
            job->fail(told(*failure));
        } else {
            job->as_load()->take(found);
        }
    }
    return !failure || connection.usable();
}

bool Database::run_in_transaction(Connection& connection, Job& job) {
    constexpr int kMostRuns = 4;
    for (int run = 1;; ++run) {
        connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE");
        const bool begun = !connection.failed();
        if (job.durability() == Durability::on_disk) {
            // Only raised: what is stricter than `on` stays, and so does `local`.
            static_cast<void>(
                connection.run("SELECT set_config('synchronous_commit', 'on', true) "
                               "WHERE current_setting('synchronous_commit') = 'off'"));
        }
        if (!connection.failed()) {
            job.run(connection);
        }
        const bool undo = connection.failed() || job.failed();
        if (!undo) {
            connection.execute("COMMIT");
        }
        const std::optional<Error> failure = connection.take_failure();
        if (undo || failure) {
            connection.execute("ROLLBACK");
            static_cast<void>(connection.take_failure());
        }
        if (!failure) {
            note_success();
            return true;
        }
        if (!connection.worth_repeating() || run == kMostRuns) {
            note(*failure);
            counters_.writes_refused += failure->code == ErrorCode::unavailable ? 1U : 0U;
            job.fail(told(*failure));
            return begun || connection.usable();
        }
        ++counters_.repeated;
    }
}

void Database::fail_all(const Error& error) {
    std::deque<std::unique_ptr<Job>> waiting;
    {
        const std::lock_guard lock(mutex_);
        waiting.swap(queue_);
    }
    for (const std::unique_ptr<Job>& job : waiting) {
        job->fail(told(error));
        job->finish();
    }
}

void Database::note(const Error& failure) {
    if (failure.code != ErrorCode::unavailable) {
        log::error("database_mistake", "{}", failure.message);
        return;
    }
    ++counters_.failures;
    if (!failing_.exchange(true)) {
        log::warning("database_unavailable", "{}: {}", place_, failure.message);
    }
}

void Database::note_success() {
    if (failing_ && failing_.exchange(false)) {
        log::warning("database_back", "{} works again", place_);
    }
}

}  // namespace presence::postgres
