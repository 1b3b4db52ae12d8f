#pragma once

#include <atomic>
#include <cstddef>
#include <utility>

namespace presence {

/// How many streams and waiting polls the node has, on all its threads. Any thread.
class NodeReaders {
public:
    /// One of them, for as long as it lives. Belongs to one thread at a time.
    class Place {
    public:
        Place() = default;
        Place(Place&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
        Place& operator=(Place&& other) noexcept {
            std::swap(of_, other.of_);
            return *this;
        }
        ~Place() {
            if (of_ != nullptr) {
                of_->count_.fetch_sub(1, std::memory_order_relaxed);
            }
        }
        explicit operator bool() const noexcept { return of_ != nullptr; }

    private:
        friend class NodeReaders;
        explicit Place(NodeReaders* of) : of_(of) {}
        NodeReaders* of_ = nullptr;
    };

    /// An empty one where there are `most`.
    [[nodiscard]] Place take(std::size_t most) {
        std::size_t now = count_.load(std::memory_order_relaxed);
        while (now < most) {
            if (count_.compare_exchange_weak(now, now + 1, std::memory_order_relaxed)) {
                return Place(this);
            }
        }
        return {};
    }
    [[nodiscard]] std::size_t count() const noexcept {
        return count_.load(std::memory_order_relaxed);
    }

private:
    std::atomic<std::size_t> count_{0};
};

}  // namespace presence
