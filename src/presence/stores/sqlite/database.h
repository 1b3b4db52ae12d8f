#pragma once

#include "presence/base/result.h"
#include "presence/base/scheduler.h"
#include "presence/base/task.h"
#include "presence/base/unique_function.h"
#include "presence/stores/sqlite/connection.h"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace presence::sqlite {

struct DatabaseConfig {
    std::string path;
    /// How long a call waits for another process that is writing, before it is `unavailable`.
    Millis busy_timeout{5'000};
    /// Calls waiting; over it they are refused with `unavailable`. Each is a few hundred bytes
    /// plus what it carries.
    std::size_t queue = 10'000;
    /// Most writes in one transaction: bounds how long the first of them waits for the last.
    std::size_t group = 500;
};

/// What a call does to the database.
enum class Access : std::uint8_t {
    read,
    write,          ///< Survives the end of this process, and of the machine within seconds.
    durable_write,  ///< On the disk before it completes. For what must never be taken back.
};

/// A SQLite file and the one thread that works on it, so that nobody else ever blocks.
///
/// Calls run in the order in which they were handed in. Neighbouring writes share a transaction,
/// each in a savepoint of its own: one that fails leaves no trace and harms no other; if the
/// transaction itself fails, each is tried alone. Neighbouring reads share a snapshot. A locked,
/// full or broken file makes calls fail with `unavailable`, and is tried again at the next call.
class Database {
public:
    /// Opens the file and brings its schema up to date. Blocks; for the start of the process.
    /// @retval ErrorCode::conflict     Written by a newer release.
    /// @retval ErrorCode::unavailable  Cannot be opened; the message names the path.
    [[nodiscard]] static Result<std::unique_ptr<Database>> open(DatabaseConfig config);
    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;
    ~Database() { stop(); }

    /// Finishes what was handed in, then closes the file. Later calls are `unavailable`. Blocks.
    void stop();

    /// Runs `work` on the database's thread inside a transaction, and completes on `home`, which
    /// must live until then. If `work` returns an error, or anything in it failed, all that it
    /// did is undone. It may be run again if the transaction failed, so it must not consume what
    /// it captured.
    template <class T>
    [[nodiscard]] Task<Result<T>> call(Scheduler& home, Access access,
                                       UniqueFunction<Result<T>(Connection&)> work) {
        Completion<Result<T>> completion([&](typename Completion<Result<T>>::Done done) {
            submit(std::make_unique<Call<T>>(home, access, std::move(work), std::move(done)));
        });
        Result<T> result = co_await completion;
        co_return result;
    }

    /// Calls waiting. Any thread.
    [[nodiscard]] std::size_t waiting() const;
    /// Write transactions committed so far. Any thread.
    [[nodiscard]] std::uint64_t commits() const { return commits_; }
    /// Times that the file was found locked, full or broken. Any thread.
    [[nodiscard]] std::uint64_t failures() const { return failures_; }
    /// Transactions of writes among them. Any thread.
    [[nodiscard]] std::uint64_t writes_refused() const { return writes_refused_; }

private:
    class Job {
    public:
        explicit Job(Access access) : access_(access) {}
        Job(const Job&) = delete;
        Job& operator=(const Job&) = delete;
        virtual ~Job() = default;
        [[nodiscard]] Access access() const { return access_; }
        [[nodiscard]] bool writes() const { return access_ != Access::read; }
        virtual void run(Connection& connection) = 0;
        virtual void fail(Error error) = 0;
        [[nodiscard]] virtual bool failed() const = 0;
        virtual void finish() = 0;  ///< Hands the result to the caller's thread.

    private:
        Access access_;
    };

    template <class T>
    class Call final : public Job {
    public:
        using Done = typename Completion<Result<T>>::Done;
        Call(Scheduler& home, Access access, UniqueFunction<Result<T>(Connection&)> work, Done done)
            : Job(access), home_(home), work_(std::move(work)), done_(std::move(done)) {}
        void run(Connection& connection) override { result_.emplace(work_(connection)); }
        void fail(Error error) override { result_.emplace(std::move(error)); }
        [[nodiscard]] bool failed() const override { return result_ && result_->has_error(); }
        void finish() override {
            home_.post([done = std::move(done_), result = std::move(*result_)]() mutable {
                done(std::move(result));
            });
        }

    private:
        Scheduler& home_;
        UniqueFunction<Result<T>(Connection&)> work_;
        Done done_;
        std::optional<Result<T>> result_;
    };

    using Jobs = std::vector<std::unique_ptr<Job>>;

    explicit Database(DatabaseConfig config, std::unique_ptr<Connection> connection);
    void submit(std::unique_ptr<Job> job);

    // All below runs on the worker.
    void work();
    [[nodiscard]] Jobs take_group();
    void run_group(Jobs& jobs);
    [[nodiscard]] bool ready();
    /// False: the transaction was lost, and with it what any of `jobs` did. Each has failed.
    [[nodiscard]] bool run_in_transaction(std::span<const std::unique_ptr<Job>> jobs);
    void run_in_savepoint(Job& job);
    void roll_back();
    void note(const Error& failure);

    const DatabaseConfig config_;
    std::unique_ptr<Connection> connection_;  ///< The worker's. Null: to be opened again.
    bool failing_ = false;                    ///< The worker's: for one log line each way.
    std::atomic<std::uint64_t> commits_ = 0;
    std::atomic<std::uint64_t> failures_ = 0;
    std::atomic<std::uint64_t> writes_refused_ = 0;

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::unique_ptr<Job>> queue_;
    bool stopping_ = false;
    std::thread worker_;
};

}  // namespace presence::sqlite
