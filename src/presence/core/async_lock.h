#pragma once

#include "presence/base/assert.h"

#include <coroutine>
#include <memory>
#include <utility>
#include <vector>

namespace presence {

/// Lets flows about one thing run one after the other, in the order in which they asked, though
/// each may wait for a store in its middle. One thread; no flow ever blocks it.
class AsyncLock {
public:
    class Guard {
    public:
        explicit Guard(AsyncLock* lock) : lock_(lock) {}
        Guard(Guard&& other) noexcept : lock_(std::exchange(other.lock_, nullptr)) {}
        Guard& operator=(Guard&&) = delete;
        ~Guard() { release(); }
        void release() {
            if (AsyncLock* lock = std::exchange(lock_, nullptr)) {
                lock->pass_on();
            }
        }

    private:
        AsyncLock* lock_;
    };

    class Acquire {
    public:
        explicit Acquire(AsyncLock& lock) : lock_(lock) {}
        bool await_ready() noexcept {
            if (lock_.held_) {
                return false;
            }
            lock_.held_ = true;
            return true;
        }
        void await_suspend(std::coroutine_handle<> waiting) {
            if (!lock_.waiting_) {
                lock_.waiting_ = std::make_unique<std::vector<std::coroutine_handle<>>>();
            }
            lock_.waiting_->push_back(waiting);
        }
        Guard await_resume() noexcept { return Guard(&lock_); }

    private:
        AsyncLock& lock_;
    };

    AsyncLock() = default;
    /// Only while nobody holds it or waits.
    AsyncLock(AsyncLock&& other) noexcept { PRESENCE_ASSERT(!other.held_); }
    AsyncLock& operator=(AsyncLock&& other) noexcept {
        PRESENCE_ASSERT(!held_ && !other.held_);
        return *this;
    }
    ~AsyncLock() { PRESENCE_ASSERT(!waiting_); }

    [[nodiscard]] Acquire acquire() { return Acquire(*this); }
    [[nodiscard]] bool held() const noexcept { return held_; }

private:
    void pass_on() {
        if (!waiting_) {
            held_ = false;
            return;
        }
        const std::coroutine_handle<> next = waiting_->front();
        waiting_->erase(waiting_->begin());
        if (waiting_->empty()) {
            waiting_.reset();
        }
        next.resume();  // It owns the lock now; held_ stays true.
    }

    bool held_ = false;
    /// Null while nobody waits, which is nearly always: each user has a lock.
    std::unique_ptr<std::vector<std::coroutine_handle<>>> waiting_;
};

}  // namespace presence
