#pragma once

#include "presence/base/time.h"
#include "presence/base/unique_function.h"

#include <cstdint>

namespace presence {

/// Runs work on one thread, now or later: a loop in production, virtual time in tests.
///
/// Work posted or falling due at the same moment runs in the order in which it was handed in.
/// `post` may be called from any thread, the rest on the owner's thread only.
class Scheduler {
public:
    using Work = UniqueFunction<void()>;

    /// Names one pending timer. 0 names none.
    struct TimerId {
        std::uint64_t value = 0;
        explicit operator bool() const noexcept { return value != 0; }
    };

    virtual ~Scheduler() = default;

    /// Runs `work` on this scheduler's thread, never from within this call.
    virtual void post(Work work) = 0;

    /// Runs `work` once, `delay` from now. A delay of zero or less means: as soon as possible.
    virtual TimerId after(Millis delay, Work work) = 0;

    /// Forgets a timer. One that has run, or was cancelled before, is ignored.
    virtual void cancel(TimerId timer) = 0;
};

}  // namespace presence
