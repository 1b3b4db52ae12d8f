#pragma once

#include <chrono>
#include <cstddef>
#include <sys/types.h>

namespace presence::bench {

/// CPU time of all threads of a process since its start, and how often they had nothing to do.
struct CpuTime {
    /// utime + stime of /proc/PID/stat before the kernel cuts it to ticks of 10 ms: read from the
    /// process's CPU clock.
    std::chrono::nanoseconds total{0};
    std::chrono::nanoseconds user{0};    ///< utime, in ticks and sampled: for the split only.
    std::chrono::nanoseconds system{0};  ///< stime, likewise.
    /// Times that a thread went to sleep for want of work. A wake-up costs as much as a heartbeat,
    /// so of two loops under one load the one that sleeps more often pays more.
    long long sleeps = 0;

    CpuTime operator-(const CpuTime& earlier) const {
        return {total - earlier.total, user - earlier.user, system - earlier.system,
                sleeps - earlier.sleeps};
    }
};

/// User memory of a process, in bytes; what the kernel holds for its sockets is not in it.
struct ProcessMemory {
    double resident = 0;       ///< RSS.
    double private_dirty = 0;  ///< Written by this process and nobody else: heap and stacks.
};

/// @throws BenchFailure  The process is gone.
[[nodiscard]] CpuTime cpu_time(pid_t process);
[[nodiscard]] ProcessMemory process_memory(pid_t process);

/// Waits until the process has stopped working, so that a phase includes what it left behind.
/// @throws BenchFailure  It is still busy after ten seconds.
void wait_until_quiet(pid_t process);

}  // namespace presence::bench
