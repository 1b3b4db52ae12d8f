#include "presence/app/data_lock.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <utility>

namespace presence::app {

Result<DataLock> DataLock::take(const std::string& path) {
    const int fd = ::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) {
        return Error{ErrorCode::unavailable,
                     fmt::format("{} cannot be made: {}", path, std::strerror(errno)), 0, 0};
    }
    DataLock lock(fd);
    if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
        return Error{ErrorCode::conflict,
                     fmt::format("data_dir is in use by another process, which holds {}", path), 0,
                     0};
    }
    return lock;
}

DataLock::DataLock(DataLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

DataLock& DataLock::operator=(DataLock&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
}

DataLock::~DataLock() {
    if (fd_ >= 0) {
        ::close(fd_);
    }
}

}  // namespace presence::app
