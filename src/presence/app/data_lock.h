#pragma once

#include "presence/base/result.h"

#include <string>

namespace presence::app {

/// Keeps a second process off the data of this one: two that both believed to be the whole system
/// would end each other's sessions. Held until destroyed, or until the process is gone, however.
class DataLock {
public:
    DataLock() = default;
    /// @retval ErrorCode::conflict     Another process holds it; the message names the file.
    /// @retval ErrorCode::unavailable  The file cannot be made.
    [[nodiscard]] static Result<DataLock> take(const std::string& path);
    DataLock(DataLock&& other) noexcept;
    DataLock& operator=(DataLock&& other) noexcept;
    ~DataLock();

private:
    explicit DataLock(int fd) : fd_(fd) {}
    int fd_ = -1;
};

}  // namespace presence::app
