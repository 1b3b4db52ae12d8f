#include "presence/base/clock.h"

#include "support/virtual_time.h"

#include <gtest/gtest.h>

namespace presence {
namespace {

using testing::VirtualClock;
using namespace std::chrono_literals;

TEST(ReferenceClock, IsTheMachinesUntilItWasRead) {
    VirtualClock machine;
    const ReferenceClock clock(machine);
    machine.step_wall(300s);
    EXPECT_FALSE(clock.was_read());
    EXPECT_EQ(clock.wall_now(), machine.wall_now());
    EXPECT_EQ(clock.machine_ahead(), 0s);
}

TEST(ReferenceClock, GoesOnFromItsLastReadingWhateverBecomesOfTheClockOnTheWall) {
    VirtualClock machine;
    ReferenceClock clock(machine);
    clock.put_right(-30s);
    EXPECT_TRUE(clock.was_read());
    EXPECT_EQ(clock.wall_now(), VirtualClock::kStart - 30s);
    machine.pass(5s);
    machine.step_wall(300s);
    EXPECT_EQ(clock.wall_now(), VirtualClock::kStart - 25s);
    EXPECT_EQ(clock.machine_ahead(), 330s);
    clock.put_right(40ms);
    EXPECT_EQ(clock.wall_now(), VirtualClock::kStart - 25s + 40ms);
}

}  // namespace
}  // namespace presence
