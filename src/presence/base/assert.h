#pragma once

namespace presence {

[[noreturn]] void assertion_failed(const char* expression, const char* file, int line) noexcept;

}  // namespace presence

/// What cannot happen unless this program has a bug. On in every build: going on with a broken
/// invariant would tell people lies about each other.
#define PRESENCE_ASSERT(expression) \
    (static_cast<bool>(expression)  \
         ? static_cast<void>(0)     \
         : ::presence::assertion_failed(#expression, __FILE__, __LINE__))
