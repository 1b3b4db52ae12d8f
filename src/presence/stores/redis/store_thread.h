#pragma once

#include "presence/base/clock.h"
#include "presence/base/scheduler.h"

#include <memory>

namespace boost::asio {
class io_context;
}

namespace presence::redis {

/// The one thread of a node that talks to Redis: a loop of its own, on which all connections live,
/// so that gateways never wait. Others hand work in by `post`; whatever was handed in by the time
/// it wakes up runs in one go.
class StoreThread final : public Scheduler {
public:
    explicit StoreThread(const Clock& clock);
    ~StoreThread() override;  ///< Stops.
    StoreThread(const StoreThread&) = delete;
    StoreThread& operator=(const StoreThread&) = delete;

    void post(Work work) override;  ///< Any thread. Dropped once it is stopped.
    TimerId after(Millis delay, Work work) override;
    void cancel(TimerId timer) override;

    /// Runs what has been handed in, then ends the thread. Blocks. Not from the thread itself.
    void stop();

    [[nodiscard]] const Clock& clock() const noexcept;
    [[nodiscard]] bool is_here() const noexcept;
    [[nodiscard]] boost::asio::io_context& context() noexcept;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace presence::redis
