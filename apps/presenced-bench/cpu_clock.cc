#include "cpu_clock.h"

#include "failure.h"

#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>

namespace presence::bench {

namespace {

using namespace std::chrono_literals;

std::chrono::nanoseconds clock_of(pid_t process) {
    clockid_t clock{};
    timespec now{};
    if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &now) != 0) {
        fail("process {} is gone", process);
    }
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

std::chrono::nanoseconds ticks(long long count) {
    return std::chrono::nanoseconds(count * (1'000'000'000LL / ::sysconf(_SC_CLK_TCK)));
}

long long sleeps_of(pid_t process) {
    constexpr std::string_view kField = "voluntary_ctxt_switches:";
    std::error_code gone;
    long long sleeps = 0;
    for (const auto& thread :
         std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process), gone)) {
        std::ifstream file(thread.path() / "status");
        std::string line;
        while (std::getline(file, line)) {
            if (line.starts_with(kField)) {
                sleeps += std::stoll(line.substr(kField.size()));
            }
        }
    }
    return sleeps;
}

}  // namespace

CpuTime cpu_time(pid_t process) {
    std::ifstream file(fmt::format("/proc/{}/stat", process));
    std::string line;
    std::getline(file, line);
    // The program's name, in brackets, may hold blanks; utime and stime are fields 14 and 15.
    const std::size_t name_end = line.rfind(')');
    if (name_end == std::string::npos) {
        fail("process {} is gone", process);
    }
    std::istringstream fields(line.substr(name_end + 1));
    std::string skipped;
    for (int field = 3; field < 14; ++field) {
        fields >> skipped;
    }
    long long user = 0;
    long long system = 0;
    fields >> user >> system;
    return {clock_of(process), ticks(user), ticks(system), sleeps_of(process)};
}

ProcessMemory process_memory(pid_t process) {
    std::ifstream file(fmt::format("/proc/{}/smaps_rollup", process));
    ProcessMemory memory;
    std::string line;
    while (std::getline(file, line)) {
        std::istringstream fields(line);
        std::string name;
        double kibibytes = 0;
        fields >> name >> kibibytes;
        if (name == "Rss:") {
            memory.resident = kibibytes * 1024;
        } else if (name == "Private_Dirty:") {
            memory.private_dirty = kibibytes * 1024;
        }
    }
    if (memory.resident == 0) {
        fail("cannot read the memory of process {}", process);
    }
    return memory;
}

void wait_until_quiet(pid_t process) {
    const auto give_up = std::chrono::steady_clock::now() + 10s;
    std::chrono::nanoseconds before = clock_of(process);
    while (std::chrono::steady_clock::now() < give_up) {
        std::this_thread::sleep_for(10ms);
        const std::chrono::nanoseconds now = clock_of(process);
        if (now - before < 200us) {
            return;
        }
        before = now;
    }
    fail("process {} cannot keep up: still busy ten seconds after the load ended", process);
}

}  // namespace presence::bench
