#include "presence/stores/spool/file_spool.h"

#include <utility>

namespace presence {

using spool::SpoolFile;

SpoolThread::SpoolThread(std::unique_ptr<SpoolFile> file)
    : file_(std::move(file)), thread_([this] { run(); }) {}

void SpoolThread::submit(Work work) {
    {
        const std::lock_guard lock(mutex_);
        if (!stopping_) {
            queue_.push_back(std::move(work));
            changed_.notify_one();
            return;
        }
    }
    work(*file_);
}

void SpoolThread::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable()) {
        thread_.join();
    }
}

void SpoolThread::run() {
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [this] { return !queue_.empty() || stopping_; });
        if (queue_.empty()) {
            return;
        }
        Work work = std::move(queue_.front());
        queue_.pop_front();
        lock.unlock();
        work(*file_);
        lock.lock();
    }
}

template <class T>
Task<Result<T>> FileSpool::call(UniqueFunction<Result<T>(SpoolFile&)> work) {
    Completion<Result<T>> completion([&](typename Completion<Result<T>>::Done done) {
        thread_.submit([home = &home_, work = std::move(work),
                        done = std::move(done)](SpoolFile& file) mutable {
            home->post([done = std::move(done), result = work(file)]() mutable {
                done(std::move(result));
            });
        });
    });
    Result<T> result = co_await completion;
    co_return result;
}

Task<Result<bool>> FileSpool::append(std::vector<LastSeenRow> rows) {
    return call<bool>([rows = std::move(rows)](SpoolFile& file) { return file.append(rows); });
}

Task<Result<std::vector<LastSeenRow>>> FileSpool::oldest(std::size_t most) {
    return call<std::vector<LastSeenRow>>([most](SpoolFile& file) { return file.oldest(most); });
}

Task<Result<bool>> FileSpool::drop(std::size_t count) {
    return call<bool>([count](SpoolFile& file) { return file.drop(count); });
}

}  // namespace presence
