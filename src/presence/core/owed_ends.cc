#include "presence/core/owed_ends.h"

#include <utility>

namespace presence {

namespace {
/// In a cluster that is a command a partition each time; between two times the store holds some
/// hundred bytes for each end.
constexpr Millis kBetweenDrops{30'000};
}  // namespace

void OwedEnds::written(const std::vector<LastSeenRow>& rows) {
    if (nodes_.alone()) {
        return;
    }
    for (const LastSeenRow& row : rows) {
        if (written_.size() < limits_.last_seen_queue || written_.contains(row.user)) {
            written_.insert_or_assign(row.user, row);
        } else {
            ++counters_.ends_left_owed;  // It goes when its time in the store is over.
        }
    }
    if (!written_.empty()) {
        arm();
    }
}

void OwedEnds::arm() {
    if (!std::exchange(armed_, true)) {
        scheduler_.after(kBetweenDrops, [this] { drop_later(); });
    }
}

Detached OwedEnds::drop_later() {
    co_await drop();
    armed_ = false;
    if (!written_.empty()) {
        arm();
    }
}

Task<bool> OwedEnds::drop() {
    std::vector<LastSeenRow> rows;
    rows.reserve(written_.size());
    for (auto& [user, row] : std::exchange(written_, {})) {
        rows.push_back(row);
    }
    if (rows.empty()) {
        co_return true;
    }
    std::vector<LastSeenRow> copy = rows;
    Result<bool> dropped = co_await store_.drop_ends(std::move(copy));
    if (!dropped) {
        for (LastSeenRow& row : rows) {
            UserId user = row.user;
            written_.try_emplace(std::move(user), std::move(row));  // A newer one stays.
        }
    }
    co_return dropped.has_value();
}

}  // namespace presence
