#include "presence/model/presence.h"
#include "presence/model/privacy.h"
#include "presence/model/view.h"

#include <gtest/gtest.h>

#include <memory>
#include <type_traits>

namespace presence {
namespace {

constexpr WallTime kNoon = WallTime::from_ms(1'700'000'000'000);

/// A view can only come out of the visibility rules, and a verdict too: the promise of DESIGN
/// rule 25, kept by the compiler.
static_assert(!std::is_default_constructible_v<PresenceView>);
static_assert(!std::is_constructible_v<PresenceView, UserId>);
static_assert(!std::is_constructible_v<PresenceView, const Presence&>);
static_assert(!std::is_constructible_v<Verdict, unsigned>);
static_assert(sizeof(Verdict) == 1);

TEST(Verdict, OneThatNobodyMadeSeesNothing) {
    constexpr Verdict verdict;
    EXPECT_FALSE(verdict.online());
    EXPECT_FALSE(verdict.last_seen());
    EXPECT_FALSE(verdict.own());
    EXPECT_FALSE(verdict.unread());
}

TEST(UserSet, ForgetsOrderAndDoubles) {
    const UserSet a({UserId("c"), UserId("a"), UserId("b"), UserId("a")});
    const UserSet b({UserId("a"), UserId("b"), UserId("c")});
    EXPECT_EQ(a, b);
    EXPECT_EQ(a.size(), 3U);
    EXPECT_TRUE(a.contains(UserId("b")));
    EXPECT_FALSE(a.contains(UserId("bb")));
    EXPECT_TRUE(UserSet().empty());
}

TEST(DeviceSet, HoldsEachKindOnce) {
    DeviceSet set;
    set.insert(DeviceKind::web);
    set.insert(DeviceKind::bot);
    set.insert(DeviceKind::web);
    EXPECT_EQ(set.bits, 0b100001);
    EXPECT_TRUE(set.contains(DeviceKind::bot));
    EXPECT_FALSE(set.contains(DeviceKind::mobile));
}

TEST(DeviceKind, NamesAreInTheOrderOfTheAlphabet) {
    for (int i = 0; i + 1 < kDeviceKinds; ++i) {
        EXPECT_LT(wire_name(static_cast<DeviceKind>(i)), wire_name(static_cast<DeviceKind>(i + 1)));
    }
}

TEST(WireNames, AreThoseOfTheProtocol) {
    EXPECT_EQ(wire_name(Status::dnd), "dnd");
    EXPECT_EQ(wire_name(Status::unknown), "unknown");
    EXPECT_EQ(wire_name(DeclaredStatus::automatic), "auto");
    EXPECT_EQ(wire_name(Audience::contacts_except), "contactsExcept");
    EXPECT_EQ(wire_name(Granularity::this_week), "thisWeek");
    EXPECT_EQ(wire_name(Granularity::this_month), "thisMonth");
    EXPECT_EQ(wire_name(Granularity::long_ago), "longAgo");
}

CustomStatusRef custom(const char* text, std::optional<WallTime> end = std::nullopt) {
    return make_ref<const CustomStatus>(CustomStatus{text, "", end});
}

TEST(CustomStatus, IsComparedByWhatItSays) {
    EXPECT_TRUE(same(custom("tea"), custom("tea")));
    EXPECT_FALSE(same(custom("tea"), custom("coffee")));
    EXPECT_FALSE(same(custom("tea"), nullptr));
    EXPECT_FALSE(same(nullptr, custom("tea")));
    EXPECT_TRUE(same(nullptr, nullptr));
}

TEST(CustomStatus, IsOverAtItsEndAndNotBefore) {
    const CustomStatusRef tea = custom("tea", kNoon);
    EXPECT_EQ(unless_over(tea, kNoon - 1ms), tea);
    EXPECT_EQ(unless_over(tea, kNoon), nullptr);
    EXPECT_EQ(unless_over(nullptr, kNoon), nullptr);
    const CustomStatusRef lasting = custom("tea");
    EXPECT_EQ(unless_over(lasting, kNoon), lasting);
}

TEST(Face, WhenTheStatusBeganIsNoPartOfWhatAFaceShows) {
    Face a;
    a.status = Status::away;
    a.custom = custom("tea");
    a.since = kNoon;
    Face b = a;
    b.custom = custom("tea");
    b.since = kNoon + 1h;
    EXPECT_EQ(a, b);
    b.devices.insert(DeviceKind::web);
    EXPECT_FALSE(a == b);
}

}  // namespace
}  // namespace presence
