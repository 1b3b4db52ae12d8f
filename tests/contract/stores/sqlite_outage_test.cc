// What happens to the database from outside: locks, a full disk, a kill.

#include "contract/stores/sqlite_support.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <functional>
#include <future>
#include <sys/wait.h>
#include <thread>
#include <vector>

namespace presence::testing {

namespace {

using sqlite::Access;
using sqlite::Connection;

constexpr WallTime kNow = WallTime::from_ms(1'735'689'600'000);

UserId numbered(std::int64_t number) {
    return UserId("user " + std::to_string(number));
}

LastSeenRow row(std::int64_t number, std::size_t name_bytes = 0) {
    return {UserId(numbered(number).text + std::string(name_bytes, 'x')), kNow + Millis{number},
            Version{1}, Version{1}, kNow};
}

/// A child process; ended at the end of the test if it has not ended by itself.
class ChildProcess {
public:
    /// `work` gets the writing end of a pipe and must not return to the test.
    explicit ChildProcess(const std::function<void(int)>& work) {
        int ends[2];
        PRESENCE_ASSERT(::pipe(ends) == 0);
        id_ = ::fork();
        PRESENCE_ASSERT(id_ >= 0);
        if (id_ == 0) {
            ::close(ends[0]);
            work(ends[1]);
            ::_exit(0);
        }
        ::close(ends[1]);
        reading_ = ends[0];
    }
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;
    ~ChildProcess() {
        kill();
        ::close(reading_);
    }

    /// Waits for the next number that the child wrote; -1: it has ended.
    std::int64_t next() const {
        std::int64_t number = -1;
        return ::read(reading_, &number, sizeof number) == sizeof number ? number : -1;
    }
    static void tell(int pipe, std::int64_t number) {
        PRESENCE_ASSERT(::write(pipe, &number, sizeof number) == sizeof number);
    }
    void kill() {
        if (id_ > 0) {
            ::kill(id_, SIGKILL);
            ::waitpid(id_, nullptr, 0);
            id_ = 0;
        }
    }

private:
    pid_t id_ = 0;
    int reading_ = -1;
};

class SqliteOutage : public ::testing::Test {
protected:
    TemporaryFolder folder_;
    const std::string path_ = folder_.file("test.db");
};

TEST_F(SqliteOutage, FO_092_AnotherProcessWritesForThreeSecondsAndNothingFails) {
    constexpr Millis kHeld{3000};
    constexpr std::int64_t kEnds = 300;
    constexpr std::int64_t kChanges = 30;
    { const SqliteLife life({.path = path_}); }
    const ChildProcess other([&](int pipe) {
        OtherProgram program(path_);
        program.execute("BEGIN IMMEDIATE; INSERT INTO profiles (user) VALUES ('of another')");
        ChildProcess::tell(pipe, 1);
        std::this_thread::sleep_for(kHeld);
        program.execute("COMMIT");
    });
    ASSERT_EQ(other.next(), 1);
    const auto begun = std::chrono::steady_clock::now();
    SqliteLife life({.path = path_});
    SqliteProfileStore store(life.database(), life.loop());
    // Reads come through while nothing of ours waits to be written.
    EXPECT_TRUE(life.run(store.load({numbered(0)})));
    EXPECT_LT(std::chrono::steady_clock::now() - begun, kHeld / 2);
    std::vector<Started<Result<bool>>> ends;
    std::vector<Started<Result<ProfileChange>>> changes;
    for (std::int64_t i = 0; i < kEnds; ++i) {
        ends.push_back(start_task(store.save_last_seen({row(i)})));
        if (i < kChanges) {
            changes.push_back(start_task(
                store.change_blocks(numbered(i), {{}, UserSet({numbered(i + 1)}), {}}, 10)));
        }
    }
    const auto loaded = life.run(store.load({numbered(0), numbered(kEnds - 1)}));
    EXPECT_GT(std::chrono::steady_clock::now() - begun, kHeld / 2);
    ASSERT_TRUE(loaded);
    ASSERT_NE(loaded->at(0), nullptr);
    ASSERT_NE(loaded->at(1), nullptr);
    EXPECT_EQ(loaded->at(0)->blocks.size(), 1U);
    EXPECT_EQ(loaded->at(1)->last_seen, kNow + Millis{kEnds - 1});
    for (const auto& end : ends) {
        EXPECT_TRUE((*end)->has_value());
    }
    for (const auto& change : changes) {
        EXPECT_TRUE((*change)->value().changed);
    }
}

TEST_F(SqliteOutage, FO_092_ALongReadOfAnotherProgramHoldsUpNobody) {
    SqliteLife life({.path = path_, .busy_timeout = Millis{20}});
    SqliteProfileStore store(life.database(), life.loop());
    OtherProgram other(path_);
    other.execute("BEGIN; SELECT count(*) FROM profiles");
    for (std::int64_t i = 0; i < 100; ++i) {
        ASSERT_TRUE(life.run(store.save_last_seen({row(i)})));
    }
    EXPECT_EQ(other.number("SELECT count(*) FROM profiles"), 0);  // Its snapshot.
    other.execute("COMMIT");
    EXPECT_EQ(other.number("SELECT count(*) FROM profiles"), 100);
}

TEST_F(SqliteOutage, FO_092_ALockThatLastsTooLongIsUnavailableAndHealsByItself) {
    SqliteLife life({.path = path_, .busy_timeout = Millis{20}});
    SqliteProfileStore store(life.database(), life.loop());
    OtherProgram other(path_);
    other.execute("BEGIN IMMEDIATE");
    EXPECT_EQ(life.run(store.save_last_seen({row(1)})).error().code, ErrorCode::unavailable);
    EXPECT_EQ(life.run(store.load({numbered(1)}))->at(0), nullptr);  // Reads go on.
    other.execute("COMMIT");
    EXPECT_TRUE(life.run(store.save_last_seen({row(1)})));
    EXPECT_NE(life.run(store.load({numbered(1)}))->at(0), nullptr);
}

TEST_F(SqliteOutage, FO_092_AFullDiskLeavesNothingHalfDoneAndHealsByItself) {
    constexpr std::int64_t kMost = 100'000;
    constexpr std::int64_t kBatch = 50;
    SqliteLife life({.path = path_});
    SqliteProfileStore store(life.database(), life.loop());
    ASSERT_TRUE(life.execute("PRAGMA max_page_count = 40"));
    std::int64_t written = 0;
    ErrorCode refused = ErrorCode::internal;
    while (written < kMost) {
        std::vector<LastSeenRow> rows;
        for (std::int64_t i = 0; i < kBatch; ++i) {
            rows.push_back(row(written + i, 100));
        }
        const auto saved = life.run(store.save_last_seen(rows));
        if (!saved) {
            refused = saved.error().code;
            break;
        }
        written += kBatch;
    }
    EXPECT_EQ(refused, ErrorCode::unavailable);
    EXPECT_EQ(life.database().failures(), 1U);
    EXPECT_GT(written, 0);
    OtherProgram other(path_);
    EXPECT_EQ(other.number("SELECT count(*) FROM profiles"), written);
    EXPECT_TRUE(life.run(store.load({row(0, 100).user}))->at(0) != nullptr);

    ASSERT_TRUE(life.execute("PRAGMA max_page_count = 10000"));
    EXPECT_TRUE(life.run(store.save_last_seen({row(written, 100)})));
    EXPECT_EQ(other.number("SELECT count(*) FROM profiles"), written + 1);
    EXPECT_EQ(other.number("SELECT integrity_check = 'ok' FROM pragma_integrity_check"), 1);
}

TEST_F(SqliteOutage, OneWriteTooLargeForTheDiskHarmsNoOtherOfItsGroup) {
    SqliteLife life({.path = path_});
    SqliteProfileStore store(life.database(), life.loop());
    ASSERT_TRUE(life.execute("PRAGMA max_page_count = 40"));
    std::promise<void> release;
    const auto held = start_task(
        life.database().call<bool>(life.loop(), Access::read, [&](Connection& /*connection*/) {
            release.get_future().wait();
            return true;
        }));
    std::vector<LastSeenRow> too_many;
    for (std::int64_t i = 1000; i < 9000; ++i) {
        too_many.push_back(row(i, 100));
    }
    const auto first = start_task(store.save_last_seen({row(1)}));
    const auto large = start_task(store.save_last_seen(too_many));
    const auto last = start_task(store.save_last_seen({row(2)}));
    release.set_value();
    const auto loaded = life.run(store.load({numbered(1), numbered(2), too_many[0].user}));
    EXPECT_TRUE((*first)->has_value());
    EXPECT_EQ((*large)->error().code, ErrorCode::unavailable);
    EXPECT_TRUE((*last)->has_value());
    EXPECT_NE(loaded->at(0), nullptr);
    EXPECT_NE(loaded->at(1), nullptr);
    EXPECT_EQ(loaded->at(2), nullptr);
}

/// Each batch sets the epoch of two sessions; after a kill both must stand at the same one, not
/// before the last that was answered.
TEST_F(SqliteOutage, AKillWhileWritingLosesNothingAnsweredAndLeavesNothingHalfDone) {
    std::int64_t answered = 0;
    std::uint64_t floor = 0;
    for (int life_number = 0; life_number < 5; ++life_number) {
        ChildProcess child([&](int pipe) {
            SqliteLife life({.path = path_});
            SqliteJournal journal(life.database(), life.loop());
            PRESENCE_ASSERT(life.run(journal.start(0)).has_value());
            for (std::int64_t epoch = answered + 1;; ++epoch) {
                std::vector<JournalEntry> entries;
                for (const char* id : {"first", "second"}) {
                    Session session;
                    session.id = SessionId(id);
                    session.epoch = Epoch{static_cast<std::uint64_t>(epoch)};
                    entries.push_back({numbered(1), session.id, session});
                }
                PRESENCE_ASSERT(
                    life.run(journal.write(entries, kNow + Millis{epoch}, 0)).has_value());
                ChildProcess::tell(pipe, epoch);
            }
        });
        const std::int64_t enough = answered + 20 + 13 * life_number;
        while (answered < enough) {
            const std::int64_t told = child.next();
            ASSERT_GT(told, 0);
            answered = told;
        }
        child.kill();
        for (std::int64_t told = child.next(); told > 0; told = child.next()) {
            answered = told;  // Still in the pipe.
        }
        SqliteLife life({.path = path_});
        SqliteJournal journal(life.database(), life.loop());
        const JournalStart start = life.run(journal.start(0)).value();
        ASSERT_EQ(start.open.size(), 2U);
        const auto epoch = static_cast<std::int64_t>(start.open[0].session.epoch.value);
        EXPECT_EQ(start.open[0].session.epoch, start.open[1].session.epoch);
        EXPECT_EQ(start.last_alive, kNow + Millis{epoch});
        EXPECT_GE(epoch, answered);
        EXPECT_LE(epoch, answered + 1);
        EXPECT_EQ(start.version_floor, floor + 2 * kJournalFloorStep);
        floor = start.version_floor;
        answered = epoch;
    }
}

}  // namespace

}  // namespace presence::testing
