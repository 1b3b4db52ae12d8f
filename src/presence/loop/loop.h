#pragma once

#include "presence/base/clock.h"
#include "presence/base/scheduler.h"

#include <cstdint>
#include <memory>

namespace presence {

/// Told when a socket that was added to a Loop can be read or written. Loop's thread.
class SocketHandler {
public:
    virtual ~SocketHandler() = default;
    /// `events` are EPOLL* bits. A token may be reported once more after its removal in the same
    /// batch: the handler tells by a generation in the token.
    virtual void on_socket_ready(std::uint64_t token, std::uint32_t events) = 0;
    /// on_socket_ready is soon to come: memory may be brought near.
    virtual void on_socket_soon(std::uint64_t token) { static_cast<void>(token); }
};

/// Told when a socket that was given to Loop::watch can be read or written. Loop's thread.
class SocketWatcher {
public:
    virtual ~SocketWatcher() = default;
    /// `events` are EPOLL* bits. The watcher may be destroyed within the call.
    virtual void on_ready(std::uint32_t events) = 0;
};

/// One thread's event loop: posted work, a few timers, periodic work, all sockets of one server,
/// and a few that others watch. The loop waits on one epoll set and takes it in batches; there is
/// no object, handler or buffer for each socket of the server here.
///
/// Timers are in an ordered tree and meant for rare things; liveness has its wheel elsewhere,
/// driven by the tick. Owner's thread, but for `post` and `stop`. Times are whole milliseconds of
/// the clock.
class Loop final : public Scheduler {
public:
    /// What a tick is told. `late` is how much after its planned time it runs: a machine that was
    /// asleep or a thread that was stopped shows here.
    struct Tick {
        MonoTime now;
        Millis late{0};
    };

    /// A tick this late runs only after one pass over all sockets that can be read, so that
    /// nobody is given up whose sign of life already lay in the kernel (DESIGN rule 5).
    static constexpr Millis kStall{500};

    explicit Loop(const Clock& clock);
    ~Loop() override;
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;

    /// Works until `stop`. The calling thread becomes the owner.
    void run();
    /// Makes `run` return after what it is doing; called before `run`, it returns at once. Any
    /// thread.
    void stop();

    void post(Work work) override;  ///< Any thread.
    TimerId after(Millis delay, Work work) override;
    void cancel(TimerId timer) override;

    /// Calls `tick` about every `every`, one late call standing for all that were missed.
    /// Replaces the one set before.
    void set_tick(Millis every, UniqueFunction<void(const Tick&)> tick);

    /// Calls `work` after every batch of socket events, before posted work. Called in the order
    /// added.
    void add_sockets_end(UniqueFunction<void()> work);

    /// Calls `work` at the end of every batch of socket events, posts or timers, before waiting
    /// again: what was collected meanwhile goes out here. Called in the order added.
    void add_batch_end(UniqueFunction<void()> work);

    /// Makes sure that a batch end comes soon. Needed by work that is no batch of this loop; inside
    /// a batch it costs nothing.
    void request_batch_end();

    /// Reads what the sockets hold now: one pass over all that are ready. Not from a socket
    /// handler.
    void drain_sockets();

    [[nodiscard]] const Clock& clock() const noexcept;
    [[nodiscard]] bool is_owner_thread() const noexcept;
    /// Whether a thread is in `run`. Any thread.
    [[nodiscard]] bool is_running() const noexcept;

    /// Sockets. `events` are EPOLL* bits as the handler wants them, EPOLLET included. One handler a
    /// loop. False: the kernel refused (errno says why).
    void set_socket_handler(SocketHandler* handler);
    /// Tokens whose low half is all ones are the loop's own.
    bool add_socket(int fd, std::uint32_t events, std::uint64_t token);
    void remove_socket(int fd);

    /// Sockets of others than the server, of which there are few: told of each change to readable
    /// or writable, and of the end. `watcher` lives until `unwatch`. False: the kernel refused.
    bool watch(int fd, SocketWatcher& watcher);
    void unwatch(int fd);

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace presence
