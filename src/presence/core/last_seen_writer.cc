#include "presence/core/last_seen_writer.h"

#include "presence/base/log.h"

#include <algorithm>

namespace presence {

namespace {
constexpr Millis kBetweenWrites{1000};
}

void LastSeenWriter::note(LastSeenRow row) {
    const auto found = queue_.find(row.user);
    if (found != queue_.end()) {
        LastSeenRow& queued = found->second;
        queued.last_seen = std::max(queued.last_seen, row.last_seen);
        queued.own_version = std::max(queued.own_version, row.own_version);
        queued.shown_version = std::max(queued.shown_version, row.shown_version);
        queued.written_at = std::max(queued.written_at, row.written_at);
    } else if (queue_.size() >= limits_.last_seen_queue) {
        ++counters_.last_seen_lost;
        return;
    } else {
        UserId user = row.user;
        queue_.emplace(std::move(user), std::move(row));
    }
    arm();
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
    std::vector<LastSeenRow> rows;
    rows.reserve(queue_.size());
    for (auto& [user, row] : queue_) {
        rows.push_back(std::move(row));
    }
    queue_.clear();
    if (rows.empty()) {
        co_return true;
    }
    in_flight_ += rows.size();
    Result<bool> saved = co_await store_.save_last_seen(rows);
    in_flight_ -= rows.size();
    if (saved) {
        counters_.last_seen_written += rows.size();
        co_return true;
    }
    ++counters_.last_seen_failures;
    log::warning("last_seen_not_written", "{} rows stay queued: {}", rows.size(),
                 saved.error().message);
    for (LastSeenRow& row : rows) {
        note(std::move(row));
    }
    co_return false;
}

}  // namespace presence
