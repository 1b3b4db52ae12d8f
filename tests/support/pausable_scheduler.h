#pragma once

#include "presence/base/scheduler.h"

#include <memory>
#include <utility>
#include <vector>

namespace presence::testing {

/// One process's share of a scheduler: it can be stopped, and then does nothing until it goes on,
/// or killed, and then never does anything again.
class PausableScheduler final : public Scheduler {
public:
    explicit PausableScheduler(Scheduler& below)
        : below_(below), state_(std::make_shared<State>()) {}
    ~PausableScheduler() override { kill(); }

    void pause() { state_->paused = true; }
    /// What fell due meanwhile is done now, in its order.
    void go_on() {
        state_->paused = false;
        for (Work& work : std::exchange(state_->missed, {})) {
            below_.post(guarded(std::move(work)));
        }
    }
    void kill() {
        state_->dead = true;
        state_->missed.clear();
    }

    void post(Work work) override { below_.post(guarded(std::move(work))); }
    TimerId after(Millis delay, Work work) override {
        return below_.after(delay, guarded(std::move(work)));
    }
    void cancel(TimerId timer) override { below_.cancel(timer); }

private:
    struct State {
        bool paused = false;
        bool dead = false;
        std::vector<Work> missed;
    };

    Work guarded(Work work) {
        return [state = state_, work = std::move(work)]() mutable {
            if (state->dead) {
                return;
            }
            if (state->paused) {
                state->missed.push_back(std::move(work));
                return;
            }
            work();
        };
    }

    Scheduler& below_;
    std::shared_ptr<State> state_;
};

}  // namespace presence::testing
