// Ends of presences while the database is away: into the spool, and out of it again.

#include "presence/core/last_seen_writer.h"
#include "presence/core/spool_drainer.h"
#include "presence/stores/memory/memory_profiles.h"
#include "presence/stores/memory/memory_spool.h"

#include "support/run_task.h"
#include "support/virtual_time.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace presence {
namespace {

using namespace std::chrono_literals;

/// Hears what the journal is told.
struct RecordingSink final : JournalSink {
    void note(JournalEntry entry) override { entries.push_back(std::move(entry)); }
    [[nodiscard]] bool full() const override { return false; }
    std::vector<JournalEntry> entries;
};

/// A database that takes all but one user.
struct PickyStore final : ProfileStore {
    Task<Result<std::vector<ProfileRef>>> load(std::vector<UserId> users) override {
        co_return std::vector<ProfileRef>(users.size());
    }
    Task<Result<bool>> save_declared(UserId, DeclaredState) override { co_return true; }
    Task<Result<ProfileChange>> save_privacy(UserId, PrivacySettings) override {
        co_return ProfileChange{};
    }
    Task<Result<ProfileChange>> change_contacts(UserId, UserSetChange, std::size_t) override {
        co_return ProfileChange{};
    }
    Task<Result<ProfileChange>> change_blocks(UserId, UserSetChange, std::size_t) override {
        co_return ProfileChange{};
    }
    Task<Result<ProfileChange>> revoke(UserId, WallTime) override { co_return ProfileChange{}; }
    Task<Result<bool>> save_last_seen(std::vector<LastSeenRow> rows) override {
        for (const LastSeenRow& row : rows) {
            if (row.user == UserId("poison")) {
                co_return Error{ErrorCode::internal, "never", 0, 0};
            }
        }
        for (const LastSeenRow& row : rows) {
            taken.push_back(row.user);
        }
        co_return true;
    }
    Task<Result<std::vector<UserId>>> erase(UserId, WallTime) override {
        co_return std::vector<UserId>();
    }
    std::uint64_t writes_refused() const override { return 0; }
    std::vector<UserId> taken;
};

struct SpoolTest : ::testing::Test {
    testing::VirtualClock clock;
    testing::VirtualScheduler scheduler{clock};
    MemoryProfiles profiles;
    MemoryProfileStore store{profiles, &scheduler};
    MemorySpoolState spooled;
    MemorySpool spool{spooled};
    Limits limits;
    CoreCounters counters;
    RecordingSink journal;
    LastSeenWriter writer{scheduler, store, limits, counters, &journal, &spool};

    static LastSeenRow row(const std::string& user, std::int64_t at) {
        return {UserId(user), WallTime::from_ms(at), Version{1}, Version{1}, WallTime::from_ms(at)};
    }
    static std::vector<JournalEntry> ending(const char* user) {
        std::vector<JournalEntry> ended;
        ended.push_back({UserId(user), SessionId("s"), std::nullopt});
        return ended;
    }
    std::optional<WallTime> stored(const char* user) {
        std::vector<UserId> one{UserId(user)};
        const auto loaded = testing::run_until_complete(scheduler, store.load(std::move(one)));
        return (*loaded)[0] ? (*loaded)[0]->last_seen : std::nullopt;
    }
};

TEST_F(SpoolTest, FO091WhileTheDatabaseIsAwayRowsAreSpooledAndOnlyThenForgotten) {
    profiles.set_unavailable(true);
    writer.note(row("a", 1000), ending("a"));
    EXPECT_TRUE(journal.entries.empty());
    scheduler.advance(1s);
    EXPECT_EQ(writer.queued(), 0U);
    EXPECT_EQ(spool.waiting(), 1U);
    EXPECT_EQ(journal.entries.size(), 1U);
    EXPECT_EQ(counters.last_seen_spooled, 1U);
    EXPECT_EQ(counters.last_seen_lost, 0U);
}

TEST_F(SpoolTest, WhatNeitherTakesStaysInMemoryAndIsNotForgotten) {
    profiles.set_unavailable(true);
    spooled.limit = 1;
    writer.note(row("a", 1000), ending("a"));
    writer.note(row("b", 1000), ending("b"));
    scheduler.advance(1s);
    EXPECT_EQ(writer.queued(), 2U);
    EXPECT_TRUE(journal.entries.empty());
    EXPECT_EQ(counters.spool_failures, 1U);
    profiles.set_unavailable(false);
    scheduler.advance(1s);
    EXPECT_EQ(writer.queued(), 0U);
    EXPECT_EQ(stored("b"), WallTime::from_ms(1000));
    EXPECT_EQ(journal.entries.size(), 2U);
}

TEST_F(SpoolTest, TheSpoolIsEmptiedOnceTheDatabaseIsBackAndNothingGoesBack) {
    SpoolDrainer drainer(scheduler, spool, store, counters);
    drainer.start();
    profiles.set_unavailable(true);
    constexpr int kUsers = 2'500;  // More than are written at once.
    for (int i = 0; i < kUsers; ++i) {
        writer.note(row("user " + std::to_string(i), 1000 + i));
    }
    scheduler.advance(5s);
    EXPECT_EQ(spool.waiting(), 2'500U);
    profiles.set_unavailable(false);
    writer.note(row("user 7", 9000));  // Newer than what waits in the spool.
    scheduler.advance(1s);
    EXPECT_EQ(spool.waiting(), 0U);
    EXPECT_EQ(stored("user 7"), WallTime::from_ms(9000));
    EXPECT_EQ(stored("user 0"), WallTime::from_ms(1000));
    EXPECT_EQ(stored("user 2499"), WallTime::from_ms(1000 + 2499));
}

TEST_F(SpoolTest, ARowOlderThanTheErasureOfItsUserDoesNotComeBack) {
    SpoolDrainer drainer(scheduler, spool, store, counters);
    profiles.set_unavailable(true);
    writer.note(row("a", 1000));
    scheduler.advance(1s);
    profiles.set_unavailable(false);
    ASSERT_TRUE(
        testing::run_until_complete(scheduler, store.erase(UserId("a"), WallTime::from_ms(2000))));
    EXPECT_TRUE(testing::run_until_complete(scheduler, drainer.drain()));
    EXPECT_EQ(stored("a"), std::nullopt);
}

TEST_F(SpoolTest, ARowThatTheDatabaseNeverTakesHoldsUpNoOther) {
    PickyStore picky;
    SpoolDrainer drainer(scheduler, spool, picky, counters);
    for (const char* user : {"a", "poison", "b"}) {
        spooled.rows.push_back(row(user, 1));
    }
    EXPECT_TRUE(testing::run_until_complete(scheduler, drainer.drain()));
    EXPECT_EQ(picky.taken, (std::vector<UserId>{UserId("a"), UserId("b")}));
    EXPECT_EQ(spool.waiting(), 0U);
    EXPECT_EQ(counters.last_seen_lost, 1U);
}

}  // namespace
}  // namespace presence
