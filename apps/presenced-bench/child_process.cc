#include "child_process.h"

#include "failure.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace presence::bench {

namespace {

bool set_core(int core) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    for (int each = 0; core == kAnyCore && each < CPU_SETSIZE; ++each) {
        CPU_SET(static_cast<std::size_t>(each), &cores);
    }
    if (core != kAnyCore) {
        CPU_SET(static_cast<std::size_t>(core), &cores);
    }
    return ::sched_setaffinity(0, sizeof cores, &cores) == 0;
}

/// Runs in the child, between fork and exec: system calls only.
[[noreturn]] void become(char* const* arguments, int core, int output, const char* log) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int errors = ::open(log, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);
    if (!set_core(core) || ::dup2(output, STDOUT_FILENO) < 0 || ::dup2(errors, STDERR_FILENO) < 0) {
        ::_exit(126);
    }
    ::execv(arguments[0], arguments);
    ::_exit(127);
}

/// The port of `ready http://HOST:PORT`, if `text` holds that line whole.
std::uint16_t port_in(const std::string& text) {
    const std::size_t start = text.find("ready http");
    const std::size_t end = text.find('\n', start == std::string::npos ? 0 : start);
    if (start == std::string::npos || end == std::string::npos) {
        return 0;
    }
    const std::size_t colon = text.rfind(':', end);
    std::uint16_t port = 0;
    std::from_chars(text.data() + colon + 1, text.data() + end, port);
    return port;
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "presenced-bench-XXXXXX");
    if (::mkdtemp(pattern.data()) == nullptr) {
        fail_system("mkdtemp");
    }
    path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

ChildProcess::ChildProcess(const std::vector<std::string>& arguments, int core,
                           const std::string& log)
    : program_(arguments.at(0)), log_(log) {
    std::vector<char*> pointers;
    for (const std::string& argument : arguments) {
        pointers.push_back(const_cast<char*>(argument.c_str()));  // NOLINT: execv's signature.
    }
    pointers.push_back(nullptr);
    std::array<int, 2> pipe{};
    if (::pipe2(pipe.data(), O_CLOEXEC) != 0) {
        fail_system("pipe2");
    }
    id_ = ::fork();
    if (id_ < 0) {
        fail_system("fork");
    }
    if (id_ == 0) {
        become(pointers.data(), core, pipe[1], log_.c_str());
    }
    ::close(pipe[1]);
    output_ = pipe[0];
}

ChildProcess::~ChildProcess() {
    if (std::uncaught_exceptions() > 0) {
        fmt::print(stderr, "log of {}, its end:\n{}\n", program_, log_tail());
    }
    ::kill(id_, SIGKILL);
    ::waitpid(id_, nullptr, 0);
    ::close(output_);
}

std::uint16_t ChildProcess::wait_ready(std::chrono::milliseconds timeout) {
    const auto give_up = std::chrono::steady_clock::now() + timeout;
    std::string said;
    while (std::chrono::steady_clock::now() < give_up) {
        pollfd readable{output_, POLLIN, 0};
        if (::poll(&readable, 1, 100) <= 0) {
            continue;
        }
        std::array<char, 4096> buffer{};
        const ssize_t size = ::read(output_, buffer.data(), buffer.size());
        if (size <= 0) {
            fail("{} ended before it was ready", program_);
        }
        said.append(buffer.data(), static_cast<std::size_t>(size));
        if (const std::uint16_t port = port_in(said); port != 0) {
            return port;
        }
    }
    fail("{} was not ready after {} ms", program_, timeout.count());
}

std::string ChildProcess::log_tail() const {
    std::ifstream file(log_);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    constexpr std::size_t kMost = 2'000;
    return text.substr(text.size() - std::min(text.size(), kMost));
}

void pin_to_core(int core) {
    if (!set_core(core)) {
        fail("cannot run on core {}: {}", core, std::strerror(errno));
    }
}

}  // namespace presence::bench
