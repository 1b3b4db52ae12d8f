#pragma once

#include "presence/base/assert.h"
#include "presence/base/time.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <forward_list>
#include <utility>
#include <vector>

namespace presence {

/// Deadlines of very many things, each looked at once per deadline and never touched in between.
///
/// An item is filed under the tick of its deadline. When that tick comes the caller looks at the
/// item and, if it lives longer than it did when it was filed, files it again: so a heartbeat costs
/// the wheel nothing. Deadlines beyond the wheel's span are filed at its far end, and again from
/// there. An item is never visited before its deadline, and at most one tick after it.
///
/// One thread. Item: small and trivially copyable.
template <class Item>
class TimingWheel {
public:
    /// @param tick   Resolution, at least 1 ms.
    /// @param start  The present.
    TimingWheel(Millis tick, MonoTime start, std::size_t buckets = 4096)
        : tick_(tick), start_(start), buckets_(buckets) {
        PRESENCE_ASSERT(tick.count() > 0 && buckets > 1);
    }

    /// Files `item` to be visited once `deadline` has come. Returns the tick under which it stands,
    /// by which a caller can tell its newest filing from older ones of the same item.
    std::uint32_t file(Item item, MonoTime deadline) {
        const std::uint64_t at = place_of(deadline);
        buckets_[at % buckets_.size()].add(item);
        ++size_;
        return static_cast<std::uint32_t>(at);
    }

    /// The tick under which file() would put `deadline` now; never 0.
    [[nodiscard]] std::uint32_t tick_of(MonoTime deadline) const {
        return static_cast<std::uint32_t>(place_of(deadline));
    }

    /// Visits what has come due by `now`, in the order of ticks. `visit(item, tick)` may file.
    template <class Visit>
    void advance(MonoTime now, Visit&& visit) {
        const std::uint64_t reached = now < start_ ? 0 : ticks_between(start_, now);
        while (visited_ < reached) {
            ++visited_;
            Bucket due = std::exchange(buckets_[visited_ % buckets_.size()], {});
            for (; !due.chunks.empty(); due.chunks.pop_front()) {
                const Chunk& chunk = due.chunks.front();
                size_ -= chunk.used;
                for (std::uint32_t at = 0; at < chunk.used; ++at) {
                    visit(chunk.items[at], static_cast<std::uint32_t>(visited_));
                }
            }
        }
    }

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] Millis tick() const noexcept { return tick_; }

private:
    /// A few items at a time: a vector has room for up to as many again, and each session stands
    /// in some bucket.
    static constexpr std::size_t kChunkBytes = 240;
    struct Chunk {
        static constexpr std::size_t kItems =
            (kChunkBytes - sizeof(void*) - sizeof(std::uint32_t)) / sizeof(Item);
        static_assert(kItems > 0);
        std::uint32_t used = 0;
        std::array<Item, kItems> items;
    };
    struct Bucket {
        std::forward_list<Chunk> chunks;
        typename std::forward_list<Chunk>::iterator last = {};

        void add(const Item& item) {
            if (chunks.empty()) {
                last = chunks.emplace_after(chunks.before_begin());
            } else if (last->used == Chunk::kItems) {
                last = chunks.emplace_after(last);
            }
            last->items[last->used++] = item;
        }
    };

    [[nodiscard]] std::uint64_t ticks_between(MonoTime from, MonoTime to) const {
        return static_cast<std::uint64_t>((to - from) / tick_);
    }
    [[nodiscard]] std::uint64_t place_of(MonoTime deadline) const {
        const std::uint64_t farthest = visited_ + buckets_.size() - 1;
        return std::clamp(tick_not_before(deadline), visited_ + 1, farthest);
    }
    [[nodiscard]] std::uint64_t tick_not_before(MonoTime deadline) const {
        if (deadline <= start_) {
            return 0;
        }
        return static_cast<std::uint64_t>((deadline - start_ + tick_ - Millis{1}) / tick_);
    }

    Millis tick_;
    MonoTime start_;
    std::uint64_t visited_ = 0;  ///< The last tick whose bucket was emptied.
    std::size_t size_ = 0;
    std::vector<Bucket> buckets_;
};

}  // namespace presence
