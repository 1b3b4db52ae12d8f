#pragma once

#include "presence/base/home_thread.h"
#include "presence/base/ids.h"
#include "presence/base/scheduler.h"
#include "presence/base/task.h"

#include <cstddef>
#include <utility>
#include <vector>

namespace presence {

/// Which thread of this process a user's sessions live on: all connections of a user are handed to
/// that thread, so its flows about the user need no other.
class Homes {
public:
    explicit Homes(std::vector<Scheduler*> threads) : threads_(std::move(threads)) {}

    [[nodiscard]] std::size_t count() const noexcept { return threads_.size(); }
    [[nodiscard]] std::size_t index_of(const UserId& user) const noexcept {
        return home_thread(user, threads_.size());
    }
    /// Which thread keeps a room.
    [[nodiscard]] std::size_t index_of(const RoomId& room) const noexcept {
        return home_thread(room, threads_.size());
    }
    [[nodiscard]] Scheduler& thread(std::size_t index) const { return *threads_[index]; }

private:
    std::vector<Scheduler*> threads_;
};

/// Runs the task that `make` returns on the thread of `there`, and completes with its result on
/// that of `here`. `make` is called there, so it may touch what lives there.
template <class T, class Make>
[[nodiscard]] Task<T> run_there(Scheduler& here, Scheduler& there, Make make) {
    if (&here == &there) {
        Task<T> task = make();
        T result = co_await task;
        co_return result;
    }
    using Done = typename Completion<T>::Done;
    struct Trip {
        static Detached go(Scheduler& home, Make job, Done done) {
            Task<T> task = job();
            T result = co_await task;
            home.post([done = std::move(done), result = std::move(result)]() mutable {
                done(std::move(result));
            });
        }
    };
    Completion<T> completion([&](Done done) {
        there.post([&here, make = std::move(make), done = std::move(done)]() mutable {
            Trip::go(here, std::move(make), std::move(done));
        });
    });
    T result = co_await completion;
    co_return result;
}

}  // namespace presence
