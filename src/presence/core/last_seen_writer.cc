#include "presence/core/last_seen_writer.h"

#include "presence/base/assert.h"
#include "presence/base/log.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace presence {

namespace {
constexpr Millis kBetweenWrites{1000};
}

void LastSeenWriter::note(LastSeenRow row, std::vector<JournalEntry> ended) {
    const auto found = queue_.find(row.user);
    if (found != queue_.end()) {
        LastSeenRow& queued = found->second.row;
        queued.last_seen = std::max(queued.last_seen, row.last_seen);
        queued.own_version = std::max(queued.own_version, row.own_version);
        queued.shown_version = std::max(queued.shown_version, row.shown_version);
        queued.written_at = std::max(queued.written_at, row.written_at);
        found->second.ended.insert(found->second.ended.end(),
                                   std::make_move_iterator(ended.begin()),
                                   std::make_move_iterator(ended.end()));
    } else if (queue_.size() >= limits_.last_seen_queue) {
        ++counters_.last_seen_lost;
        tell_journal(std::move(ended));
        return;
    } else {
        UserId user = row.user;
        queue_.emplace(std::move(user), Queued{std::move(row), std::move(ended)});
    }
    arm();
}

void LastSeenWriter::tell_journal(std::vector<JournalEntry> ended) {
    for (JournalEntry& entry : ended) {
        PRESENCE_ASSERT(journal_ != nullptr);
        journal_->note(std::move(entry));
    }
}

void LastSeenWriter::arm() {
    if (!armed_) {
        armed_ = true;
        scheduler_.after(kBetweenWrites, [this] { flush_later(); });
    }
}

Detached LastSeenWriter::flush_later() {
    co_await flush();
    armed_ = false;
    if (!queue_.empty()) {
        arm();
    }
}

Task<bool> LastSeenWriter::flush() {
    if (queue_.empty()) {
        co_return true;
    }
    const auto place = writing_.emplace(writing_.end());
    std::vector<Queued>& taken = *place;
    taken.reserve(queue_.size());
    for (auto& [user, queued] : queue_) {
        taken.push_back(std::move(queued));
    }
    queue_.clear();
    std::vector<LastSeenRow> rows;
    rows.reserve(taken.size());
    for (const Queued& one : taken) {
        rows.push_back(one.row);
    }
    in_flight_ += taken.size();
    const bool saved = co_await save(std::move(rows));
    in_flight_ -= taken.size();
    for (Queued& one : taken) {
        if (saved) {
            tell_journal(std::move(one.ended));
        } else {
            note(std::move(one.row), std::move(one.ended));
        }
    }
    writing_.erase(place);
    co_return saved;
}

Task<std::vector<LastSeenRow>> LastSeenWriter::owed(bool spooled) const {
    std::vector<LastSeenRow> rows;
    if (spooled && spool_ != nullptr && spool_->waiting() > 0) {
        // All at once: it has no more of them than it has room.
        Result<std::vector<LastSeenRow>> waiting = co_await spool_->oldest(spool_->waiting());
        if (waiting) {
            rows = std::move(*waiting);
        } else {
            log::error("spool_not_read", "{}", waiting.error().message);
        }
    }
    // Only now, as what was on its way into the spool may be back in the queue.
    for (const std::vector<Queued>& written : writing_) {
        for (const Queued& one : written) {
            rows.push_back(one.row);
        }
    }
    for (const auto& [user, queued] : queue_) {
        rows.push_back(queued.row);
    }
    co_return rows;
}

Task<bool> LastSeenWriter::save(std::vector<LastSeenRow> rows) {
    const std::size_t count = rows.size();
    std::vector<LastSeenRow> copy = rows;
    Result<bool> saved = co_await store_.save_last_seen(std::move(copy));
    if (saved) {
        counters_.last_seen_written += count;
        if (owed_ != nullptr) {
            owed_->written(rows);
        }
        if (std::exchange(failing_, false)) {
            log::warning("last_seen_written", "the database takes last-seen rows again");
        }
        co_return true;
    }
    ++counters_.last_seen_failures;
    if (!std::exchange(failing_, true)) {
        log::warning("last_seen_not_written", "{} rows: {}", count, saved.error().message);
    }
    if (spool_ == nullptr) {
        co_return false;
    }
    Result<bool> spooled = co_await spool_->append(std::move(rows));
    if (!spooled) {
        ++counters_.spool_failures;
        log::error("last_seen_not_spooled", "{} rows stay in memory: {}", count,
                   spooled.error().message);
        co_return false;
    }
    counters_.last_seen_spooled += count;
    co_return true;
}

}  // namespace presence
