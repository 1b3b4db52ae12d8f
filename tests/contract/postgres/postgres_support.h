#pragma once

#include "presence/stores/postgres/database.h"
#include "presence/stores/postgres/postgres_profile_store.h"

#include "support/loop_scheduler.h"
#include "support/run_task.h"

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <utility>

namespace presence::testing {

/// A real PostgreSQL server of our own: in a temporary folder, under a user without rights where
/// the tests run as root, on a Unix socket in that folder. Gone with this object, or with the
/// process if that is killed.
class PostgresServer {
public:
    PostgresServer();
    PostgresServer(const PostgresServer&) = delete;
    PostgresServer& operator=(const PostgresServer&) = delete;
    ~PostgresServer();

    /// One that all tests of this program share, made when it is first asked for. For tests that
    /// leave it alone.
    static PostgresServer& shared();

    void start();
    /// As an operator would, with all clients thrown out; or as a crash would.
    void stop();
    void kill();

    /// A new, empty database; gives its URL.
    std::string create_database(std::string_view options = "");
    /// The same with a name of one's own and without making it.
    [[nodiscard]] std::string url(std::string_view name) const;

private:
    void execute(const std::string& sql);
    [[nodiscard]] bool answers() const;

    std::filesystem::path folder_;
    pid_t process_ = 0;
    int databases_ = 0;
};

/// A plain connection beside ours: another program on the same database.
class OtherClient {
public:
    explicit OtherClient(const std::string& url);
    void execute(const char* sql);
    /// The first column of the first row, which must be a bigint.
    std::int64_t number(const char* sql);
    postgres::Connection& connection() { return *connection_; }

private:
    std::unique_ptr<postgres::Connection> connection_;
};

/// One life of a process on a database.
class PostgresLife {
public:
    explicit PostgresLife(postgres::DatabaseConfig config) : config_(std::move(config)) {
        database_ = std::make_unique<postgres::Database>(config_);
    }
    PostgresLife(const PostgresLife&) = delete;
    PostgresLife& operator=(const PostgresLife&) = delete;
    ~PostgresLife() { close(); }

    void reopen() {
        close();
        database_ = std::make_unique<postgres::Database>(config_);
    }
    /// Answers everything that was asked, too.
    void close() {
        database_.reset();
        loop_.run_ready();
    }

    postgres::Database& database() { return *database_; }
    LoopScheduler& loop() { return loop_; }
    template <class T>
    T run(Task<T> task) {
        return run_until_complete(loop_, std::move(task));
    }

private:
    postgres::DatabaseConfig config_;
    LoopScheduler loop_;
    std::unique_ptr<postgres::Database> database_;
};

}  // namespace presence::testing
