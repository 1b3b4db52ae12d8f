#include "presence/stores/sqlite/database.h"
#include "presence/stores/sqlite/schema.h"

#include "contract/stores/sqlite_support.h"

#include <array>
#include <atomic>
#include <fstream>
#include <future>
#include <sys/stat.h>
#include <thread>

namespace presence::testing {

namespace {

using sqlite::Access;
using sqlite::Connection;
using sqlite::Database;
using sqlite::DatabaseConfig;

class SqliteDatabase : public ::testing::Test {
protected:
    static constexpr const char* kCreate =
        "CREATE TABLE numbers (number INTEGER PRIMARY KEY, text TEXT)";

    /// Writes one number, `bytes` long. `then_fail` makes the call fail after it wrote.
    static Task<Result<bool>> write(Database& database, Scheduler& home, std::int64_t number,
                                    std::size_t bytes = 1, bool then_fail = false) {
        return database.call<bool>(
            home, Access::write,
            [number, bytes, then_fail](Connection& connection) -> Result<bool> {
                auto statement = connection.use("INSERT INTO numbers (number, text) VALUES (?, ?)");
                statement.bind(number).bind(std::string(bytes, 'x'));
                statement.run();
                if (then_fail) {
                    return Error{ErrorCode::limit_exceeded, "as told", 0, 0};
                }
                return true;
            });
    }
    static Task<Result<std::int64_t>> count(Database& database, Scheduler& home) {
        return database.call<std::int64_t>(home, Access::read, [](Connection& connection) {
            auto statement = connection.use("SELECT count(*) FROM numbers");
            return statement.row() ? statement.integer(0) : -1;
        });
    }
    /// Holds up the worker until the promise is kept, so that calls gather in the queue.
    static Started<Result<bool>> hold_up(SqliteLife& life, std::promise<void>& release) {
        std::promise<void> begun;
        auto held = start_task(
            life.database().call<bool>(life.loop(), Access::read, [&](Connection& /*connection*/) {
                begun.set_value();
                release.get_future().wait();
                return true;
            }));
        begun.get_future().wait();
        return held;
    }

    TemporaryFolder folder_;
    const std::string path_ = folder_.file("test.db");
};

TEST_F(SqliteDatabase, OnlyTheOwnerCanReadTheFiles) {
    ::umask(0);
    SqliteLife life({.path = path_});
    ASSERT_TRUE(life.execute(kCreate, Access::write));
    for (const char* name : {"test.db", "test.db-wal", "test.db-shm"}) {
        struct stat status {};
        ASSERT_EQ(::stat(folder_.file(name).c_str(), &status), 0) << name;
        EXPECT_EQ(status.st_mode & 0777U, 0600U) << name;
    }
    ::umask(022);
}

TEST_F(SqliteDatabase, AnOpenFileIsMadePrivateAgain) {
    { const SqliteLife life({.path = path_}); }
    ASSERT_EQ(::chmod(path_.c_str(), 0644), 0);
    const SqliteLife life({.path = path_});
    struct stat status {};
    ASSERT_EQ(::stat(path_.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(SqliteDatabase, ANewFileGetsTheSchemaOfThisRelease) {
    { const SqliteLife life({.path = path_}); }
    OtherProgram other(path_);
    EXPECT_EQ(other.number("PRAGMA user_version"), sqlite::known_schema());
    EXPECT_EQ(other.number("SELECT count(*) FROM profiles"), 0);
}

TEST_F(SqliteDatabase, ASchemaOfANewerReleaseIsRefusedAndLeftAsItIs) {
    { const SqliteLife life({.path = path_}); }
    OtherProgram other(path_);
    other.execute("PRAGMA user_version = 1000; DROP TABLE profiles");
    const auto opened = Database::open({.path = path_});
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, ErrorCode::conflict);
    EXPECT_NE(opened.error().message.find("schema 1000"), std::string::npos)
        << opened.error().message;
    EXPECT_NE(opened.error().message.find(path_), std::string::npos) << opened.error().message;
    EXPECT_EQ(other.number("PRAGMA user_version"), 1000);
    EXPECT_EQ(other.number("SELECT count(*) FROM sqlite_schema WHERE name = 'profiles'"), 0);
}

TEST_F(SqliteDatabase, AStepThatFailsLeavesTheOldSchema) {
    OtherProgram other(path_);
    other.execute("CREATE TABLE journal (in_the_way INTEGER)");
    const auto opened = Database::open({.path = path_});
    ASSERT_FALSE(opened);
    EXPECT_EQ(other.number("PRAGMA user_version"), 0);
    EXPECT_EQ(other.number("SELECT count(*) FROM sqlite_schema WHERE name = 'profiles'"), 0);
}

TEST_F(SqliteDatabase, WhatIsNoDatabaseIsRefusedByName) {
    std::ofstream(path_) << std::string(10'000, 'x');
    const auto garbage = Database::open({.path = path_});
    ASSERT_FALSE(garbage);
    EXPECT_NE(garbage.error().message.find(path_), std::string::npos);
    const auto nowhere = Database::open({.path = folder_.file("no/such/folder.db")});
    ASSERT_FALSE(nowhere);
    EXPECT_EQ(nowhere.error().code, ErrorCode::unavailable);
    EXPECT_NE(nowhere.error().message.find("no/such/folder.db"), std::string::npos);
}

TEST_F(SqliteDatabase, NeighbouringWritesShareATransaction) {
    constexpr std::int64_t kWrites = 100;
    SqliteLife life({.path = path_, .group = 60});
    ASSERT_TRUE(life.execute(kCreate, Access::write));
    const std::uint64_t before = life.database().commits();
    std::promise<void> release;
    const auto held = hold_up(life, release);
    std::vector<Started<Result<bool>>> writes;
    for (std::int64_t i = 0; i < kWrites; ++i) {
        writes.push_back(start_task(write(life.database(), life.loop(), i)));
    }
    EXPECT_EQ(life.database().waiting(), kWrites);
    release.set_value();
    EXPECT_EQ(life.run(count(life.database(), life.loop())).value(), kWrites);
    EXPECT_EQ(life.database().commits() - before, 2U);
    for (const auto& each : writes) {
        EXPECT_TRUE((*each)->value());  // Answered before the read that came after.
    }
}

TEST_F(SqliteDatabase, OneFailureInAGroupLeavesNoTraceAndHarmsNoOther) {
    SqliteLife life({.path = path_});
    ASSERT_TRUE(life.execute(kCreate, Access::write));
    std::promise<void> release;
    const auto held = hold_up(life, release);
    const auto first = start_task(write(life.database(), life.loop(), 1));
    const auto refused = start_task(write(life.database(), life.loop(), 2, 1, true));
    const auto doubled = start_task(write(life.database(), life.loop(), 1));
    const auto last = start_task(write(life.database(), life.loop(), 3));
    release.set_value();
    EXPECT_EQ(life.run(count(life.database(), life.loop())).value(), 2);
    EXPECT_TRUE((*first)->has_value());
    EXPECT_EQ((*refused)->error().code, ErrorCode::limit_exceeded);
    EXPECT_EQ((*doubled)->error().code, ErrorCode::internal);
    EXPECT_TRUE((*last)->has_value());
}

TEST_F(SqliteDatabase, WhenTheTransactionIsLostEachCallIsTriedAlone) {
    SqliteLife life({.path = path_});
    ASSERT_TRUE(life.execute(kCreate, Access::write));
    std::promise<void> release;
    const auto held = hold_up(life, release);
    const auto first = start_task(write(life.database(), life.loop(), 1));
    const auto loses = start_task(
        life.database().call<bool>(life.loop(), Access::write, [](Connection& connection) {
            connection.execute("ROLLBACK");  // As SQLite does at some failures of the disk.
            return true;
        }));
    const auto last = start_task(write(life.database(), life.loop(), 2));
    release.set_value();
    EXPECT_EQ(life.run(count(life.database(), life.loop())).value(), 2);
    EXPECT_TRUE((*first)->has_value());
    EXPECT_EQ((*loses)->error().code, ErrorCode::unavailable);
    EXPECT_TRUE((*last)->has_value());
}

TEST_F(SqliteDatabase, CallsOverTheQueueAreRefusedAndTheOthersAreDone) {
    constexpr std::size_t kQueue = 10;
    SqliteLife life({.path = path_, .queue = kQueue});
    ASSERT_TRUE(life.execute(kCreate, Access::write));
    std::promise<void> release;
    const auto held = hold_up(life, release);
    std::vector<Started<Result<bool>>> writes;
    for (std::size_t i = 0; i < kQueue + 1; ++i) {
        writes.push_back(
            start_task(write(life.database(), life.loop(), static_cast<std::int64_t>(i))));
    }
    life.loop().run_ready();
    ASSERT_TRUE(writes.back()->has_value());
    EXPECT_EQ((*writes.back())->error().code, ErrorCode::unavailable);
    EXPECT_EQ((*writes.back())->error().limit, static_cast<std::int64_t>(kQueue));
    release.set_value();
    EXPECT_TRUE(life.loop().run_until([&] { return writes[kQueue - 1]->has_value(); }));
    EXPECT_EQ(life.run(count(life.database(), life.loop())).value(), kQueue);
}

TEST_F(SqliteDatabase, StoppingFinishesWhatWasHandedIn) {
    constexpr std::int64_t kWrites = 200;
    SqliteLife life({.path = path_});
    ASSERT_TRUE(life.execute(kCreate, Access::write));
    std::vector<Started<Result<bool>>> writes;
    for (std::int64_t i = 0; i < kWrites; ++i) {
        writes.push_back(start_task(write(life.database(), life.loop(), i)));
    }
    life.database().stop();
    EXPECT_EQ(life.run(write(life.database(), life.loop(), kWrites)).error().code,
              ErrorCode::unavailable);
    for (const auto& each : writes) {
        ASSERT_TRUE(each->has_value());
        EXPECT_TRUE((*each)->has_value());
    }
    OtherProgram other(path_);
    EXPECT_EQ(other.number("SELECT count(*) FROM numbers"), kWrites);
}

TEST_F(SqliteDatabase, TheCallsOfAThreadAreDoneAndAnsweredInTheirOrder) {
    constexpr std::int64_t kWrites = 200;
    SqliteLife life({.path = path_});
    ASSERT_TRUE(life.execute(kCreate, Access::write));
    std::vector<std::int64_t> order;
    const auto note = [&order](Task<Result<std::int64_t>> counted) -> Detached {
        Result<std::int64_t> result = co_await counted;
        order.push_back(result.value());
    };
    std::vector<Started<Result<bool>>> writes;
    for (std::int64_t i = 1; i <= kWrites; ++i) {
        writes.push_back(start_task(write(life.database(), life.loop(), i)));
        if (i % 3 == 0) {
            note(count(life.database(), life.loop()));
        }
    }
    ASSERT_TRUE(life.loop().run_until([&] { return order.size() == kWrites / 3; }));
    for (std::size_t i = 0; i < order.size(); ++i) {
        EXPECT_EQ(order[i], static_cast<std::int64_t>(i + 1) * 3);
    }
}

TEST_F(SqliteDatabase, ThreadsAreAnsweredEachOnItsOwn) {
    constexpr int kThreads = 4;
    constexpr std::int64_t kWrites = 200;
    SqliteLife life({.path = path_});
    ASSERT_TRUE(life.execute(kCreate, Access::write));
    std::atomic<int> done = 0;
    const auto work = [&](std::int64_t first) {
        LoopScheduler loop;
        const std::thread::id here = std::this_thread::get_id();
        for (std::int64_t i = 0; i < kWrites; ++i) {
            const Result<bool> written =
                run_until_complete(loop, write(life.database(), loop, first + i));
            done += written.has_value() && std::this_thread::get_id() == here ? 1 : 0;
        }
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
        threads.emplace_back(work, i * kWrites);
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(done, kThreads * kWrites);
    EXPECT_EQ(life.run(count(life.database(), life.loop())).value(), kThreads * kWrites);
}

TEST_F(SqliteDatabase, AConnectionThatWoreOutIsReplaced) {
    SqliteLife life({.path = path_});
    ASSERT_TRUE(life.execute(kCreate, Access::write));
    ASSERT_TRUE(life.execute("CREATE TEMP TABLE of_this_connection (x)", Access::write));
    const std::string nowhere = "ATTACH '" + folder_.file("no/such/folder.db") + "' AS other";
    const auto broken = life.execute(nowhere);
    ASSERT_FALSE(broken);
    EXPECT_EQ(broken.error().code, ErrorCode::unavailable);
    EXPECT_TRUE(life.run(write(life.database(), life.loop(), 1)));
    EXPECT_FALSE(life.execute("SELECT * FROM temp.of_this_connection"));
}

TEST_F(SqliteDatabase, ADatabaseThatCannotBeOpenedAgainIsTriedAtEachCall) {
    SqliteLife life({.path = path_});
    ASSERT_TRUE(life.execute(kCreate, Access::write));
    const std::string aside = folder_.file("aside.db");
    ASSERT_FALSE(life.execute("ATTACH '" + folder_.file("no/such/folder.db") + "' AS other"));
    std::filesystem::rename(path_, aside);
    std::filesystem::create_directory(path_);
    EXPECT_EQ(life.run(write(life.database(), life.loop(), 1)).error().code,
              ErrorCode::unavailable);
    EXPECT_EQ(life.run(count(life.database(), life.loop())).error().code, ErrorCode::unavailable);
    std::filesystem::remove(path_);
    std::filesystem::rename(aside, path_);
    EXPECT_TRUE(life.run(write(life.database(), life.loop(), 1)));
    EXPECT_EQ(life.run(count(life.database(), life.loop())).value(), 1);
}

}  // namespace

}  // namespace presence::testing
