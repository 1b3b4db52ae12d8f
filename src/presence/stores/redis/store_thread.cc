#include "presence/stores/redis/store_thread.h"

#include "presence/base/assert.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace presence::redis {

namespace asio = boost::asio;

struct StoreThread::State {
    explicit State(const Clock& from) : clock(from), timer(io), guard(asio::make_work_guard(io)) {}

    const Clock& clock;
    asio::io_context io{1};
    asio::steady_timer timer;
    asio::executor_work_guard<asio::io_context::executor_type> guard;

    // The thread's own.
    using TimerKey = std::pair<MonoTime, std::uint64_t>;
    std::map<TimerKey, Work> timers;
    std::unordered_map<std::uint64_t, MonoTime> due_of;
    std::uint64_t last_timer = 0;
    MonoTime armed_for{Millis::max()};

    std::mutex mutex;
    std::vector<Work> posted;
    bool stopping = false;
    std::thread thread;

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
        armed_for = due;
        if (timers.empty()) {
            timer.cancel();
            return;
        }
        timer.expires_after(std::max(due - clock.now(), Millis{0}));
        timer.async_wait([this](const boost::system::error_code& error) {
            if (!error) {
                armed_for = MonoTime{Millis::max()};
                run_timers();
            }
        });
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
};

StoreThread::StoreThread(const Clock& clock) : state_(std::make_unique<State>(clock)) {
    state_->thread = std::thread([state = state_.get()] { state->io.run(); });
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
    asio::post(state_->io, [state = state_.get()] { state->run_posted(); });
}

Scheduler::TimerId StoreThread::after(Millis delay, Work work) {
    PRESENCE_ASSERT(is_here());
    const std::uint64_t id = ++state_->last_timer;
    const MonoTime due = state_->clock.now() + std::max(delay, Millis{0});
    state_->timers.emplace(State::TimerKey{due, id}, std::move(work));
    state_->due_of.emplace(id, due);
    state_->arm();
    return TimerId{id};
}

void StoreThread::cancel(TimerId timer) {
    const auto found = state_->due_of.find(timer.value);
    if (found != state_->due_of.end()) {
        state_->timers.erase(State::TimerKey{found->second, timer.value});
        state_->due_of.erase(found);
    }
}

void StoreThread::stop() {
    if (!state_->thread.joinable()) {
        return;
    }
    {
        const std::lock_guard lock(state_->mutex);
        state_->stopping = true;
    }
    asio::post(state_->io, [state = state_.get()] {
        state->run_posted();
        state->io.stop();
    });
    state_->thread.join();
    state_->timers.clear();
}

const Clock& StoreThread::clock() const noexcept {
    return state_->clock;
}

bool StoreThread::is_here() const noexcept {
    return state_->thread.get_id() == std::this_thread::get_id();
}

asio::io_context& StoreThread::context() noexcept {
    return state_->io;
}

}  // namespace presence::redis
