#include "presence/loop/loop.h"

#include "presence/base/assert.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>
#include <unordered_map>
#include <utility>
#include <vector>

namespace presence {
namespace {

/// Events taken from the kernel at once: enough to share the cost of a wake-up among many, few
/// enough that timers get their turn.
constexpr std::size_t kBatch = 512;

/// Timers run in one go before sockets get their turn.
constexpr int kTimersAtOnce = 256;

/// The low half of tokens that are not the server's. The high half says whose: that of a watched
/// socket, or all ones for the descriptor by which other threads wake this one.
constexpr std::uint32_t kOwn = ~std::uint32_t{0};
constexpr std::uint64_t kWakeToken = ~std::uint64_t{0};

constexpr bool is_own(std::uint64_t token) {
    return static_cast<std::uint32_t>(token) == kOwn;
}

}  // namespace

struct Loop::State {
    explicit State(const Clock& c) : clock(c), owner(std::this_thread::get_id()) {
        PRESENCE_ASSERT(epoll_fd >= 0 && wake_fd >= 0);
        epoll_event event{};
        // Edge-triggered: each write wakes, and nobody has to read.
        event.events = EPOLLIN | EPOLLET;
        event.data.u64 = kWakeToken;
        PRESENCE_ASSERT(::epoll_ctl(epoll_fd, EPOLL_CTL_ADD, wake_fd, &event) == 0);
    }
    ~State() {
        ::close(wake_fd);
        ::close(epoll_fd);
    }
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    // -- Turns -------------------------------------------------------------------------------

    void run() {
        owner = std::this_thread::get_id();
        in_run = true;
        while (!stopped.load()) {
            turn(has_posted.load() ? 0 : wait_ms());
        }
        in_run = false;
        stopped = false;
    }

    /// Waits at most `timeout_ms`, then does all that is due, once.
    void turn(int timeout_ms) {
        take_sockets(timeout_ms);
        in_batch = true;
        if (has_posted.load()) {
            run_posted();
        }
        if (!timers.empty()) {
            run_timers();
        }
        end_batch();
    }

    void end_batch() {
        // What a hook itself leaves to do is not in this batch any more: it gets one of its own.
        in_batch = false;
        wanted_batch_end = false;
        for (auto& end : batch_ends) {
            end();
        }
    }

    void wake() {
        const std::uint64_t one = 1;
        [[maybe_unused]] const auto written = ::write(wake_fd, &one, sizeof one);
    }

    [[nodiscard]] bool is_owner() const { return owner.load() == std::this_thread::get_id(); }

    // -- Sockets -----------------------------------------------------------------------------

    /// One batch of what is ready; returns how many that were.
    std::size_t take_sockets(int timeout_ms) {
        const int ready = ::epoll_wait(epoll_fd, events.data(), kBatch, timeout_ms);
        PRESENCE_ASSERT(!in_sockets);
        in_sockets = true;
        in_batch = true;
        for (int i = 0; i < ready; ++i) {
            const epoll_event& event = events[static_cast<std::size_t>(i)];
            constexpr int kSoon = 2;
            if (handler != nullptr && i + kSoon < ready) {
                const std::uint64_t soon = events[static_cast<std::size_t>(i + kSoon)].data.u64;
                if (!is_own(soon)) {
                    handler->on_socket_soon(soon);
                }
            }
            if (is_own(event.data.u64)) {
                tell_watcher(event.data.u64, event.events);
            } else if (handler != nullptr) {
                handler->on_socket_ready(event.data.u64, event.events);
            }
        }
        in_sockets = false;
        for (auto& end : sockets_ends) {
            end();
        }
        return static_cast<std::size_t>(std::max(ready, 0));
    }

    void drain_sockets() {
        const bool was_in_batch = in_batch;
        std::size_t left = socket_count + 1;
        while (left > 0) {
            const std::size_t taken = take_sockets(0);
            if (taken == 0) {
                break;
            }
            left -= std::min(left, taken);
        }
        end_batch();
        in_batch = was_in_batch;
    }

    /// One that was removed in this batch is named by nobody any more.
    void tell_watcher(std::uint64_t token, std::uint32_t what) {
        const auto found = watchers.find(static_cast<std::uint32_t>(token >> 32U));
        if (found != watchers.end()) {
            found->second->on_ready(what);
        }
    }

    // -- Posted work --------------------------------------------------------------------------

    void post_work(Work job) {
        {
            const std::lock_guard lock(mutex);
            posted.push_back(std::move(job));
            if (has_posted.exchange(true)) {
                return;
            }
        }
        if (!is_owner()) {
            wake();
        }
    }

    void run_posted() {
        std::vector<Work> jobs;
        {
            const std::lock_guard lock(mutex);
            jobs.swap(posted);
            has_posted = false;
        }
        for (Work& job : jobs) {
            job();
            job = nullptr;
        }
    }

    // -- Timers --------------------------------------------------------------------------------

    /// Deadline, then order of arrival.
    using TimerKey = std::pair<MonoTime, std::uint64_t>;

    TimerId add_timer(Millis delay, Work job) {
        const std::uint64_t id = ++last_timer;
        const MonoTime due = clock.now() + std::max(delay, Millis{0});
        timers.emplace(TimerKey{due, id}, std::move(job));
        due_of.emplace(id, due);
        return TimerId{id};
    }

    void cancel_timer(TimerId id) {
        const auto found = due_of.find(id.value);
        if (found != due_of.end()) {
            timers.erase(TimerKey{found->second, id.value});
            due_of.erase(found);
        }
    }

    [[nodiscard]] std::optional<MonoTime> next_due() const {
        return timers.empty() ? std::nullopt : std::optional(timers.begin()->first.first);
    }

    /// How long to wait at most, as epoll_wait takes it.
    [[nodiscard]] int wait_ms() const {
        constexpr Millis kLongest{60'000};
        if (const std::optional<MonoTime> due = next_due()) {
            return static_cast<int>(std::clamp(*due - clock.now(), Millis{0}, kLongest).count());
        }
        return -1;
    }

    void run_timers() {
        std::optional<MonoTime> drained;
        for (int ran = 0; ran < kTimersAtOnce && !timers.empty(); ++ran) {
            const auto first = timers.begin();
            const MonoTime due = first->first.first;
            const MonoTime now = clock.now();
            if (due > now) {
                break;
            }
            // The thread may stand still at any moment, also between two timers.
            if (now - due > kStall && (!drained || now - *drained > kStall)) {
                drain_sockets();
                drained = clock.now();
                continue;
            }
            Work job = std::move(first->second);
            due_of.erase(first->first.second);
            timers.erase(first);
            job();
        }
    }

    void plan_tick() {
        tick_timer = add_timer(tick_due - clock.now(), [this] { run_tick(); });
    }

    void run_tick() {
        const MonoTime now = clock.now();
        const Tick told{now, std::max(now - tick_due, Millis{0})};
        tick_due = told.late > tick_every ? now + tick_every : tick_due + tick_every;
        plan_tick();
        // Held on the stack, so that it may replace itself.
        auto running = std::move(tick);
        running(told);
        if (!tick) {
            tick = std::move(running);
        }
    }

    const Clock& clock;
    std::atomic<std::thread::id> owner;
    std::atomic<bool> in_run{false};
    std::atomic<bool> stopped{false};
    int epoll_fd = ::epoll_create1(EPOLL_CLOEXEC);
    int wake_fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

    SocketHandler* handler = nullptr;
    std::array<epoll_event, kBatch> events{};
    std::size_t socket_count = 0;
    std::unordered_map<std::uint32_t, SocketWatcher*> watchers;
    std::unordered_map<int, std::uint32_t> watched;  ///< By descriptor.
    std::uint32_t last_watched = 0;
    bool in_sockets = false;

    std::vector<UniqueFunction<void()>> sockets_ends;
    std::vector<UniqueFunction<void()>> batch_ends;
    bool in_batch = false;
    bool wanted_batch_end = false;

    std::mutex mutex;
    std::vector<Work> posted;  ///< Guarded by mutex.
    std::atomic<bool> has_posted{false};

    std::map<TimerKey, Work> timers;
    std::unordered_map<std::uint64_t, MonoTime> due_of;
    std::uint64_t last_timer = 0;

    UniqueFunction<void(const Tick&)> tick;
    Millis tick_every{0};
    MonoTime tick_due;
    TimerId tick_timer;
};

Loop::Loop(const Clock& clock) : state_(std::make_unique<State>(clock)) {}
Loop::~Loop() = default;

void Loop::run() {
    state_->run();
}

void Loop::stop() {
    state_->stopped = true;
    state_->wake();
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

void Loop::add_sockets_end(UniqueFunction<void()> work) {
    state_->sockets_ends.push_back(std::move(work));
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

const Clock& Loop::clock() const noexcept {
    return state_->clock;
}

bool Loop::is_running() const noexcept {
    return state_->in_run.load();
}

bool Loop::is_owner_thread() const noexcept {
    return state_->is_owner();
}

void Loop::set_socket_handler(SocketHandler* handler) {
    PRESENCE_ASSERT(handler == nullptr || state_->handler == nullptr);
    state_->handler = handler;
}

bool Loop::add_socket(int fd, std::uint32_t events, std::uint64_t token) {
    PRESENCE_ASSERT(!is_own(token));
    epoll_event event{};
    event.events = events;
    event.data.u64 = token;
    if (::epoll_ctl(state_->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0) {
        return false;
    }
    ++state_->socket_count;
    return true;
}

void Loop::remove_socket(int fd) {
    epoll_event event{};
    if (::epoll_ctl(state_->epoll_fd, EPOLL_CTL_DEL, fd, &event) == 0) {
        --state_->socket_count;
    }
}

bool Loop::watch(int fd, SocketWatcher& watcher) {
    State& state = *state_;
    do {
        ++state.last_watched;
    } while (state.last_watched == kOwn || state.watchers.contains(state.last_watched));
    epoll_event event{};
    event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
    event.data.u64 = (std::uint64_t{state.last_watched} << 32U) | kOwn;
    if (::epoll_ctl(state.epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0) {
        return false;
    }
    ++state.socket_count;
    state.watchers.emplace(state.last_watched, &watcher);
    state.watched.emplace(fd, state.last_watched);
    return true;
}

void Loop::unwatch(int fd) {
    const auto found = state_->watched.find(fd);
    if (found != state_->watched.end()) {
        remove_socket(fd);
        state_->watchers.erase(found->second);
        state_->watched.erase(found);
    }
}

}  // namespace presence
