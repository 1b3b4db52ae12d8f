#include "presence/core/journal_writer.h"

#include "presence/base/log.h"
#include "presence/base/slice.h"
#include "presence/rules/version.h"

#include <utility>

namespace presence {

namespace {
constexpr Millis kBetweenWrites{250};
constexpr Millis kBetweenSignsOfLife{2000};
constexpr Millis kHandOver{50};
/// A disk that does not take lines is left alone for that long.
constexpr Millis kAfterFailure{1000};
/// Lines of one write: what a failure makes this thread copy.
constexpr std::size_t kBatch = 10'000;
}  // namespace

void JournalWriter::start() {
    last_alive_ = clock_.now();
    scheduler_.after(kBetweenWrites, [this] { run(); });
}

Detached JournalWriter::run() {
    bool written = true;
    if (!queue_.empty() || clock_.now() - last_alive_ >= kBetweenSignsOfLife) {
        written = co_await flush();
    }
    scheduler_.after(written ? kBetweenWrites : kAfterFailure, [this] { run(); });
}

Task<bool> JournalWriter::flush() {
    if (writing_) {
        co_return false;
    }
    writing_ = true;
    std::vector<JournalEntry> lines = std::exchange(queue_, {});
    std::size_t done = 0;
    Result<bool> written = true;
    do {
        std::vector<JournalEntry> batch = slice(lines, done, kBatch);
        const std::size_t count = batch.size();
        const WallTime alive_at = clock_.wall_now();
        written =
            co_await journal_.write(std::move(batch), alive_at, rules::version_floor(alive_at));
        done += written ? count : 0;
    } while (written && done < lines.size());
    writing_ = false;
    counters_.journal_written += done;
    waiting_ -= done;
    full_ = waiting_ >= limits_.journal_queue;
    if (written) {
        last_alive_ = clock_.now();
        co_return true;
    }
    ++counters_.journal_failures;
    log::warning("journal_not_written", "{} lines stay queued: {}", lines.size() - done,
                 written.error().message);
    lines.erase(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(done));
    lines.insert(lines.end(), std::make_move_iterator(queue_.begin()),
                 std::make_move_iterator(queue_.end()));
    queue_ = std::move(lines);
    co_return false;
}

void ThreadJournal::note(JournalEntry entry) {
    queue_.push_back(std::move(entry));
    if (!armed_) {
        armed_ = true;
        own_.after(kHandOver, [this] { hand_over(); });
    }
}

void ThreadJournal::hand_over() {
    armed_ = false;
    if (queue_.empty()) {
        return;
    }
    writers_.post([writer = &writer_, lines = std::exchange(queue_, {})]() mutable {
        for (JournalEntry& line : lines) {
            writer->note(std::move(line));
        }
    });
}

}  // namespace presence
