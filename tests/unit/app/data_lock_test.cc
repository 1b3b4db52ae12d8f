#include "presence/app/data_lock.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <unistd.h>

namespace presence::app {
namespace {

std::string lock_path() {
    return (std::filesystem::temp_directory_path() /
            ("presenced-lock-" + std::to_string(::getpid())))
        .string();
}

TEST(DataLock, ASecondTakerIsRefusedUntilTheFirstIsGone) {
    const std::string path = lock_path();
    {
        Result<DataLock> first = DataLock::take(path);
        ASSERT_TRUE(first);
        const Result<DataLock> second = DataLock::take(path);
        ASSERT_FALSE(second);
        EXPECT_EQ(second.error().code, ErrorCode::conflict);
        EXPECT_NE(second.error().message.find(path), std::string::npos);
    }
    EXPECT_TRUE(DataLock::take(path));
    std::filesystem::remove(path);
}

TEST(DataLock, AFolderThatIsNotThereIsSaidByName) {
    const Result<DataLock> lock = DataLock::take("/nowhere/presenced.lock");
    ASSERT_FALSE(lock);
    EXPECT_EQ(lock.error().code, ErrorCode::unavailable);
    EXPECT_NE(lock.error().message.find("/nowhere/presenced.lock"), std::string::npos);
}

}  // namespace
}  // namespace presence::app
