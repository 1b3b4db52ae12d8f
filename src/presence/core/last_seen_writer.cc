#include "presence/core/last_seen_writer.h"

#include "presence/base/assert.h"
#include "presence/base/log.h"

#include <algorithm>
#include <iterator>

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
    std::vector<Queued> taken;
    taken.reserve(queue_.size());
    for (auto& [user, queued] : queue_) {
        taken.push_back(std::move(queued));
    }
    queue_.clear();
    if (taken.empty()) {
        co_return true;
    }
    std::vector<LastSeenRow> rows;
    rows.reserve(taken.size());
    for (const Queued& one : taken) {
        rows.push_back(one.row);
    }
    in_flight_ += taken.size();
    Result<bool> saved = co_await store_.save_last_seen(std::move(rows));
    in_flight_ -= taken.size();
    if (saved) {
        counters_.last_seen_written += taken.size();
        for (Queued& one : taken) {
            tell_journal(std::move(one.ended));
        }
        co_return true;
    }
    ++counters_.last_seen_failures;
    log::warning("last_seen_not_written", "{} rows stay queued: {}", taken.size(),
                 saved.error().message);
    for (Queued& one : taken) {
        note(std::move(one.row), std::move(one.ended));
    }
    co_return false;
}

}  // namespace presence
