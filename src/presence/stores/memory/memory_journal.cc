#include "presence/stores/memory/memory_journal.h"

#include <algorithm>
#include <utility>

namespace presence {

Task<Result<JournalStart>> MemoryJournal::start(std::uint64_t floor) {
    if (scheduler_ != nullptr && state_.faults.delay() > Millis{0}) {
        co_await wait_for(*scheduler_, state_.faults.delay());
    }
    if (state_.faults.unavailable()) {
        co_return StoreFaults::error("journal");
    }
    state_.version_floor = std::max(state_.version_floor, floor) + kJournalFloorStep;
    JournalStart start;
    start.last_alive = state_.last_alive;
    start.version_floor = state_.version_floor;
    for (const auto& [key, session] : state_.open) {
        start.open.push_back({key.first, session});
    }
    co_return start;
}

Task<Result<bool>> MemoryJournal::write(std::vector<JournalEntry> entries, WallTime alive_at,
                                        std::uint64_t floor) {
    if (scheduler_ != nullptr && state_.faults.delay() > Millis{0}) {
        co_await wait_for(*scheduler_, state_.faults.delay());
    }
    if (state_.faults.unavailable()) {
        co_return StoreFaults::error("journal");
    }
    for (JournalEntry& entry : entries) {
        std::pair key{std::move(entry.user), std::move(entry.id)};
        if (entry.session) {
            state_.open.insert_or_assign(std::move(key), std::move(*entry.session));
        } else {
            state_.open.erase(key);
        }
    }
    state_.last_alive = alive_at;
    state_.version_floor = std::max(state_.version_floor, floor);
    co_return true;
}

}  // namespace presence
