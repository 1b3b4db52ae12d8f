#include "presence/rules/merge.h"

#include "unit/rules/people.h"

#include <gtest/gtest.h>

#include <vector>

namespace presence::rules {
namespace {

using test::declaring;
using test::for_all;
using test::kNow;
using test::session;
using test::words;

Session idle(Session session) {
    session.idle = true;
    return session;
}

Session observing(Session session) {
    session.counts = false;
    return session;
}

Session active_as(Session session, std::uint32_t rank) {
    session.active_rank = rank;
    return session;
}

Session with_words(Session session, CustomStatusRef custom) {
    session.custom = std::move(custom);
    return session;
}

Merged merged(const DeclaredState& declared, std::vector<Session> sessions,
              MergePolicy policy = MergePolicy::most_available) {
    return merge(declared, sessions, {.policy = policy}, kNow);
}

Status by(MergePolicy policy, std::vector<Session> sessions) {
    return merged({}, std::move(sessions), policy).shown.status;
}

TEST(SessionStatus, IsOnlineOrAwayWhereNothingWasDeclared) {
    EXPECT_EQ(status_of(session("a"), kNow), Status::online);
    EXPECT_EQ(status_of(idle(session("a")), kNow), Status::away);
}

TEST(SessionStatus, ADeclarationBeatsIdle) {
    EXPECT_EQ(status_of(idle(declaring("a", DeclaredStatus::dnd)), kNow), Status::dnd);
    EXPECT_EQ(status_of(idle(declaring("a", DeclaredStatus::online)), kNow), Status::online);
}

TEST(SessionStatus, ADeclarationLastsUntilItsEnd) {
    Session busy = declaring("a", DeclaredStatus::busy);
    busy.declared_until = kNow;
    EXPECT_EQ(status_of(busy, kNow - 1ms), Status::busy);
    EXPECT_EQ(status_of(busy, kNow), Status::online);
    EXPECT_EQ(status_of(idle(busy), kNow), Status::away);
}

TEST(SessionStatus, AnObservingSessionCountsAsNothing) {
    EXPECT_EQ(status_of(observing(declaring("a", DeclaredStatus::dnd)), kNow), std::nullopt);
}

TEST(SessionStatusDeathTest, InvisibleExistsInUserScopeOnly) {
    EXPECT_DEATH((void)status_of(declaring("a", DeclaredStatus::invisible), kNow),
                 "assertion failed");
}

TEST(Merge, WithoutACountingSessionTheUserIsOffline) {
    const Merged result = merged(for_all(DeclaredStatus::dnd), {observing(session("a"))});
    EXPECT_EQ(result.own, Face{});
    EXPECT_EQ(result.shown, Face{});
    EXPECT_EQ(merged({}, {}).shown.status, Status::offline);
}

TEST(Merge, MostAvailablePrefersOnlineThenBusyThenAwayThenDnd) {
    const Session online = session("o");
    const Session busy = declaring("b", DeclaredStatus::busy);
    const Session away = declaring("a", DeclaredStatus::away);
    const Session dnd = declaring("d", DeclaredStatus::dnd);
    constexpr auto kPolicy = MergePolicy::most_available;
    EXPECT_EQ(by(kPolicy, {dnd, away, busy, online}), Status::online);
    EXPECT_EQ(by(kPolicy, {dnd, away, busy}), Status::busy);
    EXPECT_EQ(by(kPolicy, {dnd, away}), Status::away);
    EXPECT_EQ(by(kPolicy, {dnd}), Status::dnd);
}

TEST(Merge, LeastInterruptiblePrefersDndThenBusyThenOnlineThenAway) {
    const Session online = session("o");
    const Session busy = declaring("b", DeclaredStatus::busy);
    const Session away = declaring("a", DeclaredStatus::away);
    const Session dnd = declaring("d", DeclaredStatus::dnd);
    constexpr auto kPolicy = MergePolicy::least_interruptible;
    EXPECT_EQ(by(kPolicy, {away, online, busy, dnd}), Status::dnd);
    EXPECT_EQ(by(kPolicy, {away, online, busy}), Status::busy);
    EXPECT_EQ(by(kPolicy, {away, online}), Status::online);
    EXPECT_EQ(by(kPolicy, {away}), Status::away);
}

TEST(Merge, MostRecentListensToTheSessionActiveLast) {
    const Session phone = active_as(declaring("phone", DeclaredStatus::dnd), 2);
    const Session laptop = active_as(session("laptop"), 1);
    EXPECT_EQ(by(MergePolicy::most_recent, {phone, laptop}), Status::dnd);
    EXPECT_EQ(by(MergePolicy::most_recent, {laptop, phone}), Status::dnd);
}

TEST(Merge, MostRecentGoesByActivityBeforeAttach) {
    const Session phone = active_as(declaring("phone", DeclaredStatus::dnd), 2);
    Session laptop = active_as(session("laptop"), 1);
    laptop.connected_at = phone.connected_at + 1min;
    EXPECT_EQ(by(MergePolicy::most_recent, {phone, laptop}), Status::dnd);
}

TEST(Merge, MostRecentFallsBackToTheLastAttachAndThenToTheName) {
    Session older = declaring("z", DeclaredStatus::busy);
    Session newer = declaring("a", DeclaredStatus::away);
    newer.connected_at = older.connected_at + 1ms;
    EXPECT_EQ(by(MergePolicy::most_recent, {newer, older}), Status::away);
    newer.connected_at = older.connected_at;
    EXPECT_EQ(by(MergePolicy::most_recent, {older, newer}), Status::busy);
    EXPECT_EQ(by(MergePolicy::most_recent, {newer, older}), Status::busy);
}

TEST(Merge, MostRecentIgnoresASessionThatDoesNotCount) {
    const Session phone = active_as(observing(declaring("phone", DeclaredStatus::dnd)), 9);
    EXPECT_EQ(by(MergePolicy::most_recent, {phone, session("laptop")}), Status::online);
}

/// FO-014: idle and active devices of one person do not fight.
TEST(Merge, Fo014AnIdleDeviceBesideAnActiveOneChangesNothing) {
    EXPECT_EQ(merged({}, {idle(session("d1")), session("d2")}).shown.status, Status::online);
}

/// FO-013: when the short visit on the second device is over, the first decides again.
TEST(Merge, Fo013AfterAShortVisitElsewhereTheUserIsAwayAgain) {
    const Session desk = idle(active_as(session("d1"), 1));
    EXPECT_EQ(merged({}, {desk, active_as(session("d2"), 2)}).shown.status, Status::online);
    EXPECT_EQ(merged({}, {desk}).shown.status, Status::away);
}

TEST(Merge, AUserScopeDndCoversAllDevicesAndASessionScopeDoesNot) {
    EXPECT_EQ(merged(for_all(DeclaredStatus::dnd), {session("a"), session("b")}).shown.status,
              Status::dnd);
    EXPECT_EQ(merged({}, {declaring("a", DeclaredStatus::dnd), session("b")}).shown.status,
              Status::online);
}

/// FO-105: a hand-set status is not undone by idling, and its end reveals what lies beneath.
TEST(Merge, Fo105TheEndOfALayerRevealsTheLayerBeneath) {
    const auto shown = [](const DeclaredState& declared, const Session& session) {
        return merged(declared, {session}).shown.status;
    };
    const Session in_call = declaring("a", DeclaredStatus::busy);
    EXPECT_EQ(shown(for_all(DeclaredStatus::dnd), idle(session("a"))), Status::dnd);
    EXPECT_EQ(shown(for_all(DeclaredStatus::dnd), in_call), Status::dnd);
    EXPECT_EQ(shown(for_all(DeclaredStatus::dnd, kNow), in_call), Status::busy);
    EXPECT_EQ(shown({}, in_call), Status::busy);
    EXPECT_EQ(shown(for_all(DeclaredStatus::invisible), in_call), Status::offline);
}

TEST(Merge, AUserScopeStatusLastsUntilItsEnd) {
    const std::vector sessions{session("a")};
    const DeclaredState away = for_all(DeclaredStatus::away, kNow);
    EXPECT_EQ(merge(away, sessions, {}, kNow - 1ms).shown.status, Status::away);
    EXPECT_EQ(merge(away, sessions, {}, kNow).shown.status, Status::online);
}

TEST(Merge, TheInvisibleAreOfflineToOthersInEveryRespect) {
    DeclaredState declared = for_all(DeclaredStatus::invisible);
    declared.custom = words("hiding");
    const Merged result = merged(declared, {session("a", DeviceKind::mobile)});

    EXPECT_EQ(result.shown, Face{});
    EXPECT_EQ(result.own.status, Status::invisible);
    EXPECT_TRUE(result.own.devices.contains(DeviceKind::mobile));
    ASSERT_TRUE(result.own.custom);
    EXPECT_EQ(result.own.custom->text, "hiding");
}

TEST(Merge, BothFacesAreTheSameUnlessTheUserIsInvisible) {
    const Merged result = merged(for_all(DeclaredStatus::busy), {session("a")});
    EXPECT_EQ(result.own, result.shown);
}

TEST(Merge, DevicesAreThoseOfCountingSessions) {
    const Merged result =
        merged({}, {session("a", DeviceKind::mobile), session("b", DeviceKind::desktop),
                    observing(session("c", DeviceKind::bot))});
    DeviceSet expected;
    expected.insert(DeviceKind::desktop);
    expected.insert(DeviceKind::mobile);
    EXPECT_EQ(result.shown.devices, expected);
}

TEST(Merge, DevicesAreNoPartOfAnyFaceWhereTheyAreNotShown) {
    const std::vector sessions{session("a")};
    const Merged result = merge({}, sessions, {.show_devices = false}, kNow);
    EXPECT_EQ(result.own.devices, DeviceSet{});
    EXPECT_EQ(result.shown.devices, DeviceSet{});
}

TEST(Merge, ASessionInGraceCounts) {
    Session left = session("a");
    left.grace_until = kNow + 10s;
    left.closed_at = kNow;
    EXPECT_EQ(merged({}, {left}).shown.status, Status::online);
}

std::string text_of(const Face& face) {
    return face.custom ? face.custom->text : "(none)";
}

TEST(MergeCustom, TheUsersOwnComesBeforeThatOfASession) {
    DeclaredState declared;
    declared.custom = words("mine");
    const std::vector sessions{with_words(session("a"), words("session's"))};
    EXPECT_EQ(text_of(merge(declared, sessions, {}, kNow).shown), "mine");
}

TEST(MergeCustom, OneThatIsOverGivesWayToTheNext) {
    DeclaredState declared;
    declared.custom = words("mine", kNow);
    const std::vector sessions{with_words(session("a"), words("session's", kNow + 1ms))};
    EXPECT_EQ(text_of(merge(declared, sessions, {}, kNow - 1ms).shown), "mine");
    EXPECT_EQ(text_of(merge(declared, sessions, {}, kNow).shown), "session's");
    EXPECT_EQ(text_of(merge(declared, sessions, {}, kNow + 1ms).shown), "(none)");
}

TEST(MergeCustom, OfSessionsTheOneActiveLastSpeaksWhicheverDecidesTheStatus) {
    const Session desk = with_words(active_as(session("desk"), 1), words("at the desk"));
    const Session tram =
        with_words(active_as(declaring("tram", DeclaredStatus::away), 2), words("on the tram"));
    const Merged result = merged({}, {desk, tram});
    EXPECT_EQ(result.shown.status, Status::online);
    EXPECT_EQ(text_of(result.shown), "on the tram");
}

TEST(MergeCustom, ADeviceThatSaysNothingUnsaysNothing) {
    const Session desk = with_words(active_as(session("desk"), 1), words("at the desk"));
    EXPECT_EQ(text_of(merged({}, {desk, active_as(session("tram"), 2)}).shown), "at the desk");
}

TEST(MergeCustom, ThatOfASessionThatDoesNotCountIsNotShown) {
    const Session background = with_words(observing(session("a")), words("background"));
    EXPECT_EQ(text_of(merged({}, {background, session("b")}).shown), "(none)");
}

TEST(MergeDeclared, NamesWhatTheDecidingSessionSaid) {
    const Session busy = declaring("a", DeclaredStatus::busy);
    const Session dnd = declaring("b", DeclaredStatus::dnd);
    EXPECT_EQ(merged({}, {busy, dnd}).session_declared, DeclaredStatus::busy);
    EXPECT_EQ(merged({}, {busy, session("c")}).session_declared, DeclaredStatus::automatic);
    EXPECT_EQ(merged(for_all(DeclaredStatus::away), {busy}).session_declared,
              DeclaredStatus::automatic);
}

TEST(MergeDeclared, NamesTheEndOfWhatTheDecidingSessionSaid) {
    Session busy = declaring("a", DeclaredStatus::busy);
    busy.declared_until = kNow + 1h;
    EXPECT_EQ(merged({}, {busy}).session_declared_until, kNow + 1h);
    EXPECT_EQ(merged(for_all(DeclaredStatus::away), {busy}).session_declared_until, std::nullopt);
    busy.declared_until = kNow;
    EXPECT_EQ(merged({}, {busy}).session_declared_until, std::nullopt);
}

TEST(NextChange, IsTheNearestEndStillToCome) {
    DeclaredState declared = for_all(DeclaredStatus::dnd, kNow + 3h);
    declared.custom = words("mine", kNow + 2h);
    Session phone = declaring("a", DeclaredStatus::busy);
    phone.declared_until = kNow + 1h;
    phone.custom = words("session's", kNow + 4h);
    const std::vector sessions{phone};
    EXPECT_EQ(next_change(declared, sessions, kNow), kNow + 1h);
    EXPECT_EQ(next_change(declared, sessions, kNow + 1h), kNow + 2h);
    EXPECT_EQ(next_change(declared, sessions, kNow + 2h), kNow + 3h);
    EXPECT_EQ(next_change(declared, sessions, kNow + 3h), kNow + 4h);
    EXPECT_EQ(next_change(declared, sessions, kNow + 4h), std::nullopt);
}

TEST(NextChange, IsNeverWhereNothingHasAnEnd) {
    const std::vector sessions{declaring("a", DeclaredStatus::busy)};
    EXPECT_EQ(next_change(for_all(DeclaredStatus::dnd), sessions, kNow), std::nullopt);
}

TEST(NextChange, AnEndWithoutADeclarationIsNone) {
    Session phone = session("a");
    phone.declared_until = kNow + 1h;
    const std::vector sessions{phone};
    EXPECT_EQ(next_change(for_all(DeclaredStatus::automatic, kNow + 1h), sessions, kNow),
              std::nullopt);
}

TEST(NextChange, WhatDoesNotCountDoesNotMatter) {
    Session phone = observing(declaring("a", DeclaredStatus::busy));
    phone.declared_until = kNow + 1h;
    const std::vector sessions{phone};
    EXPECT_EQ(next_change({}, sessions, kNow), std::nullopt);
}

/// FO-101: an end far away is an end far away.
TEST(NextChange, Fo101AnEndInTenYearsIsKept) {
    const WallTime far = kNow + 24h * 3'653;
    EXPECT_EQ(next_change(for_all(DeclaredStatus::dnd, far), {}, kNow), far);
}

}  // namespace
}  // namespace presence::rules
