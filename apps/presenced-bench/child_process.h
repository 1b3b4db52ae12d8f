#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

namespace presence::bench {

/// A temporary folder that goes when its owner goes.
class TemporaryFolder {
public:
    TemporaryFolder();
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    [[nodiscard]] const std::string& path() const noexcept { return path_; }

private:
    std::string path_;
};

/// For a process that the kernel may put where it likes.
inline constexpr int kAnyCore = -1;

/// A server process on one core or any, killed when its owner goes or when this process dies. If a
/// failure ends the run, the end of its log goes to standard error.
class ChildProcess {
public:
    /// Starts `arguments` (the first is the program's path) with standard error going to `log`.
    ChildProcess(const std::vector<std::string>& arguments, int core, const std::string& log);
    ~ChildProcess();
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;

    /// Waits for the line `ready http://HOST:PORT` on its standard output; gives the port.
    /// @throws BenchFailure  It ended or said nothing in time.
    [[nodiscard]] std::uint16_t wait_ready(std::chrono::milliseconds timeout);

    [[nodiscard]] pid_t id() const noexcept { return id_; }

private:
    [[nodiscard]] std::string log_tail() const;

    pid_t id_ = -1;
    int output_ = -1;
    std::string program_;
    std::string log_;
};

/// Puts this process on one core. @throws BenchFailure  There is no such core.
void pin_to_core(int core);

}  // namespace presence::bench
