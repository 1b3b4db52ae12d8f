#include "presence/core/spool_drainer.h"

#include "presence/base/log.h"

#include <utility>
#include <vector>

namespace presence {

namespace {
constexpr Millis kBetweenLooks{1000};
/// A statement of that many takes some milliseconds.
constexpr std::size_t kRowsAtOnce = 1000;
}  // namespace

void SpoolDrainer::start() {
    run();
}

Detached SpoolDrainer::run() {
    co_await drain();
    scheduler_.after(kBetweenLooks, [this] { run(); });
}

Task<bool> SpoolDrainer::drain() {
    if (std::exchange(draining_, true)) {
        co_return false;
    }
    std::size_t drained = 0;
    bool empty = spool_.waiting() == 0;
    while (!empty) {
        Result<std::vector<LastSeenRow>> rows = co_await spool_.oldest(kRowsAtOnce);
        if (!rows) {
            log::error("spool_not_read", "{}", rows.error().message);
            break;
        }
        const std::size_t count = rows->size();
        const bool written = co_await write(std::move(*rows));
        if (!written) {
            break;
        }
        Result<bool> dropped = co_await spool_.drop(count);
        if (!dropped) {
            log::error("spool_not_emptied", "{}", dropped.error().message);
            break;
        }
        drained += count;
        empty = spool_.waiting() == 0;
    }
    draining_ = false;
    if (drained > 0) {
        log::info("spool_drained", "{} last-seen rows brought into the database", drained);
    }
    co_return empty;
}

Task<bool> SpoolDrainer::write(std::vector<LastSeenRow> rows) {
    const std::size_t count = rows.size();
    std::vector<LastSeenRow> copy = rows;
    Result<bool> saved = co_await store_.save_last_seen(std::move(copy));
    if (saved) {
        counters_.last_seen_written += count;
        if (owed_ != nullptr) {
            owed_->written(rows);
        }
        co_return true;
    }
    if (saved.error().code == ErrorCode::unavailable) {
        co_return false;
    }
    // One row that the database will never take must not hold up all others.
    const bool written = co_await write_one_by_one(std::move(rows));
    co_return written;
}

Task<bool> SpoolDrainer::write_one_by_one(std::vector<LastSeenRow> rows) {
    for (const LastSeenRow& row : rows) {
        const std::vector<LastSeenRow> one{row};
        std::vector<LastSeenRow> copy = one;
        Result<bool> saved = co_await store_.save_last_seen(std::move(copy));
        if (saved) {
            ++counters_.last_seen_written;
            if (owed_ != nullptr) {
                owed_->written(one);
            }
        } else if (saved.error().code == ErrorCode::unavailable) {
            co_return false;
        } else {
            ++counters_.last_seen_lost;
            log::error("last_seen_refused", "a row is given up: {}", saved.error().message);
        }
    }
    co_return true;
}

}  // namespace presence
