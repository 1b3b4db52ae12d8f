#pragma once

#include "presence/base/clock.h"
#include "presence/base/scheduler.h"

#include "support/virtual_time.h"

#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace presence::sim {

using testing::VirtualClock;
using testing::VirtualScheduler;

/// A machine's clocks: its wall clock is off by something, and can be set.
class MachineClock final : public Clock {
public:
    explicit MachineClock(const VirtualClock& world) : world_(world) {}
    [[nodiscard]] MonoTime now() const noexcept override { return world_.now(); }
    [[nodiscard]] WallTime wall_now() const noexcept override { return world_.wall_now() + off_; }
    void set_off(Millis off) { off_ = off; }
    [[nodiscard]] Millis off() const { return off_; }

private:
    const VirtualClock& world_;
    Millis off_{0};
};

/// What one process runs on. Stopped, it keeps what falls due for later; killed, it drops all.
/// What its sockets hold is read before anything else when it goes on (DESIGN rule 5).
class ProcessScheduler final : public Scheduler {
public:
    explicit ProcessScheduler(VirtualScheduler& below)
        : below_(below), state_(std::make_shared<State>()) {}
    ~ProcessScheduler() override { kill(); }

    void pause() { state_->paused = true; }
    void go_on() {
        state_->paused = false;
        std::vector<Work> input = std::exchange(state_->input, {});
        for (Work& work : input) {
            work();
        }
        std::map<std::uint64_t, Work> missed = std::exchange(state_->missed, {});
        for (auto& [number, work] : missed) {
            post(std::move(work));
        }
    }
    void kill() {
        state_->dead = true;
        state_->missed.clear();
        state_->input.clear();
        timers_.clear();
    }
    [[nodiscard]] bool dead() const { return state_->dead; }
    [[nodiscard]] bool paused() const { return state_->paused; }

    void post(Work work) override { after(Millis{0}, std::move(work)); }
    TimerId after(Millis delay, Work work) override {
        if (state_->dead) {
            return {};
        }
        const std::uint64_t number = ++armed_;
        const TimerId below =
            below_.after(delay, [this, state = state_, number, work = std::move(work)]() mutable {
                if (state->dead) {
                    return;
                }
                timers_.erase(number);
                if (state->paused) {
                    state->missed.emplace(number, std::move(work));
                    return;
                }
                work();
            });
        timers_.emplace(number, below);
        return TimerId{number};
    }
    void cancel(TimerId timer) override {
        state_->missed.erase(timer.value);
        const auto found = timers_.find(timer.value);
        if (found != timers_.end()) {
            below_.cancel(found->second);
            timers_.erase(found);
        }
    }
    /// Something has come in by the network, just now.
    void arrive(Work work) {
        if (state_->dead) {
            return;
        }
        if (state_->paused) {
            state_->input.push_back(std::move(work));
            return;
        }
        work();
    }

private:
    struct State {
        bool paused = false;
        bool dead = false;
        std::map<std::uint64_t, Work> missed;  ///< In the order in which they were armed.
        std::vector<Work> input;
    };
    VirtualScheduler& below_;
    std::shared_ptr<State> state_;
    std::uint64_t armed_ = 0;
    std::map<std::uint64_t, TimerId> timers_;
};

}  // namespace presence::sim
