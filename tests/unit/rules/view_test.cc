#include "presence/rules/visibility.h"

#include "unit/rules/people.h"

#include <gtest/gtest.h>

namespace presence::rules {
namespace {

using test::for_all;
using test::kNow;
using test::rule;
using test::words;

const UserId kAda("ada");
const UserId kBob("bob");

Verdict sees_all() {
    return judge({kAda, nullptr}, {kBob, nullptr}, {.last_seen = rule(Audience::everyone)});
}
Verdict sees_online() {
    return judge({kAda, nullptr}, {kBob, nullptr}, {});
}
Verdict sees_own() {
    return judge({kAda, nullptr}, {kAda, nullptr}, {});
}
Verdict sees_nothing() {
    return {};
}

/// Away with a phone and words, after having been offline before.
Presence away() {
    Presence presence;
    presence.shown.status = Status::away;
    presence.shown.devices.insert(DeviceKind::mobile);
    presence.shown.custom = words("tea");
    presence.shown.since = kNow - 90s;
    presence.own = presence.shown;
    presence.shown_version = Version{7};
    presence.own_version = Version{9};
    presence.last_seen = kNow - 24h;
    return presence;
}

Presence offline(std::optional<WallTime> last_seen = kNow - 30s) {
    Presence presence;
    presence.shown_version = Version{7};
    presence.own_version = Version{9};
    presence.last_seen = last_seen;
    return presence;
}

Presence invisible() {
    Presence presence = offline();
    presence.own.status = Status::invisible;
    presence.own.devices.insert(DeviceKind::desktop);
    presence.own.custom = words("hiding");
    presence.own.since = kNow - 1h;
    presence.declared = for_all(DeclaredStatus::invisible);
    return presence;
}

PresenceView seen_by(Verdict verdict, const Presence* presence, Viewing viewing = {.now = kNow}) {
    return view_for(kAda, presence, verdict, viewing);
}

/// `{"userId":"ada","status":"offline","version":0}` and not a byte more.
void expect_nobody(const PresenceView& view) {
    EXPECT_EQ(view.user(), kAda);
    EXPECT_EQ(view.status(), Status::offline);
    EXPECT_EQ(view.version(), Version{0});
    EXPECT_EQ(view.since(), std::nullopt);
    EXPECT_EQ(view.custom(), nullptr);
    EXPECT_EQ(view.devices(), std::nullopt);
    EXPECT_EQ(view.last_seen(), std::nullopt);
    EXPECT_FALSE(view.declared());
}

TEST(View, OneWhoMaySeeIsToldAllOfIt) {
    const Presence presence = away();
    const PresenceView view = seen_by(sees_all(), &presence);
    EXPECT_EQ(view.user(), kAda);
    EXPECT_EQ(view.status(), Status::away);
    EXPECT_EQ(view.version(), Version{7});
    ASSERT_TRUE(view.custom());
    EXPECT_EQ(view.custom()->text, "tea");
    ASSERT_TRUE(view.devices());
    EXPECT_TRUE(view.devices()->contains(DeviceKind::mobile));
    EXPECT_EQ(view.last_seen(), std::nullopt);
    EXPECT_FALSE(view.declared());
}

/// FO-052: unknown, never seen, hidden and forbidden are one and the same.
TEST(View, Fo052WhoMayNotSeeIsToldOfNobodyWhateverThereIs) {
    const Presence there = away();
    const Presence gone = offline();
    const Presence hiding = invisible();
    const Presence never;
    for (const Presence* presence :
         {static_cast<const Presence*>(nullptr), &there, &gone, &hiding, &never}) {
        for (const bool store_down : {false, true}) {
            expect_nobody(
                seen_by(sees_nothing(), presence, {.now = kNow, .store_down = store_down}));
        }
    }
}

TEST(View, WhoWasNeverThereLooksTheSameToThoseWhoMaySee) {
    const Presence never;
    expect_nobody(seen_by(sees_all(), &never));
    expect_nobody(seen_by(sees_all(), nullptr));
    expect_nobody(seen_by(sees_own(), nullptr));
}

TEST(View, WithoutAVerdictTheAnswerIsUnknownWhateverThereIs) {
    const Presence there = away();
    for (const Presence* presence : {static_cast<const Presence*>(nullptr), &there}) {
        const PresenceView view = seen_by(verdict_unread(), presence);
        EXPECT_EQ(view.status(), Status::unknown);
        EXPECT_EQ(view.version(), Version{0});
        EXPECT_EQ(view.custom(), nullptr);
        EXPECT_EQ(view.devices(), std::nullopt);
        EXPECT_EQ(view.last_seen(), std::nullopt);
        EXPECT_FALSE(view.declared());
    }
}

TEST(View, TheInvisibleAreOfflineToOthers) {
    const Presence hiding = invisible();
    const Presence gone = offline();
    const PresenceView view = seen_by(sees_all(), &hiding);
    EXPECT_EQ(view.status(), Status::offline);
    EXPECT_EQ(view.version(), Version{7});
    EXPECT_EQ(view.custom(), nullptr);
    EXPECT_EQ(view.devices(), std::nullopt);
    EXPECT_EQ(view.since(), std::nullopt);
    EXPECT_FALSE(view.declared());
    EXPECT_EQ(view.last_seen(), seen_by(sees_all(), &gone).last_seen());
}

TEST(View, TheInvisibleAreInvisibleToThemselvesAndToBackEnds) {
    const Presence hiding = invisible();
    for (const Verdict verdict : {sees_own(), verdict_for_back_end()}) {
        const PresenceView view = seen_by(verdict, &hiding);
        EXPECT_EQ(view.status(), Status::invisible);
        EXPECT_EQ(view.version(), Version{9});
        EXPECT_EQ(view.since(), std::nullopt);
        EXPECT_EQ(view.last_seen(), std::nullopt);
        ASSERT_TRUE(view.custom());
        EXPECT_EQ(view.custom()->text, "hiding");
        ASSERT_TRUE(view.devices());
        ASSERT_TRUE(view.declared());
        EXPECT_EQ(view.declared()->status, DeclaredStatus::invisible);
        EXPECT_FALSE(view.declared()->session_scope);
    }
}

TEST(View, SinceIsCutToTheMinuteAndGivenOnlyWithLastSeen) {
    const Presence presence = away();
    EXPECT_EQ(seen_by(sees_all(), &presence).since(), kNow - 140s);
    EXPECT_EQ(seen_by(sees_own(), &presence).since(), kNow - 140s);
    EXPECT_EQ(seen_by(sees_online(), &presence).since(), std::nullopt);
}

TEST(View, SinceIsGivenForAwayBusyAndDndAlone) {
    Presence presence = away();
    for (const Status status : {Status::away, Status::busy, Status::dnd}) {
        presence.shown.status = status;
        EXPECT_TRUE(seen_by(sees_all(), &presence).since());
    }
    for (const Status status : {Status::online, Status::offline}) {
        presence.shown.status = status;
        EXPECT_FALSE(seen_by(sees_all(), &presence).since());
    }
}

TEST(View, LastSeenIsGivenOnlyOfflineAndOnlyToWhoMayKnow) {
    const Presence gone = offline();
    const LastSeenView expected{Granularity::exact, kNow - 30s};
    EXPECT_EQ(seen_by(sees_all(), &gone).last_seen(), expected);
    EXPECT_EQ(seen_by(sees_own(), &gone).last_seen(), expected);
    EXPECT_EQ(seen_by(sees_online(), &gone).last_seen(), std::nullopt);
    const Presence there = away();
    EXPECT_EQ(seen_by(sees_all(), &there).last_seen(), std::nullopt);
}

/// FO-020: never is never, not 1970.
TEST(View, Fo020AMissingLastSeenIsLeftOut) {
    const Presence never = offline(std::nullopt);
    const Presence zero = offline(WallTime{});
    EXPECT_EQ(seen_by(sees_all(), &never).last_seen(), std::nullopt);
    EXPECT_EQ(seen_by(sees_all(), &zero).last_seen(), std::nullopt);
}

/// FO-102: the end is checked when it is read.
TEST(View, Fo102WordsThatAreOverAreNotShown) {
    Presence presence = away();
    presence.shown.custom = presence.own.custom = words("tea", kNow);
    EXPECT_TRUE(seen_by(sees_all(), &presence, {.now = kNow - 1ms}).custom());
    EXPECT_EQ(seen_by(sees_all(), &presence).custom(), nullptr);
    EXPECT_EQ(seen_by(sees_own(), &presence).custom(), nullptr);
}

TEST(View, DevicesAreLeftOutWhereTheyAreNotShownOrThereAreNone) {
    Presence presence = away();
    EXPECT_EQ(seen_by(sees_all(), &presence, {.now = kNow, .show_devices = false}).devices(),
              std::nullopt);
    presence.shown.devices = {};
    EXPECT_EQ(seen_by(sees_all(), &presence).devices(), std::nullopt);
}

TEST(View, WhileTheStoreIsDownTheStatusIsUnknownWithTheVersionLastTold) {
    const Presence there = away();
    const Presence gone = offline();
    for (const Presence* presence : {&there, &gone}) {
        const PresenceView view = seen_by(sees_all(), presence, {.now = kNow, .store_down = true});
        EXPECT_EQ(view.status(), Status::unknown);
        EXPECT_EQ(view.version(), Version{7});
        EXPECT_EQ(view.since(), std::nullopt);
        EXPECT_EQ(view.custom(), nullptr);
        EXPECT_EQ(view.devices(), std::nullopt);
        EXPECT_EQ(view.last_seen(), std::nullopt);
    }
    EXPECT_EQ(seen_by(sees_all(), nullptr, {.now = kNow, .store_down = true}).status(),
              Status::unknown);
    EXPECT_EQ(seen_by(sees_own(), &there, {.now = kNow, .store_down = true}).version(), Version{9});
}

TEST(View, WhileTheStoreIsDownNoVersionIsLowerThanTheOneLastToldNorThanTheOneThatWasRead) {
    const Presence gone = offline();
    const auto version_after = [&](std::uint64_t told) {
        return seen_by(sees_all(), &gone, {.now = kNow, .store_down = true, .told = Version{told}})
            .version();
    };
    EXPECT_EQ(version_after(8), Version{8});
    EXPECT_EQ(version_after(6), Version{7});
    EXPECT_EQ(seen_by(sees_nothing(), &gone, {.now = kNow, .store_down = true, .told = Version{8}})
                  .version(),
              Version{});
}

TEST(ViewDeclared, IsTheUserScopeWhileItLasts) {
    Presence presence = away();
    presence.declared = for_all(DeclaredStatus::away, kNow + 1h);
    presence.session_declared = DeclaredStatus::busy;
    const PresenceView view = seen_by(sees_own(), &presence);
    ASSERT_TRUE(view.declared());
    EXPECT_EQ(view.declared()->status, DeclaredStatus::away);
    EXPECT_FALSE(view.declared()->session_scope);
    EXPECT_EQ(view.declared()->expires_at, kNow + 1h);
}

TEST(ViewDeclared, IsThatOfTheSessionOnceTheUserScopeHasLapsed) {
    Presence presence = away();
    presence.declared = for_all(DeclaredStatus::away, kNow);
    presence.session_declared = DeclaredStatus::busy;
    const PresenceView view = seen_by(sees_own(), &presence);
    ASSERT_TRUE(view.declared());
    EXPECT_EQ(view.declared()->status, DeclaredStatus::busy);
    EXPECT_TRUE(view.declared()->session_scope);
    EXPECT_EQ(view.declared()->expires_at, std::nullopt);
}

TEST(ViewDeclared, OfASessionHasItsEndToo) {
    Presence presence = away();
    presence.session_declared = DeclaredStatus::busy;
    presence.session_declared_until = kNow + 1h;
    const PresenceView view = seen_by(sees_own(), &presence);
    ASSERT_TRUE(view.declared());
    EXPECT_EQ(view.declared()->status, DeclaredStatus::busy);
    EXPECT_TRUE(view.declared()->session_scope);
    EXPECT_EQ(view.declared()->expires_at, kNow + 1h);
    presence.session_declared_until = kNow;
    const PresenceView lapsed = seen_by(sees_own(), &presence);
    ASSERT_TRUE(lapsed.declared());
    EXPECT_EQ(lapsed.declared()->status, DeclaredStatus::automatic);
    EXPECT_FALSE(lapsed.declared()->session_scope);
    EXPECT_EQ(lapsed.declared()->expires_at, std::nullopt);
}

TEST(ViewDeclared, IsAutomaticWhereNobodySaidAnything) {
    const Presence presence = away();
    const PresenceView view = seen_by(verdict_for_back_end(), &presence);
    ASSERT_TRUE(view.declared());
    EXPECT_EQ(view.declared()->status, DeclaredStatus::automatic);
    EXPECT_FALSE(view.declared()->session_scope);
}

/// kNow is 20 s into its minute, so an age counts from the whole minute before it.
TEST(LastSeen, ClassesAreThoseOfTheProtocol) {
    const auto ago = [](Millis age) { return last_seen_view(kNow - age, kNow); };
    EXPECT_EQ(ago(0s), (LastSeenView{Granularity::exact, kNow}));
    EXPECT_EQ(ago(59'999ms), (LastSeenView{Granularity::exact, kNow - 59'999ms}));
    EXPECT_EQ(ago(60s), (LastSeenView{Granularity::recent, kNow - 80s}));
    EXPECT_EQ(ago(5min), (LastSeenView{Granularity::recent, kNow - 5min - 20s}));
    EXPECT_EQ(ago(24h * 365), (LastSeenView{Granularity::long_ago, std::nullopt}));
}

TEST(LastSeen, AgesCountFromTheTimeCutToTheMinute) {
    // On the whole minute: the cut takes nothing away.
    const WallTime minute = kNow - 20s;
    const auto at = [&](Millis age) { return last_seen_view(minute, minute + age).granularity; };
    EXPECT_EQ(at(1h - 1ms), Granularity::recent);
    EXPECT_EQ(at(1h), Granularity::today);
    EXPECT_EQ(at(24h - 1ms), Granularity::today);
    EXPECT_EQ(at(24h), Granularity::this_week);
    EXPECT_EQ(at(7 * 24h - 1ms), Granularity::this_week);
    EXPECT_EQ(at(7 * 24h), Granularity::this_month);
    EXPECT_EQ(at(30 * 24h - 1ms), Granularity::this_month);
    EXPECT_EQ(at(30 * 24h), Granularity::long_ago);

    // At the end of the minute: the class changes with the minute, so it gives no seconds away.
    const WallTime late = minute + 59'999ms;
    EXPECT_EQ(last_seen_view(late, minute + 1h - 1ms).granularity, Granularity::recent);
    EXPECT_EQ(last_seen_view(late, minute + 1h).granularity, Granularity::today);
}

/// FO-017: a time beyond now is now, never a negative age.
TEST(LastSeen, Fo017ATimeBeyondNowCountsAsNow) {
    EXPECT_EQ(last_seen_view(kNow + 1h, kNow), (LastSeenView{Granularity::exact, kNow}));
}

}  // namespace
}  // namespace presence::rules
