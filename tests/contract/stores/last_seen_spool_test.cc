// The spool of last-seen rows: its contract in memory and in a file, and what a file may suffer.

#include "presence/stores/memory/memory_spool.h"
#include "presence/stores/spool/file_spool.h"

#include "contract/last_seen_spool_contract.h"
#include "contract/stores/sqlite_support.h"

#include <fstream>
#include <iterator>
#include <optional>
#include <sys/stat.h>

namespace presence::testing {

namespace {

class MemoryAdapter {
public:
    LastSeenSpool& spool() { return *spool_; }
    template <class T>
    T run(Task<T> task) {
        return run_until_complete(std::move(task));
    }
    void restart() { spool_.emplace(state_); }
    void set_limit_reached() { state_.limit = state_.rows.size(); }

private:
    MemorySpoolState state_;
    std::optional<MemorySpool> spool_{state_};
};

class FileAdapter {
public:
    FileAdapter() { open(); }
    LastSeenSpool& spool() { return *spool_; }
    template <class T>
    T run(Task<T> task) {
        return run_until_complete(loop_, std::move(task));
    }
    void restart() { open(); }
    void set_limit_reached() {
        struct stat facts {};
        PRESENCE_ASSERT(::stat(path_.c_str(), &facts) == 0);
        limit_ = static_cast<std::uint64_t>(facts.st_size);
        open();
    }

private:
    void open() {
        spool_.reset();
        thread_.reset();
        auto opened = spool::SpoolFile::open({.path = path_, .limit = limit_});
        PRESENCE_ASSERT(opened.has_value());
        thread_.emplace(std::move(*opened));
        spool_.emplace(*thread_, loop_);
    }

    TemporaryFolder folder_;
    const std::string path_ = folder_.file("last_seen.spool");
    std::uint64_t limit_ = std::uint64_t{1} << 30;
    LoopScheduler loop_;
    std::optional<SpoolThread> thread_;
    std::optional<FileSpool> spool_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Memory, LastSeenSpoolContract, MemoryAdapter);
INSTANTIATE_TYPED_TEST_SUITE_P(File, LastSeenSpoolContract, FileAdapter);

class SpoolFileTest : public ::testing::Test {
protected:
    static std::vector<LastSeenRow> rows(std::int64_t count) {
        std::vector<LastSeenRow> made;
        for (std::int64_t i = 0; i < count; ++i) {
            made.push_back({UserId("u" + std::to_string(i)), WallTime::from_ms(i), Version{1},
                            Version{1}, WallTime::from_ms(i)});
        }
        return made;
    }
    std::unique_ptr<spool::SpoolFile> open() {
        auto opened = spool::SpoolFile::open({.path = path_});
        EXPECT_TRUE(opened);
        return std::move(*opened);
    }
    std::string contents() const {
        std::ifstream file(path_, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    void write(const std::string& bytes) const {
        std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
    }

    TemporaryFolder folder_;
    const std::string path_ = folder_.file("last_seen.spool");
};

TEST_F(SpoolFileTest, ItsSumIsThatOfZlib) {
    EXPECT_EQ(spool::crc32("123456789"), 0xCBF43926U);
    EXPECT_EQ(spool::crc32(""), 0U);
}

TEST_F(SpoolFileTest, CutOffAtAnyByteItKeepsTheRowsThatAreWholeAndGoesOn) {
    ASSERT_TRUE(open()->append(rows(3)));
    const std::string whole = contents();
    ASSERT_EQ(whole.size() % 3, 0U);
    const std::size_t one = whole.size() / 3;
    for (std::size_t size = 0; size <= whole.size(); ++size) {
        write(whole.substr(0, size));
        const auto file = open();
        ASSERT_EQ(file->rows(), size / one);
        EXPECT_EQ(file->spoiled_bytes(), size % one);
        ASSERT_TRUE(file->append(rows(1)));
        ASSERT_EQ(open()->rows(), size / one + 1);
    }
}

TEST_F(SpoolFileTest, ABitThatTurnedEndsItThereWithoutReadingNonsense) {
    ASSERT_TRUE(open()->append(rows(3)));
    const std::string whole = contents();
    const std::size_t one = whole.size() / 3;
    for (std::size_t at = one; at < 2 * one; ++at) {
        std::string spoiled = whole;
        spoiled[at] = static_cast<char>(spoiled[at] ^ 0x10);
        write(spoiled);
        const auto file = open();
        EXPECT_EQ(file->rows(), 1U) << at;
        EXPECT_EQ(file->oldest(10)->at(0).user, UserId("u0"));
    }
}

TEST_F(SpoolFileTest, IsForItsOwnerAloneAndEmptyOnceAllIsDropped) {
    const auto file = open();
    ASSERT_TRUE(file->append(rows(10)));
    struct stat facts {};
    ASSERT_EQ(::stat(path_.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777U, 0600U);
    EXPECT_TRUE(file->drop(4));
    EXPECT_TRUE(file->drop(6));
    EXPECT_TRUE(contents().empty());
}

TEST_F(SpoolFileTest, AFolderThatIsNotThereIsNamed) {
    const auto refused = spool::SpoolFile::open({.path = "/nowhere/at/all.spool"});
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("/nowhere/at/all.spool"), std::string::npos);
}

}  // namespace

}  // namespace presence::testing
