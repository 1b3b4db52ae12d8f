#include "presence/net/loop.h"

#include "presence/base/assert.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <sys/epoll.h>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace presence::net {
namespace {

/// Events taken from the kernel at once: enough to share the cost of a wake-up among many, few
/// enough that timers get their turn.
constexpr std::size_t kBatch = 512;

/// Timers run in one go before sockets get their turn.
constexpr int kTimersAtOnce = 256;

using Error = boost::system::error_code;
namespace asio = boost::asio;

}  // namespace

struct Loop::State {
    explicit State(Clock& c)
        : clock(c),
          timer(io),
          sockets(io),
          work(asio::make_work_guard(io)),
          owner(std::this_thread::get_id()) {
        const int fd = ::epoll_create1(EPOLL_CLOEXEC);
        PRESENCE_ASSERT(fd >= 0);
        sockets.assign(fd);
        wait_for_sockets();
    }

    // -- Sockets -----------------------------------------------------------------------------

    void wait_for_sockets() {
        sockets.async_wait(asio::posix::stream_descriptor::wait_read, [this](const Error& error) {
            if (error) {
                return;
            }
            take_sockets();
            end_batch();
            wait_for_sockets();
        });
    }

    /// One batch of what is ready now; returns how many that were.
    std::size_t take_sockets() {
        const int ready = ::epoll_wait(sockets.native_handle(), events.data(), kBatch, 0);
        if (ready <= 0 || handler == nullptr) {
            return 0;
        }
        PRESENCE_ASSERT(!in_sockets);
        in_sockets = true;
        in_batch = true;
        for (int i = 0; i < ready; ++i) {
            const epoll_event& event = events[static_cast<std::size_t>(i)];
            handler->on_socket_ready(event.data.u64, event.events);
        }
        in_sockets = false;
        return static_cast<std::size_t>(ready);
    }

    void drain_sockets() {
        std::size_t left = socket_count + 1;
        while (left > 0) {
            const std::size_t taken = take_sockets();
            if (taken == 0) {
                break;
            }
            left -= std::min(left, taken);
        }
        end_batch();
    }

    // -- Batches -----------------------------------------------------------------------------

    void end_batch() {
        // What a hook itself leaves to do is not in this batch any more: it gets one of its own.
        in_batch = false;
        wanted_batch_end = false;
        for (auto& end : batch_ends) {
            end();
        }
    }

    // -- Posted work --------------------------------------------------------------------------

    void post_work(Work job) {
        bool first = false;
        {
            const std::lock_guard lock(mutex);
            first = posted.empty();
            posted.push_back(std::move(job));
        }
        if (first) {
            asio::post(io, [this] { run_posted(); });
        }
    }

    void run_posted() {
        std::vector<Work> jobs;
        {
            const std::lock_guard lock(mutex);
            jobs.swap(posted);
        }
        in_batch = true;
        for (Work& job : jobs) {
            job();
            job = nullptr;
        }
        end_batch();
    }

    // -- Timers --------------------------------------------------------------------------------

    /// Deadline, then order of arrival.
    using TimerKey = std::pair<MonoTime, std::uint64_t>;

    TimerId add_timer(Millis delay, Work job) {
        const std::uint64_t id = ++last_timer;
        const MonoTime due = clock.now() + std::max(delay, Millis{0});
        timers.emplace(TimerKey{due, id}, std::move(job));
        due_of.emplace(id, due);
        arm();
        return TimerId{id};
    }

    void cancel_timer(TimerId id) {
        const auto found = due_of.find(id.value);
        if (found != due_of.end()) {
            timers.erase(TimerKey{found->second, id.value});
            due_of.erase(found);
        }
    }

    void arm() {
        if (timers.empty() || in_timers) {
            return;
        }
        const MonoTime due = timers.begin()->first.first;
        if (armed && armed_for <= due) {
            return;
        }
        armed = true;
        armed_for = due;
        timer.expires_after(std::max(due - clock.now(), Millis{0}));
        timer.async_wait([this](const Error& error) {
            if (!error) {
                armed = false;
                run_timers();
            }
        });
    }

    void run_timers() {
        const MonoTime now = clock.now();
        if (!timers.empty() && now - timers.begin()->first.first > kStall) {
            drain_sockets();
        }
        in_timers = true;
        in_batch = true;
        for (int ran = 0; ran < kTimersAtOnce && !timers.empty(); ++ran) {
            const auto first = timers.begin();
            if (first->first.first > now) {
                break;
            }
            Work job = std::move(first->second);
            due_of.erase(first->first.second);
            timers.erase(first);
            job();
        }
        end_batch();
        in_timers = false;
        arm();
    }

    void plan_tick() {
        tick_timer = add_timer(tick_due - clock.now(), [this] { run_tick(); });
    }

    void run_tick() {
        const MonoTime now = clock.now();
        const Tick told{now, std::max(now - tick_due, Millis{0})};
        tick_due = std::max(tick_due + tick_every, now + Millis{1});
        if (told.late > tick_every) {
            tick_due = now + tick_every;
        }
        plan_tick();
        // Held on the stack, so that it may replace itself.
        auto running = std::move(tick);
        running(told);
        if (!tick) {
            tick = std::move(running);
        }
    }

    Clock& clock;
    asio::io_context io{1};
    asio::steady_timer timer;
    asio::posix::stream_descriptor sockets;  ///< The epoll set of all client sockets.
    asio::executor_work_guard<asio::io_context::executor_type> work;
    std::thread::id owner;

    SocketHandler* handler = nullptr;
    std::array<epoll_event, kBatch> events{};
    std::size_t socket_count = 0;
    bool in_sockets = false;

    std::vector<UniqueFunction<void()>> batch_ends;
    bool in_batch = false;
    bool wanted_batch_end = false;

    std::mutex mutex;
    std::vector<Work> posted;  ///< Guarded by mutex.

    std::map<TimerKey, Work> timers;
    std::unordered_map<std::uint64_t, MonoTime> due_of;
    std::uint64_t last_timer = 0;
    bool armed = false;
    bool in_timers = false;
    MonoTime armed_for;

    UniqueFunction<void(const Tick&)> tick;
    Millis tick_every{0};
    MonoTime tick_due;
    TimerId tick_timer;
};

Loop::Loop(Clock& clock) : state_(std::make_unique<State>(clock)) {}
Loop::~Loop() = default;

void Loop::run() {
    state_->owner = std::this_thread::get_id();
    state_->io.run();
    state_->io.restart();
}

void Loop::stop() {
    state_->io.stop();
}

void Loop::post(Work work) {
    state_->post_work(std::move(work));
}

Scheduler::TimerId Loop::after(Millis delay, Work work) {
    return state_->add_timer(delay, std::move(work));
}

void Loop::cancel(TimerId timer) {
    state_->cancel_timer(timer);
}

void Loop::set_tick(Millis every, UniqueFunction<void(const Tick&)> tick) {
    PRESENCE_ASSERT(every > Millis{0});
    state_->cancel_timer(state_->tick_timer);
    state_->tick = std::move(tick);
    state_->tick_every = every;
    state_->tick_due = state_->clock.now() + every;
    state_->plan_tick();
}

void Loop::add_batch_end(UniqueFunction<void()> work) {
    state_->batch_ends.push_back(std::move(work));
}

void Loop::request_batch_end() {
    if (!state_->in_batch && !state_->wanted_batch_end) {
        state_->wanted_batch_end = true;
        state_->post_work([] {});
    }
}

void Loop::drain_sockets() {
    state_->drain_sockets();
}

Clock& Loop::clock() const noexcept {
    return state_->clock;
}

bool Loop::is_owner_thread() const noexcept {
    return state_->owner == std::this_thread::get_id();
}

boost::asio::io_context& Loop::context() noexcept {
    return state_->io;
}

void Loop::set_socket_handler(SocketHandler* handler) {
    PRESENCE_ASSERT(handler == nullptr || state_->handler == nullptr);
    state_->handler = handler;
}

bool Loop::add_socket(int fd, std::uint32_t events, std::uint64_t token) {
    epoll_event event{};
    event.events = events;
    event.data.u64 = token;
    if (::epoll_ctl(state_->sockets.native_handle(), EPOLL_CTL_ADD, fd, &event) != 0) {
        return false;
    }
    ++state_->socket_count;
    return true;
}

void Loop::remove_socket(int fd) {
    epoll_event event{};
    if (::epoll_ctl(state_->sockets.native_handle(), EPOLL_CTL_DEL, fd, &event) == 0) {
        --state_->socket_count;
    }
}

}  // namespace presence::net
