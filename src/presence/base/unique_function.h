#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace presence {

template <class Signature>
class UniqueFunction;

/// A callable that can be moved but not copied, so that it may own what it captures.
/// (std::move_only_function is C++23.) Calling an empty one is a bug.
template <class R, class... Args>
class UniqueFunction<R(Args...)> {
public:
    UniqueFunction() = default;
    UniqueFunction(std::nullptr_t) {}  // NOLINT(google-explicit-constructor)

    template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, UniqueFunction> &&
             std::is_invocable_r_v<R, F&, Args...>)
        UniqueFunction(F&& callable)  // NOLINT(google-explicit-constructor)
        : held_(std::make_unique<Held<std::remove_cvref_t<F>>>(std::forward<F>(callable))) {}

    R operator()(Args... args) { return held_->call(std::forward<Args>(args)...); }
    explicit operator bool() const noexcept { return held_ != nullptr; }

private:
    struct Base {
        virtual ~Base() = default;
        virtual R call(Args... args) = 0;
    };
    template <class F>
    struct Held final : Base {
        explicit Held(F f) : callable(std::move(f)) {}
        R call(Args... args) override { return callable(std::forward<Args>(args)...); }
        F callable;
    };
    std::unique_ptr<Base> held_;
};

}  // namespace presence
