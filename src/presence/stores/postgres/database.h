#pragma once

#include "presence/base/clock.h"
#include "presence/base/random.h"
#include "presence/base/result.h"
#include "presence/base/scheduler.h"
#include "presence/base/task.h"
#include "presence/base/unique_function.h"
#include "presence/ports/profile_store.h"
#include "presence/stores/postgres/connection.h"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace presence::postgres {

struct DatabaseConfig {
    ConnectionConfig connection;
    /// Connections, each with a thread of its own. Profiles are read by many in one statement and
    /// ends of presences written likewise, so that a few are enough.
    std::size_t connections = 4;
    /// Calls waiting; over it they are refused with `unavailable`. Each is a few hundred bytes
    /// plus what it carries.
    std::size_t queue = 10'000;
    /// Most users in one statement that reads profiles: bounds how long the first of those that
    /// asked waits for the last.
    std::size_t users_in_a_read = 2'000;
    /// Waits between attempts to connect grow from the first to the second of these.
    Millis retry_first{100};
    Millis retry_most{2'000};
    /// A connection that had nothing to do for that long is asked whether the server is still
    /// there.
    Millis look_every{5'000};
};

/// How the transaction of a call ends.
enum class Durability : std::uint8_t {
    as_configured,  ///< By `synchronous_commit` of the server, the database or the role.
    on_disk,        ///< On the server's disk in any case. For what must never be taken back.
};

/// A PostgreSQL database and the few threads that work on it, so that nobody else ever blocks.
///
/// Calls are taken up in the order in which they were handed in, but on several connections, so
/// one may overtake another: who needs an order waits for the first. A server that is away makes
/// calls fail with `unavailable` at once; it is looked for in the background, with growing waits,
/// and nothing else needs to be done when it is back.
class Database {
public:
    /// Begins to connect and returns at once: the server may come up later than we do.
    explicit Database(DatabaseConfig config);
    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;
    ~Database() { stop(); }

    /// Finishes what was handed in, as far as the server is there, then closes the connections.
    /// Later calls are `unavailable`. Blocks.
    void stop();

    /// Runs `work` on a thread of the database's inside a transaction, and completes on `home`,
    /// which must live until then. If `work` returns an error, or anything in it failed, all that
    /// it did is undone. It is run again after a deadlock, so it must not consume what it captured.
    template <class T>
    [[nodiscard]] Task<Result<T>> call(Scheduler& home, Durability durability,
                                       UniqueFunction<Result<T>(Connection&)> work) {
        Completion<Result<T>> completion([&](typename Completion<Result<T>>::Done done) {
            submit(std::make_unique<Call<T>>(home, durability, std::move(work), std::move(done)));
        });
        Result<T> result = co_await completion;
        co_return result;
    }

    /// Reads profiles, together with neighbouring reads in one statement.
    [[nodiscard]] Task<Result<std::vector<ProfileRef>>> load(Scheduler& home,
                                                             std::vector<UserId> users);

    // Any thread.
    [[nodiscard]] std::size_t waiting() const;
    /// The server answered last time.
    [[nodiscard]] bool connected() const { return connected_ > 0; }
    struct Counters {
        std::atomic<std::uint64_t> calls = 0;
        std::atomic<std::uint64_t> statements_of_reads = 0;  ///< Each may serve many reads.
        std::atomic<std::uint64_t> failures = 0;        ///< Calls that the server did not take.
        std::atomic<std::uint64_t> writes_refused = 0;  ///< Transactions among them.
        std::atomic<std::uint64_t> refused = 0;         ///< Calls over the queue's limit.
        std::atomic<std::uint64_t> repeated = 0;  ///< Transactions run again after a deadlock.
        std::atomic<std::uint64_t> put_back = 0;  ///< Calls moved to another connection.
        std::atomic<std::uint64_t> connects = 0;  ///< Connections that came about.
        std::atomic<std::uint64_t> connect_failures = 0;
    };
    [[nodiscard]] const Counters& counters() const { return counters_; }

private:
    class Job;
    template <class T>
    class Call;
    class Load;
    using Jobs = std::vector<std::unique_ptr<Job>>;

    struct Worker {
        std::unique_ptr<Connection> connection;
        MonoTime look_at;  ///< Idle until then, it is looked after.
        MonoTime retry_at;
        int failed_attempts = 0;
        SystemRandom random;
        std::thread thread;
    };

    void submit(std::unique_ptr<Job> job);

    // All below runs on the workers.
    void work(std::size_t index);
    /// Asks the server for nothing, so that one that has gone is known to be before anybody needs
    /// it.
    void look_after(Worker& worker);
    /// Waits for something to do, or to look after. False: there is nothing and there never will
    /// be.
    [[nodiscard]] bool wait_for_work(std::size_t index);
    void connect(Worker& worker);
    [[nodiscard]] Result<std::unique_ptr<Connection>> open_connection();
    void disconnect(Worker& worker);
    [[nodiscard]] Jobs take_jobs();
    // False: the connection was lost before anything of it was done; it has failed so far.
    [[nodiscard]] bool run(Connection& connection, Jobs& jobs);
    [[nodiscard]] bool run_reads(Connection& connection, Jobs& jobs);
    [[nodiscard]] bool run_in_transaction(Connection& connection, Job& job);
    /// Puts them to the head of the queue, for another connection. False: they were there before.
    [[nodiscard]] bool put_back(Jobs& jobs);
    void fail_all(const Error& error);
    void note(const Error& failure);
    void note_success();

    const DatabaseConfig config_;
    const std::string place_;
    const SystemClock clock_;
    Counters counters_;
    std::atomic<std::size_t> connected_ = 0;
    std::atomic<bool> failing_ = false;  ///< For one log line each way.

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::unique_ptr<Job>> queue_;
    bool away_ = false;  ///< The last attempt to connect failed, and nobody is connected.
    bool stopping_ = false;
    std::vector<std::unique_ptr<Worker>> workers_;
};

class Database::Job {
public:
    explicit Job(Durability durability) : durability_(durability) {}
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;
    virtual ~Job() = default;
    [[nodiscard]] Durability durability() const { return durability_; }
    /// True: for the first time.
    [[nodiscard]] bool note_put_back() { return !std::exchange(was_put_back_, true); }
    /// Not null: a read of profiles.
    [[nodiscard]] virtual Load* as_load() { return nullptr; }
    virtual void run(Connection& connection) = 0;
    virtual void fail(Error error) = 0;
    [[nodiscard]] virtual bool failed() const = 0;
    virtual void finish() = 0;  ///< Hands the result to the caller's thread.

private:
    Durability durability_;
    bool was_put_back_ = false;
};

template <class T>
class Database::Call : public Job {
public:
    using Done = typename Completion<Result<T>>::Done;
    using Work = UniqueFunction<Result<T>(Connection&)>;
    Call(Scheduler& home, Durability durability, Work work, Done done)
        : Job(durability), home_(home), work_(std::move(work)), done_(std::move(done)) {}
    void run(Connection& connection) override { result_.emplace(work_(connection)); }
    void fail(Error error) override { result_.emplace(std::move(error)); }
    [[nodiscard]] bool failed() const override { return result_ && result_->has_error(); }
    void finish() override {
        home_.post([done = std::move(done_), result = std::move(*result_)]() mutable {
            done(std::move(result));
        });
    }

protected:
    void succeed(T value) { result_.emplace(std::move(value)); }

private:
    Scheduler& home_;
    Work work_;
    Done done_;
    std::optional<Result<T>> result_;
};

}  // namespace presence::postgres
