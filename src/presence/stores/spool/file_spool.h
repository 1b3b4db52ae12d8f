#pragma once

#include "presence/base/scheduler.h"
#include "presence/base/unique_function.h"
#include "presence/ports/last_seen_spool.h"
#include "presence/stores/spool/spool_file.h"

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

namespace presence {

/// A spool file and the thread that works on it. One a process; shared by the FileSpools of all
/// threads. The queue needs no limit: each writer waits for its call before it makes the next.
class SpoolThread {
public:
    explicit SpoolThread(std::unique_ptr<spool::SpoolFile> file);
    SpoolThread(const SpoolThread&) = delete;
    SpoolThread& operator=(const SpoolThread&) = delete;
    ~SpoolThread() { stop(); }

    using Work = UniqueFunction<void(spool::SpoolFile&)>;
    /// Any thread. After stop() it is run at once, on the caller's.
    void submit(Work work);
    /// Finishes what was handed in. Blocks.
    void stop();
    [[nodiscard]] std::size_t rows() const { return file_->rows(); }

private:
    void run();

    std::unique_ptr<spool::SpoolFile> file_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Work> queue_;
    bool stopping_ = false;
    std::thread thread_;
};

/// The spool as one thread uses it; completes on `home`.
class FileSpool final : public LastSeenSpool {
public:
    FileSpool(SpoolThread& thread, Scheduler& home) : thread_(thread), home_(home) {}

    [[nodiscard]] Task<Result<bool>> append(std::vector<LastSeenRow> rows) override;
    [[nodiscard]] Task<Result<std::vector<LastSeenRow>>> oldest(std::size_t most) override;
    [[nodiscard]] Task<Result<bool>> drop(std::size_t count) override;
    [[nodiscard]] std::size_t waiting() const override { return thread_.rows(); }

private:
    template <class T>
    Task<Result<T>> call(UniqueFunction<Result<T>(spool::SpoolFile&)> work);

    SpoolThread& thread_;
    Scheduler& home_;
};

}  // namespace presence
