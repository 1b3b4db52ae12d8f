#include "presence/stores/redis/store_thread.h"

#include "presence/base/assert.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace presence::redis {

struct StoreThread::State {
    State(StoreThread& self, const Clock& from, Loop* shared)
        : clock(from),
          own(shared == nullptr ? std::make_unique<Loop>(from) : nullptr),
          loop(shared == nullptr ? *own : *shared),
          resolver(self) {}

    const Clock& clock;
    const std::unique_ptr<Loop> own;  ///< Null: the loop is shared.
    Loop& loop;

    // The thread's own.
    struct Watched;
    using TimerKey = std::pair<MonoTime, std::uint64_t>;
    std::map<TimerKey, Work> timers;
    std::unordered_map<std::uint64_t, MonoTime> due_of;
    std::uint64_t last_timer = 0;
    TimerId armed{};
    MonoTime armed_for{Millis::max()};
    std::unordered_map<int, std::shared_ptr<Watched>> sockets;
    bool at_work = false;
    std::vector<Work> ends;
    bool stopped = false;

    std::mutex mutex;
    std::vector<Work> posted;
    bool stopping = false;
    std::thread thread;

    Resolver resolver;  ///< Its thread posts here, so it goes first.

    /// One piece of work, and what was left for its end.
    template <class Piece>
    void work(Piece piece) {
        at_work = true;
        piece();
        run_ends();
        at_work = false;
    }

    void run_ends() {
        while (!ends.empty()) {
            for (Work& end : std::exchange(ends, {})) {
                end();
            }
        }
    }

    void run_posted() {
        std::vector<Work> jobs;
        {
            const std::lock_guard lock(mutex);
            jobs.swap(posted);
        }
        for (Work& job : jobs) {
            job();
            job = nullptr;
        }
    }

    void arm() {
        const MonoTime due = timers.empty() ? MonoTime{Millis::max()} : timers.begin()->first.first;
        if (due == armed_for) {
            return;
        }
        loop.cancel(armed);
        armed_for = due;
        if (!timers.empty()) {
            armed = loop.after(due - clock.now(), [this] {
                armed_for = MonoTime{Millis::max()};
                work([this] { run_timers(); });
            });
        }
    }

    void run_timers() {
        const MonoTime now = clock.now();
        while (!timers.empty() && timers.begin()->first.first <= now) {
            auto due = timers.extract(timers.begin());
            due_of.erase(due.key().second);
            due.mapped()();
        }
        arm();
    }

    /// The last that it does: nothing of it is left with the loop.
    void end();
};

struct StoreThread::State::Watched final : SocketWatcher {
    Watched(State& on, SocketWatcher& told) : state(on), watcher(told) {}
    void on_ready(std::uint32_t events) override {
        // It may be watched no more within the call, and then this is gone.
        SocketWatcher& told = watcher;
        state.work([&told, events] { told.on_ready(events); });
    }
    State& state;
    SocketWatcher& watcher;
};

void StoreThread::State::end() {
    work([this] { run_posted(); });
    stopped = true;
    for (const auto& [fd, watched] : sockets) {
        loop.unwatch(fd);
    }
    sockets.clear();
    due_of.clear();
    const auto dropped = std::exchange(timers, {});  // What goes with them may look here.
    loop.cancel(armed);
}

StoreThread::StoreThread(const Clock& clock, Loop* shared)
    : state_(std::make_unique<State>(*this, clock, shared)) {
    if (state_->own) {
        state_->thread = std::thread([loop = state_->own.get()] { loop->run(); });
    }
}

StoreThread::~StoreThread() {
    stop();
}

void StoreThread::post(Work work) {
    {
        const std::lock_guard lock(state_->mutex);
        if (state_->stopping) {
            return;
        }
        state_->posted.push_back(std::move(work));
        if (state_->posted.size() > 1) {
            return;  // It has been woken already.
        }
    }
    state_->loop.post([state = state_.get()] { state->work([state] { state->run_posted(); }); });
}

void StoreThread::dispatch(Work work) {
    const auto nothing_waits = [this] {
        const std::lock_guard lock(state_->mutex);
        return state_->posted.empty() && !state_->stopping;
    };
    if (is_here() && !state_->at_work && nothing_waits()) {
        work();
    } else {
        post(std::move(work));
    }
}

Scheduler::TimerId StoreThread::after(Millis delay, Work work) {
    PRESENCE_ASSERT(is_here());
    const std::uint64_t id = ++state_->last_timer;
    const MonoTime due = state_->clock.now() + std::max(delay, Millis{0});
    state_->timers.emplace(State::TimerKey{due, id}, std::move(work));
    state_->due_of.emplace(id, due);
    if (!state_->stopped) {
        state_->arm();
    }
    return TimerId{id};
}

void StoreThread::cancel(TimerId timer) {
    const auto found = state_->due_of.find(timer.value);
    if (found != state_->due_of.end()) {
        state_->timers.erase(State::TimerKey{found->second, timer.value});
        state_->due_of.erase(found);
    }
}

void StoreThread::at_end(Work work) {
    State* const state = state_.get();
    state->ends.push_back(std::move(work));
    if (!state->at_work && state->ends.size() == 1) {
        state->loop.post([state] { state->work([] {}); });
    }
}

bool StoreThread::watch(int fd, SocketWatcher& watcher) {
    PRESENCE_ASSERT(is_here() && !state_->sockets.contains(fd));
    auto watched = std::make_shared<State::Watched>(*state_, watcher);
    if (state_->stopped || !state_->loop.watch(fd, *watched)) {
        return false;
    }
    state_->sockets.emplace(fd, std::move(watched));
    return true;
}

void StoreThread::unwatch(int fd) {
    if (state_->sockets.erase(fd) > 0) {
        state_->loop.unwatch(fd);
    }
}

Resolver& StoreThread::resolver() noexcept {
    return state_->resolver;
}

bool StoreThread::run_until(const std::function<bool()>& done, Millis most) {
    constexpr Millis kLook{2};
    Loop& loop = state_->loop;
    if (state_->own || loop.is_running()) {
        return false;
    }
    const MonoTime end = state_->clock.now() + most;
    std::function<void()> look = [&] {
        if (done() || state_->clock.now() >= end) {
            loop.stop();
        } else {
            loop.after(kLook, [&look] { look(); });
        }
    };
    loop.post([&look] { look(); });
    loop.run();
    return true;
}

void StoreThread::stop() {
    State* const state = state_.get();
    {
        const std::lock_guard lock(state->mutex);
        if (std::exchange(state->stopping, true)) {
            return;
        }
    }
    if (state->own) {
        state->loop.post([state] {
            state->end();
            state->loop.stop();
        });
        state->thread.join();
    } else if (state->loop.is_running() && !is_here()) {
        std::promise<void> ended;
        state->loop.post([state, &ended] {
            state->end();
            ended.set_value();
        });
        ended.get_future().wait();
    } else {
        state->end();  // Nobody else is on that thread.
    }
}

const Clock& StoreThread::clock() const noexcept {
    return state_->clock;
}

bool StoreThread::is_here() const noexcept {
    return state_->loop.is_owner_thread();
}

}  // namespace presence::redis
