#pragma once

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace presence::bench {

/// A run that cannot give a figure: something did not start, answered wrongly or closed. It ends
/// the program; destructors stop the children and remove their folders.
class BenchFailure : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> text, Args&&... args) {
    throw BenchFailure(fmt::format(text, std::forward<Args>(args)...));
}

/// For a system call that must not fail here; names it and says why it did.
[[noreturn]] inline void fail_system(const char* call) {
    throw BenchFailure(fmt::format("{}: {}", call, std::strerror(errno)));
}

}  // namespace presence::bench
