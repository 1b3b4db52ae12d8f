#pragma once

#include "presence/base/result.h"
#include "presence/base/scheduler.h"
#include "presence/base/task.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace presence {

namespace detail {

template <class T>
struct Race {
    using Done = typename Completion<Result<T>>::Done;
    std::optional<Done> done;
    Scheduler::TimerId timer;
};

template <class T>
Detached run_race(Task<Result<T>> task, std::shared_ptr<Race<T>> race, Scheduler& scheduler) {
    Result<T> result = co_await task;
    if (race->done) {
        scheduler.cancel(race->timer);
        auto done = std::move(*race->done);
        race->done.reset();
        done(std::move(result));
    }
}

}  // namespace detail

/// Completes after `wait`.
[[nodiscard]] inline Task<bool> pause_for(Scheduler& scheduler, Millis wait) {
    Completion<bool> waited([&](Completion<bool>::Done done) {
        scheduler.after(wait, [done = std::move(done)]() mutable { done(true); });
    });
    const bool over = co_await waited;
    co_return over;
}

/// The result of `task`, or `unavailable` once `limit` has passed. A task that is late goes on to
/// its end by itself and its result is dropped, so what it refers to must outlive the scheduler's
/// use of it.
template <class T>
Task<Result<T>> within(Scheduler& scheduler, Millis limit, Task<Result<T>> task, std::string what) {
    auto race = std::make_shared<detail::Race<T>>();
    Completion<Result<T>> completion([&](auto done) { race->done.emplace(std::move(done)); });
    race->timer = scheduler.after(limit, [race, what = std::move(what), limit] {
        if (race->done) {
            auto done = std::move(*race->done);
            race->done.reset();
            done(Error{ErrorCode::unavailable,
                       what + " did not answer within " + std::to_string(limit.count()) + " ms",
                       1000, 0});
        }
    });
    detail::run_race<T>(std::move(task), race, scheduler);
    Result<T> result = co_await completion;
    co_return result;
}

}  // namespace presence
