#pragma once

#include "presence/base/assert.h"
#include "presence/base/task.h"

#include "support/loop_scheduler.h"
#include "support/virtual_time.h"

#include <memory>
#include <optional>
#include <utility>

namespace presence::testing {

/// A task under way; `value` is set when it has completed. Keep it while the task may complete.
template <class T>
using Started = std::shared_ptr<std::optional<T>>;

/// Starts a task without waiting for it.
template <class T>
[[nodiscard]] Started<T> start_task(Task<T> task) {
    auto result = std::make_shared<std::optional<T>>();
    [](Task<T> running, Started<T> into) -> Detached {
        T value = co_await std::move(running);
        into->emplace(std::move(value));
    }(std::move(task), result);
    return result;
}

/// Runs `task` to its end in virtual time, letting time pass only as far as it needs.
template <class T>
T run_until_complete(VirtualScheduler& scheduler, Task<T> task) {
    const Started<T> result = start_task(std::move(task));
    scheduler.run_ready();
    while (!result->has_value()) {
        PRESENCE_ASSERT(scheduler.run_next());  // Else nothing is left that could complete it.
    }
    return std::move(**result);
}

/// Runs `task` to its end on a real loop.
template <class T>
T run_until_complete(LoopScheduler& scheduler, Task<T> task) {
    const Started<T> result = start_task(std::move(task));
    PRESENCE_ASSERT(scheduler.run_until([&] { return result->has_value(); }));
    return std::move(**result);
}

/// Takes the value of a task that completes without waiting, as those of stores/memory do.
template <class T>
T run_until_complete(Task<T> task) {
    const Started<T> result = start_task(std::move(task));
    PRESENCE_ASSERT(result->has_value());
    return std::move(**result);
}

}  // namespace presence::testing
