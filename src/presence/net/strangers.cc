#include "presence/net/strangers.h"

#include "presence/base/assert.h"

namespace presence::net {

namespace {

/// Adds one where fewer than `most` stand.
bool add_below(std::atomic<std::uint32_t>& count, std::uint32_t most) {
    std::uint32_t now = count.load();
    while (now < most) {
        if (count.compare_exchange_weak(now, now + 1)) {
            return true;
        }
    }
    return false;
}

void take_one(std::atomic<std::uint32_t>& count) {
    const std::uint32_t before = count.fetch_sub(1);
    PRESENCE_ASSERT(before > 0);
}

}  // namespace

Strangers::Answer Strangers::take(const AddressKey& address, std::uint32_t most_here,
                                  std::uint32_t most) {
    std::atomic<std::uint32_t>& row = here_.of(address);
    if (!add_below(row, most_here)) {
        return Answer::too_many_here;
    }
    if (!add_below(all_, most)) {
        take_one(row);
        return Answer::too_many;
    }
    return Answer::taken;
}

void Strangers::give_back(const AddressKey& address) {
    take_one(here_.of(address));
    take_one(all_);
}

}  // namespace presence::net
