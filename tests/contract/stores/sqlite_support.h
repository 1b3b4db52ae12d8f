#pragma once

#include "presence/stores/sqlite/database.h"
#include "presence/stores/sqlite/sqlite_journal.h"
#include "presence/stores/sqlite/sqlite_profile_store.h"

#include "support/loop_scheduler.h"
#include "support/run_task.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <memory>
#include <string>
#include <unistd.h>
#include <utility>

namespace presence::testing {

/// A folder that goes with the test.
class TemporaryFolder {
public:
    TemporaryFolder() {
        std::string name = (std::filesystem::temp_directory_path() / "presence-XXXXXX").string();
        PRESENCE_ASSERT(::mkdtemp(name.data()) != nullptr);
        path_ = name;
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    [[nodiscard]] std::string file(const char* name) const { return (path_ / name).string(); }

private:
    std::filesystem::path path_;
};

/// A plain connection beside ours: another program that uses the same file.
class OtherProgram {
public:
    explicit OtherProgram(const std::string& path) {
        PRESENCE_ASSERT(sqlite3_open(path.c_str(), &handle_) == SQLITE_OK);
    }
    OtherProgram(const OtherProgram&) = delete;
    OtherProgram& operator=(const OtherProgram&) = delete;
    ~OtherProgram() { sqlite3_close(handle_); }

    void execute(const char* sql) {
        const int code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
        EXPECT_EQ(code, SQLITE_OK) << sqlite3_errmsg(handle_) << ": " << sql;
    }
    /// The first column of the first row.
    std::int64_t number(const char* sql) {
        sqlite3_stmt* statement = nullptr;
        EXPECT_EQ(sqlite3_prepare_v2(handle_, sql, -1, &statement, nullptr), SQLITE_OK) << sql;
        EXPECT_EQ(sqlite3_step(statement), SQLITE_ROW) << sql;
        const std::int64_t result = sqlite3_column_int64(statement, 0);
        sqlite3_finalize(statement);
        return result;
    }

private:
    sqlite3* handle_ = nullptr;
};

/// One life of a process on a database file.
class SqliteLife {
public:
    explicit SqliteLife(sqlite::DatabaseConfig config) : config_(std::move(config)) { open(); }
    SqliteLife(const SqliteLife&) = delete;
    SqliteLife& operator=(const SqliteLife&) = delete;
    ~SqliteLife() { close(); }

    void reopen() {
        close();
        open();
    }
    /// Answers everything that was asked, too.
    void close() {
        database_.reset();
        loop_.run_ready();
    }

    sqlite::Database& database() { return *database_; }
    LoopScheduler& loop() { return loop_; }
    template <class T>
    T run(Task<T> task) {
        return run_until_complete(loop_, std::move(task));
    }
    /// Runs SQL on the database's own connection.
    Result<bool> execute(std::string sql, sqlite::Access access = sqlite::Access::read) {
        return run(database_->call<bool>(loop_, access,
                                         [sql = std::move(sql)](sqlite::Connection& connection) {
                                             connection.execute(sql.c_str());
                                             return true;
                                         }));
    }

private:
    void open() {
        auto opened = sqlite::Database::open(config_);
        PRESENCE_ASSERT(opened.has_value());
        database_ = std::move(*opened);
    }

    sqlite::DatabaseConfig config_;
    LoopScheduler loop_;
    std::unique_ptr<sqlite::Database> database_;
};

}  // namespace presence::testing
