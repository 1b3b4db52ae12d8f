#pragma once

#include "presence/base/assert.h"

#include <coroutine>
#include <cstdint>
#include <utility>
#include <vector>

namespace presence {

/// Lets flows about one thing run one after the other, in the order in which they asked, though
/// each may wait for a store in its middle. One thread; no flow ever blocks it.
class AsyncLock {
    using Waiting = std::vector<std::coroutine_handle<>>;
    static constexpr std::uintptr_t kFree = 0;
    static constexpr std::uintptr_t kHeld = 1;

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
            if (lock_.held()) {
                return false;
            }
            lock_.state_ = kHeld;
            return true;
        }
        void await_suspend(std::coroutine_handle<> waiting) {
            if (lock_.state_ == kHeld) {
                lock_.state_ = reinterpret_cast<std::uintptr_t>(new Waiting);
            }
            lock_.waiting()->push_back(waiting);
        }
        Guard await_resume() noexcept { return Guard(&lock_); }

    private:
        AsyncLock& lock_;
    };

    AsyncLock() = default;
    /// Only while nobody holds it or waits.
    AsyncLock(AsyncLock&& other) noexcept { PRESENCE_ASSERT(!other.held()); }
    AsyncLock& operator=(AsyncLock&& other) noexcept {
        PRESENCE_ASSERT(!held() && !other.held());
        return *this;
    }
    ~AsyncLock() { PRESENCE_ASSERT(state_ <= kHeld); }

    [[nodiscard]] Acquire acquire() { return Acquire(*this); }
    [[nodiscard]] bool held() const noexcept { return state_ != kFree; }

private:
    void pass_on() {
        if (state_ == kHeld) {
            state_ = kFree;
            return;
        }
        Waiting* const all = waiting();
        const std::coroutine_handle<> next = all->front();
        all->erase(all->begin());
        if (all->empty()) {
            delete all;
            state_ = kHeld;
        }
        next.resume();  // It owns the lock now, which stays held.
    }
    [[nodiscard]] Waiting* waiting() const { return reinterpret_cast<Waiting*>(state_); }

    /// kFree, kHeld, or held and the address of those who wait: each user has a lock, and nearly
    /// always nobody waits for it.
    std::uintptr_t state_ = kFree;
};

}  // namespace presence
