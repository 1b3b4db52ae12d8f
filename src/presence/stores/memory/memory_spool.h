#pragma once

#include "presence/ports/last_seen_spool.h"
#include "presence/stores/memory/faults.h"

#include <algorithm>
#include <deque>
#include <iterator>

namespace presence {

/// What would stand on a disk: give the same one to the next MemorySpool to play a restart.
struct MemorySpoolState {
    std::deque<LastSeenRow> rows;
    std::size_t limit = 1'000'000;
    StoreFaults faults;
};

/// A spool in memory, for tests. Completes at once.
class MemorySpool final : public LastSeenSpool {
public:
    explicit MemorySpool(MemorySpoolState& state) : state_(state) {}

    [[nodiscard]] Task<Result<bool>> append(std::vector<LastSeenRow> rows) override {
        if (state_.faults.unavailable()) {
            co_return StoreFaults::error("the spool");
        }
        if (state_.rows.size() + rows.size() > state_.limit) {
            co_return Error{ErrorCode::limit_exceeded, "the spool is full", 0,
                            static_cast<std::int64_t>(state_.limit)};
        }
        state_.rows.insert(state_.rows.end(), rows.begin(), rows.end());
        co_return true;
    }
    [[nodiscard]] Task<Result<std::vector<LastSeenRow>>> oldest(std::size_t most) override {
        const auto count = static_cast<std::ptrdiff_t>(std::min(most, state_.rows.size()));
        co_return std::vector<LastSeenRow>(state_.rows.begin(), state_.rows.begin() + count);
    }
    [[nodiscard]] Task<Result<bool>> drop(std::size_t count) override {
        const auto taken = static_cast<std::ptrdiff_t>(std::min(count, state_.rows.size()));
        state_.rows.erase(state_.rows.begin(), state_.rows.begin() + taken);
        co_return true;
    }
    [[nodiscard]] std::size_t waiting() const override { return state_.rows.size(); }

private:
    MemorySpoolState& state_;
};

}  // namespace presence
