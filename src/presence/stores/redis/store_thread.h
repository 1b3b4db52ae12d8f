#pragma once

#include "presence/base/clock.h"
#include "presence/base/scheduler.h"
#include "presence/loop/loop.h"
#include "presence/stores/redis/resolver.h"

#include <functional>
#include <future>
#include <memory>

namespace presence::redis {

/// The one thread of a node that talks to Redis, on whose loop all connections live: one of its
/// own, so that gateways do not wait for each other's work, or that of the only gateway, so that
/// no call has to change threads. Others hand work in by `post`; whatever was handed in by the time
/// it wakes up runs in one go.
class StoreThread final : public Scheduler {
public:
    /// A thread of its own. `shared`: the loop of others, who run it, and which lives until `stop`.
    explicit StoreThread(const Clock& clock, Loop* shared = nullptr);
    ~StoreThread() override;  ///< Stops.
    StoreThread(const StoreThread&) = delete;
    StoreThread& operator=(const StoreThread&) = delete;

    void post(Work work) override;  ///< Any thread. Dropped once it is stopped.
    /// Runs `work` at once where this is the store's thread and nothing that was handed in before
    /// still waits; else it posts it. So all is done in the order in which it was handed in.
    void dispatch(Work work);
    TimerId after(Millis delay, Work work) override;
    void cancel(TimerId timer) override;

    /// Runs `work` at the end of the piece of work at hand, or soon if there is none: what many
    /// have added to goes out once. The store's thread, as the following.
    void at_end(Work work);
    /// Events of a socket are pieces of work, see SocketWatcher.
    [[nodiscard]] bool watch(int fd, SocketWatcher& watcher);
    void unwatch(int fd);
    [[nodiscard]] Resolver& resolver() noexcept;

    /// Blocks until the future is there, or `most` has passed: false. Runs a shared loop meanwhile,
    /// if nobody does yet. Not from the thread itself once it runs.
    template <class T>
    [[nodiscard]] bool wait(const std::future<T>& future, Millis most) {
        const bool ran = run_until([&] { return is_there(future, Millis{0}); }, most);
        return is_there(future, ran ? Millis{0} : most);
    }

    /// Runs what has been handed in, drops all timers and sockets, and ends a thread of its own.
    /// Blocks. Not from the thread itself once it runs.
    void stop();

    [[nodiscard]] const Clock& clock() const noexcept;
    [[nodiscard]] bool is_here() const noexcept;

private:
    struct State;

    template <class T>
    static bool is_there(const std::future<T>& future, Millis most) {
        return future.wait_for(most) == std::future_status::ready;
    }
    /// False: somebody else runs the loop.
    bool run_until(const std::function<bool()>& done, Millis most);

    std::unique_ptr<State> state_;
};

}  // namespace presence::redis
