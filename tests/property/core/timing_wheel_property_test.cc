#include "presence/core/timing_wheel.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

namespace presence {
namespace {

constexpr MonoTime kStart{Millis{1'000'000}};
constexpr Millis kTick{50};

/// Against a list of deadlines: whatever is filed, whenever and however late the wheel is turned,
/// each item is looked at once a filing, not before its deadline, and at the first turn that is a
/// tick after it.
RC_GTEST_PROP(TimingWheelProperties, NeverEarlyAtMostATickLateAndNothingLost, ()) {
    const std::size_t buckets = *rc::gen::inRange<std::size_t>(2, 64);
    TimingWheel<int> wheel(kTick, kStart, buckets);
    std::map<int, MonoTime> model;
    std::map<int, bool> within_span;  ///< Of its first filing: then it is looked at once only.
    MonoTime now = kStart;
    int next_item = 0;
    const int steps = *rc::gen::inRange(1, 60);
    for (int step = 0; step < steps; ++step) {
        const int filed = *rc::gen::inRange(0, 4);
        for (int i = 0; i < filed; ++i) {
            const MonoTime deadline = now + Millis{*rc::gen::inRange(-200, 8'000)};
            model.emplace(next_item, deadline);
            const MonoTime turned = kStart + (now - kStart) / kTick * kTick;
            const auto ticks = static_cast<std::int64_t>(buckets) - 1;
            within_span.emplace(next_item, deadline <= turned + ticks * kTick);
            (void)wheel.file(next_item, deadline);
            ++next_item;
        }
        const MonoTime turned_before = now;
        now = now + Millis{*rc::gen::inRange(0, 4) == 0 ? *rc::gen::inRange(0, 20'000)
                                                        : *rc::gen::inRange(0, 120)};
        wheel.advance(now, [&](int item, std::uint32_t) {
            const auto found = model.find(item);
            RC_ASSERT(found != model.end());
            if (found->second > now) {
                RC_ASSERT(!within_span[item]);
                (void)wheel.file(item, found->second);  // Looked at the far end, to file again.
            } else {
                model.erase(found);
            }
        });
        for (const auto& [item, deadline] : model) {
            // What was due a tick before this turn began has been looked at.
            RC_ASSERT(std::max(deadline, turned_before) + 2 * kTick > now);
        }
        RC_ASSERT(wheel.size() == model.size());
    }
}

}  // namespace
}  // namespace presence
