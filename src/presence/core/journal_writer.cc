#include "presence/core/journal_writer.h"

#include "presence/base/log.h"
#include "presence/rules/version.h"

#include <utility>

namespace presence {

namespace {
constexpr Millis kBetweenWrites{250};
constexpr Millis kBetweenSignsOfLife{2000};
constexpr Millis kHandOver{50};
}  // namespace

void JournalWriter::start() {
    last_alive_ = clock_.now();
    scheduler_.after(kBetweenWrites, [this] { run(); });
}

Detached JournalWriter::run() {
    if (!queue_.empty() || clock_.now() - last_alive_ >= kBetweenSignsOfLife) {
        co_await flush();
    }
    scheduler_.after(kBetweenWrites, [this] { run(); });
}

Task<bool> JournalWriter::flush() {
    if (writing_) {
        co_return false;
    }
    writing_ = true;
    std::vector<JournalEntry> batch = std::exchange(queue_, {});
    const std::size_t count = batch.size();
    const WallTime alive_at = clock_.wall_now();
    std::vector<JournalEntry> copy = batch;
    Result<bool> written =
        co_await journal_.write(std::move(copy), alive_at, rules::version_floor(alive_at));
    writing_ = false;
    if (written) {
        last_alive_ = clock_.now();
        counters_.journal_written += count;
        waiting_ -= count;
        co_return true;
    }
    ++counters_.journal_failures;
    log::warning("journal_not_written", "{} lines stay queued: {}", count, written.error().message);
    batch.insert(batch.end(), std::make_move_iterator(queue_.begin()),
                 std::make_move_iterator(queue_.end()));
    queue_ = std::move(batch);
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
