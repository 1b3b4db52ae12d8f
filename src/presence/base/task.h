#pragma once

#include "presence/base/assert.h"

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

namespace presence {

/// A lazy coroutine that yields one value to whoever awaits it. It starts when awaited, and
/// resumes its awaiter on whatever thread completes it: ports promise to complete on the thread
/// that called them, so a flow stays on its owner's thread from end to end.
///
/// One that finishes without waiting returns to its awaiter like a function: a loop over such tasks
/// does not grow the stack, also where the compiler makes no tail calls (below -O2, sanitizers).
///
/// Exceptions do not cross: one that escapes ends the process, as errors are values here.
/// g++ 12: write one `co_await` a statement, with its result named; temporaries that live across
/// an await inside a larger expression may be destroyed twice.
template <class T>
class [[nodiscard]] Task {
public:
    struct promise_type {
        std::optional<T> value;
        std::coroutine_handle<> awaiter;
        bool starting = false;  ///< Within await_suspend: the awaiter goes on by itself.

        Task get_return_object() {
            return Task(std::coroutine_handle<promise_type>::from_promise(*this));
        }
        std::suspend_always initial_suspend() noexcept { return {}; }
        struct Final {
            bool await_ready() noexcept { return false; }
            std::coroutine_handle<> await_suspend(
                std::coroutine_handle<promise_type> done) noexcept {
                return done.promise().starting ? std::noop_coroutine() : done.promise().awaiter;
            }
            void await_resume() noexcept {}
        };
        Final final_suspend() noexcept { return {}; }
        void return_value(T result) { value.emplace(std::move(result)); }
        void unhandled_exception() noexcept { std::terminate(); }
    };

    Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Task& operator=(Task&&) = delete;
    ~Task() {
        if (handle_) {
            handle_.destroy();
        }
    }

    bool await_ready() const noexcept { return false; }
    bool await_suspend(std::coroutine_handle<> awaiter) noexcept {
        handle_.promise().awaiter = awaiter;
        handle_.promise().starting = true;
        handle_.resume();
        handle_.promise().starting = false;
        return !handle_.done();
    }
    T await_resume() {
        PRESENCE_ASSERT(handle_.promise().value.has_value());
        return std::move(*handle_.promise().value);
    }

private:
    explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
    std::coroutine_handle<promise_type> handle_;
};

/// A coroutine that nobody awaits: it starts at once and frees itself at its end. What it refers
/// to must outlive it; flows that may outlive a connection look it up again after each await.
struct Detached {
    struct promise_type {
        Detached get_return_object() noexcept { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { std::terminate(); }
    };
};

/// Bridges a callback to a task: `co_await Completion<T>([&](auto done) { ... })` resumes when
/// `done(value)` is called, once, at once or later.
template <class T>
class Completion {
public:
    struct State {
        std::optional<T> value;
        std::coroutine_handle<> waiting;
    };
    class Done {
    public:
        explicit Done(State* state) : state_(state) {}
        Done(Done&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
        Done& operator=(Done&&) = delete;
        void operator()(T value) {
            State* state = std::exchange(state_, nullptr);
            PRESENCE_ASSERT(state != nullptr);
            state->value.emplace(std::move(value));
            if (state->waiting) {
                state->waiting.resume();
            }
        }

    private:
        State* state_;
    };

    template <class Start>
    explicit Completion(Start&& start) {
        start(Done(&state_));
    }
    Completion(const Completion&) = delete;
    Completion& operator=(const Completion&) = delete;

    bool await_ready() const noexcept { return state_.value.has_value(); }
    void await_suspend(std::coroutine_handle<> waiting) noexcept { state_.waiting = waiting; }
    T await_resume() { return std::move(*state_.value); }

private:
    State state_;
};

}  // namespace presence
