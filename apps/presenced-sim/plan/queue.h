#pragma once

#include "presence/base/time.h"

#include <algorithm>
#include <utility>

namespace presence::plan {

/// The simulation goes on in steps of that length.
inline constexpr Millis kStep{10};
inline constexpr double kStepSeconds = 0.01;
inline constexpr int kStepsASecond = 100;

/// Work of a second that waits for a machine which does so much a step.
class Queue {
public:
    explicit Queue(double per_step) : per_step_(per_step) {}
    void add(double work) {
        waiting_ += work;
        second_ += work;
    }
    void step() {
        waiting_ = std::max(0.0, waiting_ - per_step_);
        longest_steps_ = std::max(longest_steps_, waiting_ / per_step_);
        most_ = std::max(most_, waiting_);
    }
    void end_second() {
        worst_second_ = std::max(worst_second_, second_);
        all_ += second_;
        ++seconds_;
        second_ = 0;
    }
    /// What was before does not count, but what waits goes on waiting.
    void forget() { longest_steps_ = most_ = worst_second_ = all_ = seconds_ = 0; }
    [[nodiscard]] double mean() const { return all_ / seconds_ / (per_step_ * kStepsASecond); }
    [[nodiscard]] double worst() const { return worst_second_ / (per_step_ * kStepsASecond); }
    [[nodiscard]] double worst_amount() const { return worst_second_; }
    [[nodiscard]] double longest_wait_s() const { return longest_steps_ * kStepSeconds; }
    [[nodiscard]] double most_waiting() const { return most_; }
    [[nodiscard]] double waiting() const { return waiting_; }

private:
    double per_step_;
    double waiting_ = 0;
    double longest_steps_ = 0;
    double most_ = 0;
    double second_ = 0;
    double worst_second_ = 0;
    double all_ = 0;
    double seconds_ = 0;
};

/// The most of something in one second.
class Peak {
public:
    void add(double amount) { second_ += amount; }
    void end_second() { worst_ = std::max(worst_, std::exchange(second_, 0.0)); }
    void forget() { worst_ = 0; }
    [[nodiscard]] double worst() const { return worst_; }

private:
    double second_ = 0;
    double worst_ = 0;
};

}  // namespace presence::plan
